"""Files of this machine, or of another volume, to a dataset, and a version's files to this machine."""

from __future__ import annotations

import getpass
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from tensorplane.cli.commands.cp import paths
from tensorplane.cli.commands.cp.paths import VolumePath
from tensorplane.cli.commands.data import local, remote
from tensorplane.cli.commands.data.remote import DatasetOptions, Remote
from tensorplane.cli.exec_stream import Exec
from tensorplane.components.base import names, quantities
from tensorplane.components.base.plural import number_of
from tensorplane.core import terminal
from tensorplane.core.errors import UserError

ID_DIGITS = 12
"""Digits of ids that people read."""


def author(given: str | None) -> str:
    """Who commits."""
    try:
        return given or getpass.getuser()
    except (KeyError, OSError):
        return ""


def put(opts: DatasetOptions, text: str, about: Mapping[str, Any]) -> None:
    """Commits a folder, and says what was committed."""
    _whole(opts)
    source = paths.parsed(text)
    if isinstance(source, Path) and not source.is_dir():
        raise UserError(f"{text}: is no folder; name a folder with the files of the version")
    sources = {source.volume: f"{remote.SOURCES}/{source.volume}"} if isinstance(source, VolumePath) else {}
    with remote.opened(opts, read_only=False, sources=sources) as dataset:
        commit(dataset, opts, source, about, terminal.console())


def _whole(opts: DatasetOptions) -> None:
    if opts.reference:
        raise UserError(f"{opts.dataset}@{opts.reference}: files are put on a branch; name it with --branch")


def commit(
    dataset: Remote, opts: DatasetOptions, source: VolumePath | Path, about: Mapping[str, Any], console: Console
) -> None:
    """The same for a dataset in a pod."""
    began = time.monotonic()
    request = {**dataset.write_request(opts.dataset), **about}
    if isinstance(source, VolumePath):
        if about["at"] or about["add"]:
            raise UserError(f"{source}: replaces the whole version; --at and --add are for folders of this machine")
        made = dataset.ask("commit", {**request, "folder": f"{remote.SOURCES}/{source.volume}/{source.path}"})
        sent = 0
    else:
        made, sent = _sent(dataset, source, request)
    changed = made["changed"]
    what = f"{changed['added']} added, {changed['changed']} changed, {changed['removed']} removed"
    took = f"{quantities.size(sent)} sent, {time.monotonic() - began:.1f} s"
    name = f"{opts.dataset}@{made['id'][:ID_DIGITS]}"
    console.print(
        Text(f"{name}: version {made['version'][:ID_DIGITS]}, {number_of(made['files'], 'file')}: {what}; {took}"),
        soft_wrap=True,
    )


def _sent(dataset: Remote, folder: Path, request: Mapping[str, Any]) -> tuple[Any, int]:
    """The commit of a folder of this machine, and how many bytes were sent."""
    try:
        files = local.files(folder)
        lacking = dataset.ask("lacks", {"files": files, "branch": request["branch"]})
        changed: Sequence[str] = lacking["paths"]
        program = dataset.start("put", {**request, "files": files, "sent": changed, "base": lacking["base"]})
        for path in changed:
            _send(folder / path, files[path][1], program)
    except OSError as error:
        raise UserError(f"{error.filename or folder}: {error.strerror or error}") from None
    return remote.answer(program), sum(files[path][1] for path in changed)


def _send(path: Path, size: int, program: Exec) -> None:
    """Exactly so many bytes: the pod compares the digest."""
    with path.open("rb") as file:
        left = size
        while chunk := file.read(min(local.CHUNK, left)):
            program.write(chunk)
            left -= len(chunk)
        program.write(b"\0" * left)


def get(opts: DatasetOptions, text: str) -> None:
    """Copies a version's files, and says how many."""
    with remote.opened(opts, read_only=True) as dataset:
        checkout(dataset, opts, Path(text).expanduser(), terminal.console())


def checkout(dataset: Remote, opts: DatasetOptions, target: Path, console: Console) -> None:
    """The same for a dataset in a pod."""
    began = time.monotonic()
    found = dataset.ask("files", {"reference": opts.reference or "main"})
    files: Mapping[str, tuple[str, int, bool]] = {
        path: (each[0], each[1], each[2]) for path, each in found["files"].items()
    }
    try:
        wanted = {path: file for path, file in files.items() if local.of(target / path) != file}
        target.mkdir(parents=True, exist_ok=True)
        if wanted:
            program = dataset.start("send", {"files": list(wanted.values())})
            for path, file in wanted.items():
                _receive(program, target, path, file)
            program.finish()
        if merged := list(paths.merged_files(target, files)):
            raise UserError(*merged)
    except OSError as error:
        raise UserError(f"{error.filename or target}: {error.strerror or error}") from None
    size = sum(file[1] for file in wanted.values())
    same = f"; {number_of(len(files) - len(wanted), 'file')} unchanged" if len(wanted) < len(files) else ""
    took = f"{quantities.size(size)} in {time.monotonic() - began:.1f} s"
    name = f"{opts.dataset}@{found['commit']['id'][:ID_DIGITS]}"
    console.print(Text(f"{target}: {number_of(len(wanted), 'file')} of {name}, {took}{same}"), soft_wrap=True)


def _receive(program: Exec, target: Path, path: str, file: tuple[str, int, bool]) -> None:
    if path.startswith("/") or {"..", ""} & {*path.split("/")}:
        raise UserError(f"{path!r}: leads out of the folder; nothing is written there")
    digest, left = names.sha256(), file[1]
    with local.written(target / path, executable=file[2]) as written:
        while left and (chunk := program.read(min(local.CHUNK, left))):
            written.write(chunk)
            digest.update(chunk)
            left -= len(chunk)
        if left:
            program.finish()  # the reason is the pod's, if it has one
        if left or digest.hexdigest() != file[0]:
            raise UserError(
                f"{path!r}: the connection ended, or the volume's file is damaged; run the same command again"
            )
