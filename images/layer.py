"""Image layers: a recipe fills a folder, which becomes a reproducible tar, stored by content."""

from __future__ import annotations

import hashlib
import io
import os
import stat
import tarfile
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, cast

from tensorplane.core import archives
from tensorplane.core.paths import cache
from tensorplane.core.scratch import scratch
from tensorplane.core.step import Step

_HERE = Path(__file__).parent
_CHUNK = 1 << 20
_SUFFIX = ".tar.zst"
_USED_SECONDS = 24 * 3600


@dataclass(frozen=True)
class Layer:
    """A finished layer: a compressed tar in the cache. Its name contains its digests, so that they need no reading."""

    path: Path

    @property
    def diff_id(self) -> str:
        """SHA-256 of the tar before compression, in hexadecimal."""
        return self.path.name.removesuffix(_SUFFIX).rsplit("-", 2)[1]

    @property
    def digest(self) -> str:
        """SHA-256 of the file, in hexadecimal."""
        return self.path.name.removesuffix(_SUFFIX).rsplit("-", 2)[2]

    @property
    def size(self) -> int:
        return self.path.stat().st_size

    def extract(self, folder: Path) -> None:
        """Unpacks the layer, to run its programs while another layer is built."""
        import zstandard

        with (
            self.path.open("rb") as file,
            zstandard.ZstdDecompressor().stream_reader(file) as data,
            tarfile.open(fileobj=data, mode="r|") as archive,
        ):
            archives.extract(archive, folder)


@dataclass(frozen=True)
class Recipe:
    """How to build a layer. It is rebuilt when an input, or a source file named in `sources`, changes."""

    name: str
    make: Callable[[Path, Step], None]
    sources: tuple[str, ...]
    inputs: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        """A hash, 16 hexadecimal digits, of everything that decides the layer's content."""
        content = hashlib.sha256()
        for text in (self.name, *self.inputs):
            content.update(text.encode() + b"\0")
        for source in ("layer.py", *self.sources):
            content.update((_HERE / source).read_bytes() + b"\0")
        return content.hexdigest()[:16]

    def cached(self) -> Layer | None:
        """The finished layer; None if it is not in the cache."""
        paths = (cache() / "layers").glob(f"{self.name}-{self.key}-*{_SUFFIX}")
        return next((Layer(path) for path in paths if is_used(path)), None)

    def layer(self, step: Step) -> Layer:
        """The finished layer, from the cache or built now."""
        if found := self.cached():
            return found
        with scratch(self.name) as work:
            root = work / "root"
            root.mkdir()
            self.make(root, step)
            step.note("packing")
            diff_id, digest = pack(root, work / "layer")
            final = cache() / "layers" / f"{self.name}-{self.key}-{diff_id}-{digest}{_SUFFIX}"
            final.parent.mkdir(parents=True, exist_ok=True)
            keep_only((work / "layer").replace(final), f"{self.name}-{'?' * 16}-*{_SUFFIX}")
        return Layer(final)


def is_used(path: Path) -> bool:
    """Notes that a file of the cache is used. False if it is not there, or another checkout has just removed it."""
    try:
        os.utime(path)
    except FileNotFoundError:
        return False
    return True


def keep_only(path: Path, pattern: str) -> None:
    """Removes the older versions that `path` replaces, but those of the last day: another checkout may need them."""
    for other in path.parent.glob(pattern):
        with suppress(FileNotFoundError):
            if other != path and time.time() - other.stat().st_mtime > _USED_SECONDS:
                other.unlink()


def pack(folder: Path, target: Path) -> tuple[str, str]:
    """Writes the folder as a compressed tar; returns the SHA-256 of the tar and of the file.

    Sorted, without times, owned by root, modes free of the umask. zstd's fastest level: for TensorFlow's layer it
    takes 2 s on two cores, and containerd, which hashes what it imports, then takes 14 s instead of 19 s.
    """
    # Who only submits jobs has it not, and builds no layers.
    import zstandard

    with target.open("wb") as file:
        compressed = _Hashing(file)
        with zstandard.ZstdCompressor(level=1, threads=2).stream_writer(
            cast(BinaryIO, compressed), closefd=False
        ) as compressor:
            plain = _Hashing(compressor)
            with tarfile.open(fileobj=plain, mode="w|", format=tarfile.GNU_FORMAT, bufsize=_CHUNK) as archive:
                for path in sorted(folder.rglob("*")):
                    _add(archive, path, str(path.relative_to(folder)))
        file.flush()
        os.fsync(file.fileno())
    return plain.sha256.hexdigest(), compressed.sha256.hexdigest()


class _Hashing(io.RawIOBase):
    """A file that hashes what is written to it."""

    def __init__(self, file: BinaryIO) -> None:
        super().__init__()
        self._file = file
        self.sha256 = hashlib.sha256()

    def write(self, data: bytes) -> int:  # type: ignore[override]  # tarfile and zstandard write nothing but bytes
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
        raise ValueError(f"{name}: neither a file, a folder nor a link; an image cannot contain it")
