"""What a dataset refuses: its errors, each in one line, and errors of volumes that no repetition changes."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from tensorplane.errors import TensorplaneError

_LINES = 10
_CHARACTERS = 100


class Refused(TensorplaneError):
    """Why something cannot be done, in one line: `what: problem; remedy`."""


class Cut(Refused):
    """Contents stopped coming: those that have come stay for whoever goes on."""


class Gone(Refused):
    """Something that retention has deleted. Who keeps it again may succeed; who reads it does not."""


def collected(what: str) -> Gone:
    """The error of a commit whose contents a collection has just deleted."""
    return Gone(f"{what}: a collection deleted contents of this commit; run the same command again")


def all_of(faults: Iterable[str]) -> Refused:
    """Many faults as one: the first lines, and how many more there are."""
    lines = sorted(faults)
    more = [f"and {len(lines) - _LINES:,} more"] if len(lines) > _LINES else []
    return Refused("\n".join([*lines[:_LINES], *more]))


def shortened(path: str) -> str:
    """A path or value for a message: of one that is very long, its begin and its end."""
    half = _CHARACTERS // 2
    return path if len(path) <= _CHARACTERS else f"{path[:half]}…{path[-half:]}"


_FULL = (errno.ENOSPC, errno.EDQUOT)
_ACCESS = "let user {user} read and write it"
_PERMANENT = {
    errno.EACCES: _ACCESS,
    errno.EPERM: _ACCESS,
    errno.EROFS: "mount its volume for writing",
    errno.ENAMETOOLONG: "use shorter names",
    errno.ELOOP: "remove its symbolic links",
}
"""What to do, by the error."""
_UNITS = ("B", "KiB", "MiB", "GiB", "TiB")


@contextlib.contextmanager
def permanent_errors_refused(
    *roots: Path, what: str, of: Path | None = None, volume: str = "", dataset: str = ""
) -> Iterator[None]:
    """Raises Refused for an OSError of the block that no repetition changes, so that nobody tries again.

    `roots`: folders to which the block writes; if one's volume is full, `what` does not fit there. `of`: the folder
    with what is written. `volume`: the name of the volume, if `roots` do not tell. `dataset`: one that may have
    something to delete.
    """
    try:
        yield
    except OSError as error:
        if error.errno in _FULL:
            root = min(map(_existing, roots), key=lambda each: os.statvfs(each).f_bavail)
            thing, place = f"{what}{f' ({size(_total(of))})' if of else ''}", volume or _volume(root)
            collect = f", or delete what no version needs with: tensorplane data collect {dataset}" if dataset else ""
            if error.errno == errno.EDQUOT:
                problem = f"{thing} does not fit on {place}, whose quota is used up; raise the quota"
            else:
                problem = f"{thing} does not fit on {place}, which has {_room(root)}; make the volume larger"
            raise Refused(f"{problem}{collect}") from error
        if error.errno in _PERMANENT:
            path, remedy = shortened(str(error.filename or what)), _PERMANENT[error.errno].format(user=os.geteuid())
            raise Refused(f"{path}: {error.strerror}; {remedy}") from error
        raise


def size(count: float) -> str:
    """Bytes for people."""
    unit = 0
    while count >= 1024 and unit < len(_UNITS) - 1:
        count, unit = count / 1024, unit + 1
    return f"{count:.3g} {_UNITS[unit]}" if count < 1000 else f"{count:.0f} {_UNITS[unit]}"


def _existing(folder: Path) -> Path:
    return folder if folder.exists() else _existing(folder.parent)


def _total(folder: Path) -> int:
    """Bytes of a folder's files."""
    return sum(os.lstat(Path(at) / name).st_size for at, _, names in os.walk(folder) for name in names)


def _room(root: Path) -> str:
    about = os.statvfs(root)
    if about.f_files and not about.f_favail:
        return f"no free inode of {about.f_files:,}"
    total, free = about.f_blocks * about.f_frsize, about.f_bavail * about.f_frsize
    return f"{size(free)} of {size(total)} free"


def _volume(root: Path) -> str:
    """The volume of a folder in a pod of tensorplane, which mounts it below /volumes by the name of its claim."""
    parts = root.parts
    return f"volume {parts[2]}" if parts[:2] == ("/", "volumes") and len(parts) > 2 else "its volume"
