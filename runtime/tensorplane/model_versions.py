"""Numbered versions of a model in a folder, as model servers read them: each complete once it has its number, durable,
and never overwritten.

Two gangs of one run may publish at the same time: the former one, on a node that was paused or cut off, and the one
that replaced it. Each writes a draft of its own, and moves it to its number through a folder of its own, its gate:

    models/digits/.writers-digits-1a2b/<writer>.draft     a draft
    models/digits/.writers-digits-1a2b/<writer>           a gate: who removes it bars its writer
    models/digits/.writers-digits-1a2b/<writer>/version   the whole draft, about to get its number
    models/digits/3                                       the version

A writer removes the gates that it saw before it made sure that the run is its own, so it never removes that of a later
writer, and always those of former ones. A rename, unlike what writes a model, never creates a gate again.

It only requires the standard library.
"""

from __future__ import annotations

import contextlib
import errno
import shutil
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

from tensorplane.checkpoints import disk
from tensorplane.checkpoints.run_folder import TakenOver

_DRAFT, _GONE, _WRITERS = ".draft", ".gone", ".writers-"
RUN = Path("assets.extra") / "run"
"""File of a version with its publisher; model servers ignore the folder."""


def add(
    write: Callable[[Path], object], base: Path, publisher: str, *, is_ours: Callable[[], bool] = lambda: True
) -> int:
    """Adds a version below `base`, filled by `write`, which gets the folder to create; its number.

    If the publisher has already published the newest version, that number is returned. `is_ours`: whether the caller
    is still the one who publishes for it. Raises TakenOver once another is; nothing of the caller's appears then.
    """
    base.mkdir(parents=True, exist_ok=True)
    with _gate(base, publisher) as gate:
        fence_former(base, publisher, is_ours=is_ours, own=gate)
        last = newest(base)
        if last and published_by(base / str(last)) == publisher:
            return last
        draft = gate.with_suffix(_DRAFT)
        write(draft)
        (draft / RUN).parent.mkdir(exist_ok=True)
        (draft / RUN).write_text(publisher)
        for path in (*draft.rglob("*"), draft):
            disk.flush(path)
        # Who takes a run over removes the gates of former writers a moment later.
        if not is_ours():
            raise _taken_over(base, publisher)
        draft.rename(gate / "version")
        version = _numbered(gate / "version", base, last + 1)
    disk.flush(base)
    return version


def fence_former(base: Path, publisher: str, *, is_ours: Callable[[], bool], own: Path | None = None) -> None:
    """Removes what former writers of this publisher have begun below `base`, so that none of it becomes a version.

    Raises TakenOver unless the publisher is the caller's. `own`: the caller's gate.
    """
    writers = _writers(base, publisher)
    former: list[Path] = []
    with contextlib.suppress(FileNotFoundError):
        former = [path for path in writers.iterdir() if path != own]
    if not is_ours():
        raise _taken_over(base, publisher)
    # A gate before its draft: who misses a part of that may write it again, and would publish the rest.
    for path in sorted(former, key=lambda path: bool(path.suffix)):
        gone = path.with_suffix(_GONE)
        with contextlib.suppress(OSError):  # gone meanwhile, or half removed by who was killed then
            path.rename(gone)  # all of it at once, then its content
        shutil.rmtree(gone, ignore_errors=True)
    shutil.rmtree(base / f".draft-{publisher}", ignore_errors=True)  # of earlier versions of the library


@contextlib.contextmanager
def _gate(base: Path, publisher: str) -> Iterator[Path]:
    """A gate of the caller's own; failures once it has gone are TakenOver. It leaves nothing but a version."""
    writers = _writers(base, publisher)
    gate = writers / uuid.uuid4().hex
    while not gate.exists():
        # Another may just have removed `writers`, with nothing in it.
        with contextlib.suppress(FileNotFoundError, FileExistsError):
            gate.mkdir(parents=True)
    try:
        yield gate
    except Exception as error:
        if gate.exists():
            raise
        raise _taken_over(base, publisher) from error
    finally:
        for path in (gate, gate.with_suffix(_DRAFT)):
            shutil.rmtree(path, ignore_errors=True)  # it may have filled the volume
        with contextlib.suppress(OSError):  # others are there
            writers.rmdir()


def publishers(base: Path) -> list[str]:
    """Those that have begun versions below `base`, and may go on."""
    return sorted(path.name.removeprefix(_WRITERS) for path in base.glob(f"{_WRITERS}*"))


def _writers(base: Path, publisher: str) -> Path:
    # Servers only load folders with a numeric name, so they ignore this one.
    return base / f"{_WRITERS}{publisher}"


def _taken_over(base: Path, publisher: str) -> TakenOver:
    return TakenOver(f"{base}: another gang publishes for {publisher} now")


def _numbered(draft: Path, base: Path, version: int) -> int:
    """Makes the draft this version, or a later one if another run publishes at the same time."""
    while True:
        try:
            # A rename never replaces a folder with content.
            draft.rename(base / str(version))
        except OSError as error:
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                raise
            version += 1
        else:
            return version


def is_superseded(base: Path, *, run: str) -> bool:
    """Whether another run has published the newest version below `base`."""
    last = newest(base)
    return bool(last) and published_by(base / str(last)) not in (None, run)


def newest(base: Path) -> int:
    """The number of the newest version below `base`; 0 without one."""
    return max(versions(base), default=0)


def versions(base: Path) -> list[int]:
    """The numbers of all versions below `base`."""
    return [int(path.name) for path in base.iterdir() if path.name.isdecimal()] if base.is_dir() else []


def published_by(folder: Path) -> str | None:
    """Who published the version in this folder; None if it does not say."""
    marker = folder / RUN
    return marker.read_text() if marker.exists() else None
