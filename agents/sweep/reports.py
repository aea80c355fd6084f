"""The reports of a trial, from the lines that its pods' logs on the volume keep (the library's `volume_log.py`)."""

from __future__ import annotations

import errno
import math
import os
import re
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path

from .asha import Report

_PREFIX = "tensorplane: "
_SUCCEEDED = b"tensorplane: succeeded\n"
"""The library's `volume_log.SUCCEEDED`."""
_MOST_LINE_CHARACTERS = 1 << 16
"""Characters of a line; a longer one is no report."""
_WORD = re.compile(r'(\w+)=("(?:[^"\\]|\\.)*"|\S+)')
_FILE = re.compile(r"(?P<pod>.+)\.(?P<start>\d+)\.log(?P<newest>|\.old)")


def read_trial(folder: Path, metric: str) -> list[Report]:
    """The reports in a trial's logs, in the order in which they were printed; none before its first line."""
    return [report for path in _files(folder) for report in parse(_lines(path), metric)]


def has_succeeded(folder: Path) -> bool:
    """Whether a trial's logs say that its run has succeeded. Then they have all of its reports."""
    return any(_tail(path) == _SUCCEEDED for path in _files(folder))


def parse(lines: Iterable[str], metric: str) -> Iterator[Report]:
    """The reports among the lines of a log: those with a step and the metric."""
    for line in lines:
        # A file that is being written may end in the middle of a line.
        if not line.startswith(_PREFIX) or not line.endswith("\n"):
            continue
        values = dict(_WORD.findall(line))
        step, value = _number(values.get("step")), _number(values.get(metric))
        if step is not None and value is not None and math.isfinite(step):
            yield Report(int(step), value)


def _files(folder: Path) -> list[Path]:
    """The logs of all pods, first those of their first starts; of one start, first what was set aside."""
    found = [(match, path) for path in folder.glob("*.log*") if (match := _FILE.fullmatch(path.name))]
    return [path for _, path in sorted(found, key=lambda each: (int(each[0]["start"]), each[0]["pod"], not each[0][3]))]


def _lines(path: Path) -> Iterator[str]:
    try:
        with os.fdopen(_regular(path), encoding="utf-8", errors="replace", newline="\n") as file:
            while line := file.readline(_MOST_LINE_CHARACTERS):
                yield line
    except OSError as error:
        if error.errno not in (None, errno.ENOENT, errno.ELOOP):
            raise
        # It was set aside between the listing and now: the next reading has it.
        return


def _tail(path: Path) -> bytes:
    """The end of a file, as long as the line that says that the run has succeeded."""
    try:
        with os.fdopen(_regular(path), "rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - len(_SUCCEEDED)))
            return file.read(len(_SUCCEEDED))
    except OSError as error:
        if error.errno not in (None, errno.ENOENT, errno.ELOOP):
            raise
        return b""


def _regular(path: Path) -> int:
    """Opens a file without waiting and without following a link: trials may write what they like on their volume."""
    opened = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW)
    if not stat.S_ISREG(os.fstat(opened).st_mode):
        os.close(opened)
        raise FileNotFoundError(str(path))
    return opened


def _number(text: str | None) -> float | None:
    try:
        return float(text) if text else None
    except ValueError:
        return None
