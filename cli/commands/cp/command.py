"""Copies between this machine and a volume, through a pod that mounts the volume."""

from __future__ import annotations

import json
import os
import tarfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn
from rich.text import Text

from tensorplane.cli import stack_config, temporary_pod
from tensorplane.cli.access import Access
from tensorplane.cli.commands.cp import paths, plan, transfer, volume_pod
from tensorplane.cli.commands.cp.paths import VolumePath
from tensorplane.cli.commands.cp.plan import Entry, Plan
from tensorplane.cli.exec_stream import Exec
from tensorplane.components.base import quantities
from tensorplane.components.base.plural import number_of
from tensorplane.core.errors import UserError
from tensorplane.core.kube import Kube
from tensorplane.stack import ResolvedStack


@dataclass(frozen=True)
class CopyOptions:
    """The command's arguments."""

    source: str
    target: str
    stack: str
    context: str = ""
    account: str = volume_pod.ACCOUNT


def run(options: CopyOptions, console: Console) -> None:
    """Copies, and says what was copied. A UserError if it cannot be done; files that are complete by then stay."""
    _volume(paths.parsed(options.source), paths.parsed(options.target))
    resolved = stack_config.load(stack_config.file(options.stack))
    access = Access.of(options.stack, None, options.context)
    try:
        copy(access.api, resolved, options, console)
    except (KeyboardInterrupt, UserError) as error:
        if not _began_with_ctrl_c(error):
            raise
        console.print("Interrupted. Complete files stay; run the same command to copy the others.")
        raise SystemExit(130) from None


def _began_with_ctrl_c(error: BaseException | None) -> bool:
    """Whether it is, or hides, a Ctrl-C: the tar stream that Ctrl-C cuts off is an error when it is closed."""
    while error and not isinstance(error, KeyboardInterrupt):
        error = error.__context__
    return error is not None


def copy(api: Kube, resolved: ResolvedStack, options: CopyOptions, console: Console) -> None:
    """The same for a stack's settings and cluster."""
    source, target = paths.parsed(options.source), paths.parsed(options.target)
    volume = _volume(source, target)
    if isinstance(source, Path) and not source.exists():
        raise UserError(f"{options.source}: does not exist")
    into = paths.local_target(source, options.target) if isinstance(source, VolumePath) else None
    pod = volume_pod.of(resolved, volume.volume, options.account, read_only=into is not None)
    with temporary_pod.running(api, pod) as found:
        about = found["metadata"]
        end = _PodEnd(api, f"{temporary_pod.pods_of(about['namespace'])}/{about['name']}")
        if into is not None:
            _download(end, volume, into, console)
        elif isinstance(source, Path):
            _upload(end, source, paths.target(source, volume, options.target), console)


def _volume(source: VolumePath | Path, target: VolumePath | Path) -> VolumePath:
    """The one of both that is on a volume."""
    if isinstance(source, VolumePath) and isinstance(target, VolumePath):
        raise UserError("SRC and DST are both on volumes; copy to this machine first, or mount both volumes in a job")
    if isinstance(source, VolumePath):
        return source
    if isinstance(target, VolumePath):
        return target
    raise UserError(
        "SRC and DST are both paths of this machine; write one of them as VOLUME:/PATH, such as models:/digits"
    )


@dataclass(frozen=True)
class _PodEnd:
    """The pod's end of a copy."""

    api: Kube
    pod: str

    def start(self, verb: str, path: str) -> Exec:
        return Exec(self.api, self.pod, volume_pod.command(verb, path))

    def entries(self, path: str) -> list[Entry]:
        """What is at a path of the volume."""
        return [json.loads(line) for line in self.start("list", path).finish().splitlines()]


def _upload(end: _PodEnd, source: Path, target: VolumePath, console: Console) -> None:
    here = os.path.realpath(source)
    with _on_this_machine():
        own = list(transfer.entries(here))
    found = plan.of(own, end.entries(target.path), (str(source), str(target)))
    with _shown(found, str(target), console) as moved:
        if not found.wanted:
            return
        program = end.start("receive", target.path)
        with _on_this_machine():
            transfer.send(here, found.wanted, _CountedProgram(program, moved))
        program.finish()


def _download(end: _PodEnd, source: VolumePath, target: Path, console: Console) -> None:
    with _on_this_machine():
        before = list(transfer.entries(str(target)))
    there = end.entries(source.path)
    found = plan.of(there, before, (str(source), str(target)))
    with _shown(found, str(target), console) as moved:
        if not found.wanted:
            return
        program = end.start("send", source.path)
        program.write(json.dumps(found.wanted).encode() + b"\n")
        try:
            with _on_this_machine():
                transfer.receive(str(target.parent), target.name, _CountedProgram(program, moved))
        except tarfile.TarError as error:
            program.finish()  # the reason is the pod's, if it has one
            raise UserError(f"{source}: {error}; run the same command again") from None
        program.finish()
        with _on_this_machine():
            files = (each["path"] for each in there if each["kind"] == transfer.FILE)
            merged = list(paths.merged_files(target, files))
        if merged:
            raise UserError(*merged)


@contextmanager
def _on_this_machine() -> Iterator[None]:
    """Errors of this machine's files as UserErrors."""
    try:
        yield
    except OSError as error:
        raise UserError(f"{error.filename or 'this machine'}: {error.strerror or error}") from None
    except transfer.Refused as error:
        raise UserError(str(error)) from None


class _CountedProgram:
    """A stream whose bytes are counted."""

    def __init__(self, program: Exec, moved: Callable[[int], Any]) -> None:
        self._program, self._moved = program, moved

    def write(self, data: bytes) -> int:
        self._moved(len(data))
        return self._program.write(data)

    def read(self, size: int) -> bytes:
        data = self._program.read(size)
        self._moved(len(data))
        return data


@contextmanager
def _shown(found: Plan, target: str, console: Console) -> Iterator[Callable[[int], Any]]:
    """A bar while the files are transferred, in a terminal; then what was done."""
    columns = (TextColumn(target), BarColumn(), DownloadColumn(binary_units=True), TransferSpeedColumn())
    began = time.monotonic()
    quiet = not (console.is_terminal and found.wanted)
    with Progress(*columns, TimeRemainingColumn(), console=console, transient=True, disable=quiet) as progress:
        bar = progress.add_task("", total=found.size or 1)
        yield lambda count: progress.advance(bar, count)
    seconds = max(time.monotonic() - began, 1e-3)
    speed = f" in {seconds:.1f} s ({quantities.size(int(found.size / seconds))}/s)" if found.size else ""
    same = f"; {number_of(found.unchanged, 'file')} unchanged" if found.unchanged else ""
    done = f"{target}: {number_of(found.files, 'file')}, {quantities.size(found.size)}{speed}{same}"
    console.print(Text(done), soft_wrap=True)
    for note in found.notes:
        console.print(Text(note, style="yellow"), soft_wrap=True)
