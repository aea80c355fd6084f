"""What is mounted in this process's mount namespace, and the mounts that the driver makes."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from tensorplane.embedded.cluster.host import run

_TABLE = Path("/proc/self/mountinfo")
_ESCAPED = re.compile(r"\\(\d{3})")


@dataclass(frozen=True)
class Mount:
    """One line of the kernel's table."""

    folder: Path
    device: str
    """Number of the filesystem."""
    root: str
    """Which part of the filesystem is seen."""
    read_only: bool
    kind: str
    source: str


def parse(text: str) -> list[Mount]:
    """The mounts in the text of a `mountinfo`."""
    return [_parse(line) for line in text.splitlines()]


def _parse(line: str) -> Mount:
    before, _, after = line.partition(" - ")
    fields, (kind, source, *_) = before.split(" "), after.split(" ")
    options = fields[5].split(",")
    return Mount(Path(_plain(fields[4])), fields[2], _plain(fields[3]), "ro" in options, kind, _plain(source))


def _plain(text: str) -> str:
    return _ESCAPED.sub(lambda match: chr(int(match[1], 8)), text)


def at(folder: Path) -> Mount | None:
    """The mount at a path; the topmost if there are several."""
    real = folder.resolve()
    return next((mount for mount in reversed(parse(_TABLE.read_text())) if mount.folder == real), None)


def every() -> list[Mount]:
    """All mounts, in the order in which they were made."""
    return parse(_TABLE.read_text())


def showing(folder: Path) -> list[Path]:
    """The paths at which a folder, or something in it, is mounted."""
    real, mounts = folder.resolve(), every()
    outer = next(mount for mount in reversed(mounts) if real.is_relative_to(mount.folder))
    root = Path(outer.root) / real.relative_to(outer.folder)
    return [m.folder for m in mounts if m.device == outer.device and Path(m.root).is_relative_to(root)]


def bind(source: Path, target: Path, options: list[str]) -> None:
    """Bind-mounts a folder at another path, with options such as `ro`."""
    run("mount", "--bind", "--", str(source), str(target))
    if options:
        try:
            run("mount", "--options", ",".join(["remount", "bind", *options]), "--", str(target))
        except BaseException:
            detach(target)
            raise


def detach(folder: Path) -> None:
    """Detaches every mount at a path; programs with open files keep them."""
    while at(folder):
        run("umount", "--lazy", "--no-mtab", "--", str(folder.resolve()))
