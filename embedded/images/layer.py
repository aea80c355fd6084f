"""Image layers: a recipe fills a folder; the folder becomes a tar, the same to the byte each time, kept by content."""

from __future__ import annotations

import hashlib
import io
import os
import stat
import tarfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from embedded.images.scratch import scratch
from embedded.paths import cache
from embedded.progress import Step

_HERE = Path(__file__).parent
_CHUNK = 1 << 20


@dataclass(frozen=True)
class Layer:
    """A finished layer: an uncompressed tar and its SHA-256."""

    path: Path
    sha256: str

    @property
    def digest(self) -> str:
        return f"sha256:{self.sha256}"

    @property
    def size(self) -> int:
        return self.path.stat().st_size

    def extract(self, folder: Path) -> None:
        """Unpacks the layer, for programs of it that take part in making another layer."""
        with tarfile.open(self.path) as archive:
            archive.extractall(folder, filter="tar")


@dataclass(frozen=True)
class Recipe:
    """How one layer is made. The layer is made anew when an input, or a source file named in `sources`, changes."""

    name: str
    make: Callable[[Path, Step], None]
    sources: tuple[str, ...]
    inputs: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        """Sixteen hexadecimal digits that stand for everything that decides the layer's content."""
        content = hashlib.sha256()
        for text in (self.name, *self.inputs):
            content.update(text.encode() + b"\0")
        for source in ("layer.py", *self.sources):
            content.update((_HERE / source).read_bytes() + b"\0")
        return content.hexdigest()[:16]

    def cached(self) -> Layer | None:
        """The finished layer, if there is one. Its digest is in its name, so that looking it up reads no data."""
        for path in (cache() / "layers").glob(f"{self.name}-{self.key}-*.tar"):
            return Layer(path, path.stem.rpartition("-")[2])
        return None

    def layer(self, step: Step) -> Layer:
        """The finished layer, made now unless it is in the cache."""
        if found := self.cached():
            return found
        with scratch(self.name) as work:
            root = work / "root"
            root.mkdir()
            self.make(root, step)
            step.note("packing")
            sha256 = pack(root, work / "layer.tar")
            final = cache() / "layers" / f"{self.name}-{self.key}-{sha256}.tar"
            final.parent.mkdir(parents=True, exist_ok=True)
            keep_only((work / "layer.tar").replace(final), f"{self.name}-????????????????-*.tar")
        return Layer(final, sha256)


def keep_only(path: Path, pattern: str) -> None:
    """Removes the older siblings that `path` takes the place of."""
    for other in path.parent.glob(pattern):
        if other != path:
            other.unlink(missing_ok=True)


def pack(folder: Path, target: Path) -> str:
    """Writes the folder as a tar and returns its SHA-256: sorted, no times, owned by root, modes free of the umask."""
    with target.open("wb") as file:
        writer = _Hashing(file)
        with tarfile.open(fileobj=writer, mode="w|", format=tarfile.GNU_FORMAT, bufsize=_CHUNK) as archive:
            for path in sorted(folder.rglob("*")):
                _add(archive, path, str(path.relative_to(folder)))
        file.flush()
        os.fsync(file.fileno())
    return writer.sha256.hexdigest()


class _Hashing(io.RawIOBase):
    """A file that hashes what is written to it."""

    def __init__(self, file: IO[bytes]) -> None:
        super().__init__()
        self._file = file
        self.sha256 = hashlib.sha256()

    def write(self, data: bytes) -> int:  # type: ignore[override]  # tarfile writes nothing but bytes
        self.sha256.update(data)
        return self._file.write(data)


def _add(archive: tarfile.TarFile, path: Path, name: str) -> None:
    entry = tarfile.TarInfo(name)
    status = path.lstat()
    if stat.S_ISLNK(status.st_mode):
        entry.type, entry.linkname, entry.mode = tarfile.SYMTYPE, str(path.readlink()), 0o777
        archive.addfile(entry)
    elif stat.S_ISDIR(status.st_mode):
        entry.type, entry.mode = tarfile.DIRTYPE, 0o1777 if status.st_mode & stat.S_ISVTX else 0o755
        archive.addfile(entry)
    elif stat.S_ISREG(status.st_mode):
        entry.size, entry.mode = status.st_size, 0o755 if status.st_mode & stat.S_IXUSR else 0o644
        with path.open("rb") as data:
            archive.addfile(entry, data)
    else:
        raise ValueError(f"{name}: neither a file, a folder nor a link, so it has no place in an image")
