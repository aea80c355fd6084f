"""What both ends of a copy run: this machine, and a pod, which has this text and Python's standard library only.

`list ROOT PATH` prints the files, `send ROOT PATH` writes those that standard input names as a tar stream, and
`receive ROOT PATH` reads one. Nothing is read or written outside ROOT/PATH: links are never followed, and a file
appears under its name once it is complete.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import posixpath
import secrets
import stat
import sys
import tarfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from io import BufferedReader
from pathlib import Path
from types import SimpleNamespace
from typing import Any, BinaryIO

CHUNK = 1 << 20
FILE, FOLDER, LINK, LEFT_OUT = "file", "folder", "link", "left out"
ITSELF = "."
"""Name of the copied file or folder itself."""
_PARTIAL_SUFFIX = ".tensorplane-part"
"""End of the names of files that are not complete yet."""


class Refused(Exception):
    """Why something cannot be copied, in one line."""


def inside(root: str, path: str) -> str:
    """A path below `root` as a whole, refused if a link on the way leads out."""
    found = posixpath.join(os.path.realpath(root), path) if path else os.path.realpath(root)
    if os.path.realpath(found) != os.path.normpath(found):
        raise Refused(f"{path}: a symbolic link is on this path; name the place that it points to")
    return found


def entries(top: str) -> Iterator[dict[str, Any]]:
    """What is at `top`, folders before what is in them; nothing if it does not exist.

    Left out are files that are neither regular nor folders, and links that lead out of it.
    """
    try:
        about = os.lstat(top)
    except FileNotFoundError:
        return
    yield _entry(top, ITSELF, about)
    if stat.S_ISDIR(about.st_mode):
        yield from _below(top, "")


def _below(top: str, folder: str) -> Iterator[dict[str, Any]]:
    with os.scandir(posixpath.join(top, folder)) as found:
        names = sorted(one.name for one in found if not one.name.endswith(_PARTIAL_SUFFIX))
    for name in names:
        path = posixpath.join(folder, name)
        about = os.lstat(posixpath.join(top, path))
        yield _entry(top, path, about)
        if stat.S_ISDIR(about.st_mode):
            yield from _below(top, path)


def _entry(top: str, path: str, about: os.stat_result) -> dict[str, Any]:
    found = {"path": path, "size": about.st_size, "time": int(about.st_mtime), "run": bool(about.st_mode & 0o100)}
    if stat.S_ISREG(about.st_mode):
        return {**found, "kind": FILE}
    if stat.S_ISDIR(about.st_mode):
        return {**found, "kind": FOLDER}
    target = str(Path(top, path).readlink()) if stat.S_ISLNK(about.st_mode) else ""
    return {**found, "kind": LINK if _stays(path, target) else LEFT_OUT, "target": target}


def _stays(path: str, target: str) -> bool:
    """Whether a link leads to a path within the copied folder.

    `..` may stand at the beginning alone: after the name of another link, it would lead from where that one leads.
    """
    names = [name for name in target.split("/") if name not in ("", ITSELF)]
    if ".." in names[next((at for at, name in enumerate(names) if name != ".."), len(names)) :]:
        return False
    leads = posixpath.normpath(posixpath.join(posixpath.dirname(path), target))
    return bool(target) and path != ITSELF and not target.startswith("/") and leads.split("/")[0] != ".."


def send(top: str, wanted: Iterable[Mapping[str, Any]], out: Any) -> None:
    """Writes these entries of `top` as a tar stream."""
    with tarfile.open(fileobj=out, mode="w|", bufsize=CHUNK) as tar:
        tar.copybufsize = CHUNK  # type: ignore[attr-defined]  # an argument of `open`, which mypy does not know
        for each in wanted:
            member = tarfile.TarInfo(each["path"])
            member.mtime, member.mode = each["time"], 0o755 if each["run"] else 0o644
            if each["kind"] == FILE:
                _send_file(tar, member, top)
            else:
                member.type = tarfile.DIRTYPE if each["kind"] == FOLDER else tarfile.SYMTYPE
                member.linkname = each.get("target", "")
                tar.addfile(member)


def _send_file(tar: tarfile.TarFile, member: tarfile.TarInfo, top: str) -> None:
    path = top if member.name == ITSELF else posixpath.join(top, member.name)
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW), "rb") as file:
        about = os.fstat(file.fileno())
        if not stat.S_ISREG(about.st_mode):
            raise Refused(f"{path}: is no regular file any more; run the same command again")
        member.size = about.st_size
        try:
            tar.addfile(member, file)
        except OSError as error:
            if error.errno is None:  # tarfile's own
                raise Refused(f"{path}: became shorter while it was read; run the same command again") from None
            raise


def receive(root: str, path: str, stream: Any, done: Callable[[str], None] = lambda _: None) -> None:
    """Writes what a tar stream has to `path` below `root`. `done` is called with the name of each complete file."""
    with contextlib.closing(_Folders(root)) as folders, tarfile.open(fileobj=stream, mode="r|", bufsize=CHUNK) as tar:
        for member in tar:
            whole = posixpath.normpath(posixpath.join(path, member.name))
            if member.name.startswith("/") or ".." in member.name.split("/"):
                raise Refused(f"{member.name}: leads out of the folder; nothing is written there")
            if member.isdir():
                folders.at(whole)
                continue
            parent, name = posixpath.split(whole)
            try:
                if member.isreg():
                    _receive_file(folders.at(parent), name, member, tar)
                elif member.issym() and _stays(member.name, member.linkname):
                    _receive_link(folders.at(parent), name, member.linkname)
                else:
                    raise Refused(f"{member.name}: is neither a file, a folder nor a link within the folder")
            except (IsADirectoryError, FileExistsError):
                raise Refused(f"{whole}: is a folder; remove it first, or copy to another name") from None
            done(member.name)


def _receive_file(folder: int, name: str, member: tarfile.TarInfo, tar: tarfile.TarFile) -> None:
    content = tar.extractfile(member)
    mode = 0o755 if member.mode & 0o100 else 0o644
    with _replacing(folder, name) as part:
        made = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, mode, dir_fd=folder)
        with os.fdopen(made, "wb", buffering=0) as file:
            while content and (chunk := content.read(CHUNK)):
                file.write(chunk)
            if os.fstat(file.fileno()).st_size != member.size:
                raise Refused(f"{member.name}: the connection ended; run the same command again")
            os.utime(file.fileno(), (member.mtime, member.mtime))


def _receive_link(folder: int, name: str, target: str) -> None:
    with _replacing(folder, name) as part:
        os.symlink(target, part, dir_fd=folder)


@contextlib.contextmanager
def _replacing(folder: int, name: str) -> Iterator[str]:
    """The name for a new file, which then gets the name of the former one. It is removed if that fails."""
    part = f".{secrets.token_hex(8)}{_PARTIAL_SUFFIX}"  # a name that already has the most bytes cannot get more
    try:
        yield part
        os.rename(part, name, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(part, dir_fd=folder)
        raise


class _Folders:
    """The folders below a root, opened one by one without following links, and created where they are missing."""

    def __init__(self, root: str) -> None:
        self._root = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
        self._path, self._open = "", os.dup(self._root)

    def at(self, path: str) -> int:
        """A descriptor of the folder, until the next call."""
        if path != self._path:
            current = os.dup(self._root)
            for part in (each for each in path.split("/") if each not in ("", ITSELF)):
                with contextlib.suppress(FileExistsError):
                    os.mkdir(part, dir_fd=current)
                try:
                    below = os.open(part, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=current)
                except OSError as error:
                    if error.errno in (errno.ENOTDIR, errno.ELOOP):
                        raise Refused(
                            f"{path}: {part} is a file or a symbolic link; nothing is written there"
                        ) from None
                    raise
                finally:
                    os.close(current)
                current = below
            os.close(self._open)
            self._path, self._open = path, current
        return self._open

    def close(self) -> None:
        os.close(self._open)
        os.close(self._root)


def main(verb: str, root: str, path: str, source: BufferedReader, out: BinaryIO) -> None:
    """The pod's end."""
    if verb == "receive":
        # `read` would wait for a whole chunk, which the end of the stream is not.
        receive(root, path, SimpleNamespace(read=source.read1))
        return
    top = inside(root, path)
    if verb == "list":
        for each in entries(top):
            out.write(json.dumps(each).encode() + b"\n")
    else:
        send(top, json.loads(source.readline()), out)


if __name__ == "__main__":
    try:
        _, verb, root, path = sys.argv
        main(verb, root, path, os.fdopen(0, "rb"), sys.stdout.buffer)
    except OSError as error:
        sys.exit(f"{error.filename or sys.argv[3]}: {error.strerror or error}")
    except (Refused, tarfile.TarError) as error:
        sys.exit(str(error))
