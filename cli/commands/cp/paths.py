"""What SRC and DST name: a path of this machine, or VOLUME:/PATH. Also names that are one file on this machine."""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from tensorplane.components.base.problems import legible
from tensorplane.core.errors import UserError

_ON_VOLUME = re.compile(r"([a-z0-9][a-z0-9-]*):(.*)", re.DOTALL)
"""As in scp: a path with a slash before its first colon is of this machine."""


@dataclass(frozen=True)
class VolumePath:
    """A file or folder on a volume."""

    volume: str
    path: str
    """Relative to the volume's root; empty for the volume itself."""
    into: bool = False
    """Whether it ends with a slash, so that the copy keeps its name."""

    def __str__(self) -> str:
        return f"{self.volume}:/{self.path}"


def parsed(text: str) -> VolumePath | Path:
    """The path that an argument names. A UserError if it leads out of the volume."""
    found = _ON_VOLUME.fullmatch(text)
    if not found:
        return Path(text).expanduser()
    parts = [part for part in found[2].split("/") if part not in ("", ".")]
    if ".." in parts or "\0" in text:
        raise UserError(f"{text}: has .., which may lead out of the volume; name the path from the volume's root")
    return VolumePath(found[1], "/".join(parts), into=found[2] in ("", ".") or found[2].endswith("/"))


def target(source: VolumePath | Path, wanted: VolumePath, text: str) -> VolumePath:
    """Where a copy goes on a volume: to DST, or with its own name into DST if that ends with a slash."""
    if not wanted.into or isinstance(source, VolumePath):
        return wanted
    name = source.resolve().name
    if not name:
        raise UserError(f"{text}: ends with /, and SRC has no name to keep; name the copy")
    return VolumePath(wanted.volume, f"{wanted.path}/{name}".lstrip("/"))


def local_target(source: VolumePath, text: str) -> Path:
    """Where a copy goes on this machine: the same rule; `.` and `..` are folders to copy into. A UserError if it has no
    folder to be in.
    """
    wanted = Path(text).expanduser()
    if text.endswith("/") or wanted.name in ("", ".."):
        name = source.path.rpartition("/")[2] or source.volume
        wanted = wanted / name
    if not wanted.parent.is_dir():
        raise UserError(f"{text}: {wanted.parent} is no folder; create it first")
    return wanted


def merged_files(folder: Path, paths: Iterable[str]) -> Iterator[str]:
    """A line for each two of these files of a folder that are one, of which the second has replaced the first. Raises
    OSError where a file is missing.
    """
    former: dict[str, str] = {}
    for path in paths:
        other = former.setdefault(unicodedata.normalize("NFC", path).casefold(), path)
        about = (folder / path).stat() if other != path else None
        # With several names, such as hard links made here, they have one content.
        if about and about.st_nlink == 1 and os.path.samestat(about, (folder / other).stat()):
            problem = f"are one file in {legible(str(folder))}, whose file system takes these names for the same"
            yield f"{legible(other)} and {legible(path)}: {problem}; copy them to another one"
