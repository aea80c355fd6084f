"""The driver's btrfs calls, made directly to the kernel.

A program per call could outlive a killed driver, and change the pool while the next driver uses it.
"""

from __future__ import annotations

import errno
import fcntl
import os
import struct
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_ROOT_INODE = 256  # of every subvolume
_READ_ONLY = 1 << 1
_MAX_REFERENCED = 1 << 0
_NO_LIMIT = (1 << 64) - 1
_QUOTA_ENABLE, _QUOTA_ENABLE_SIMPLE = 1, 4
_WRITE, _READ = 1, 2

# struct fiemap, of linux/fiemap.h: the whole file, written out first (FIEMAP_FLAG_SYNC), without its extents.
_EXTENTS = struct.pack("=QQIIII", 0, _NO_LIMIT, 1, 0, 0, 0)
_FIEMAP = 0xC020660B
# struct btrfs_ioctl_vol_args, vol_args_v2, ino_lookup_args, quota_ctl_args, qgroup_limit_args, of linux/btrfs.h
_VOL_ARGS = struct.Struct("=q4088s")
_VOL_ARGS_V2 = struct.Struct("=qQQ32x4040s")
_LOOKUP = struct.Struct("=QQ4080x")
_QUOTA = struct.Struct("=QQ")
_LIMIT = struct.Struct("=QQQQQQ")
_INFO = struct.Struct("=QQ16s992x")


def _request(direction: int, number: int, size: int) -> int:
    return direction << 30 | size << 16 | 0x94 << 8 | number


_RESIZE = _request(_WRITE, 3, _VOL_ARGS.size)
_SYNC = _request(0, 8, 0)
_CREATE = _request(_WRITE, 14, _VOL_ARGS.size)
_DESTROY = _request(_WRITE, 15, _VOL_ARGS.size)
_LOOK_UP = _request(_WRITE | _READ, 18, _LOOKUP.size)
_SNAPSHOT = _request(_WRITE, 23, _VOL_ARGS_V2.size)
_FILESYSTEM_INFO = _request(_READ, 31, _INFO.size)
_QUOTA_CONTROL = _request(_WRITE | _READ, 40, _QUOTA.size)
_QGROUP_LIMIT = _request(_READ, 43, _LIMIT.size)


@contextmanager
def _opened(path: Path) -> Iterator[int]:
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _change(descriptor: int, request: int, arguments: bytes) -> None:
    # Python copies at most 1024 bytes of an immutable argument; a mutable buffer is passed on as it is.
    fcntl.ioctl(descriptor, request, bytearray(arguments))


def is_subvolume(path: Path) -> bool:
    """Whether the path is a subvolume's root. It must be on btrfs."""
    try:
        found = path.lstat()
    except FileNotFoundError:
        return False
    return found.st_ino == _ROOT_INODE and not path.is_symlink()


def create(path: Path) -> None:
    """Creates an empty subvolume."""
    with _opened(path.parent) as parent:
        _change(parent, _CREATE, _VOL_ARGS.pack(0, path.name.encode()))


def snapshot(source: Path, path: Path, *, read_only: bool) -> None:
    """Creates a subvolume that shares the source's content at this moment, and commits it to the disk."""
    with _opened(source) as taken, _opened(path.parent) as parent:
        flags = _READ_ONLY if read_only else 0
        _change(parent, _SNAPSHOT, _VOL_ARGS_V2.pack(taken, 0, flags, path.name.encode()))


def settle(file: int) -> None:
    """Adds a file's content to the next commit, as btrfs does with names; an fsync would be a commit of its own."""
    # For this call, btrfs writes the content and waits until its extents are in the trees (fs/btrfs/fiemap.c).
    fcntl.ioctl(file, _FIEMAP, bytearray(_EXTENTS))


def destroy(path: Path) -> None:
    """Deletes a subvolume; its space is freed in the background."""
    try:
        _destroy(path)
    except OSError as error:
        if error.errno != errno.ENOTEMPTY:
            raise
        # Programs that write to a volume can create subvolumes in it, and fill it.
        limit(path, _NO_LIMIT)
        for inner in _inner(path):
            _destroy(inner)
        _destroy(path)


def _destroy(path: Path) -> None:
    with _opened(path.parent) as parent:
        _change(parent, _DESTROY, _VOL_ARGS.pack(0, path.name.encode()))


def _inner(path: Path) -> list[Path]:
    folders = (Path(folder) / name for folder, names, _ in os.walk(path, topdown=False) for name in names)
    return [folder for folder in folders if is_subvolume(folder)]


def number(path: Path) -> int:
    """The subvolume's id in its filesystem."""
    with _opened(path) as subvolume:
        answer = bytearray(_LOOKUP.pack(0, _ROOT_INODE))
        fcntl.ioctl(subvolume, _LOOK_UP, answer)
    found: int = _LOOKUP.unpack(answer)[0]
    return found


def enable_quotas(pool: Path) -> None:
    """Enables quotas: simple quotas if the kernel has them (6.7), which cost nothing per snapshot."""
    with _opened(pool) as root:
        for command in (_QUOTA_ENABLE_SIMPLE, _QUOTA_ENABLE):
            try:
                fcntl.ioctl(root, _QUOTA_CONTROL, _QUOTA.pack(command, 0))
                return
            except OSError as error:
                if error.errno == errno.EEXIST:
                    return
                if error.errno != errno.EINVAL:
                    raise


def limit(path: Path, size: int) -> None:
    """Limits the subvolume to `size` bytes."""
    # On the subvolume itself, the change would count against its limit, which may be reached.
    with _opened(path.parent) as parent:
        fcntl.ioctl(parent, _QGROUP_LIMIT, _LIMIT.pack(number(path), _MAX_REFERENCED, size, 0, 0, 0))


def usage(path: Path) -> int | None:
    """Bytes that count against the subvolume's limit; None if the kernel does not report them."""
    folder = Path("/sys/fs/btrfs") / str(identity(path)) / "qgroups" / f"0_{number(path)}"
    with suppress(OSError, ValueError):
        return int((folder / "referenced").read_text())
    return None


def identity(path: Path) -> uuid.UUID:
    """The filesystem's identity."""
    with _opened(path) as root:
        return uuid.UUID(bytes=_INFO.unpack(fcntl.ioctl(root, _FILESYSTEM_INFO, bytes(_INFO.size)))[2])


def grow(pool: Path) -> None:
    """Makes the filesystem as large as its device."""
    with _opened(pool) as root:
        _change(root, _RESIZE, _VOL_ARGS.pack(0, b"max"))


def sync(path: Path) -> None:
    """Returns when everything so far is on disk."""
    with _opened(path) as root:
        fcntl.ioctl(root, _SYNC)
