"""Starts programs as the workers of a run, reads what they print, and leaves no process behind."""

from __future__ import annotations

import atexit
import functools
import importlib.util
import itertools
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tensorplane.stop import EXIT_SAVED
from tests.support.environment import of_machine
from tests.support.ports import free_ports
from tests.support.waiting import PATIENT_SECONDS, eventually

PROJECT = Path(__file__).resolve().parents[2]
LIBRARY = PROJECT / "runtime"
"""The folder of the package `tensorplane`."""
IN_PODS = f"{LIBRARY / 'tensorplane' / 'archive_root'}:{LIBRARY}"
"""The PYTHONPATH of training processes: what the archive has that pods mount."""

PATIENT = f"""
import functools
from tensorflow.python.eager import context
configure = context.Context.configure_coordination_service
context.Context.configure_coordination_service = functools.partialmethod(
    configure, heartbeat_timeout_in_ms={1000 * int(PATIENT_SECONDS)}
)
"""
"""For workers that a slow machine does not run for ten seconds: their peers wait for them."""

_HOLDS = """
import builtins, os, pathlib, runpy, sys, time
say, go = builtins.print, pathlib.Path(os.environ["GO"])

def held(*words, **how):
    say(*words, **how)
    while os.environ["HOLD_AFTER"] in f"{' '.join(map(str, words))} " and not go.exists():
        time.sleep(0.01)

builtins.print = held
del sys.argv[0]
runpy.run_path(sys.argv[0], run_name="__main__")
"""
"""Runs a program, and holds it after a line: however fast it is, it has not come further when a test acts."""

_numbers = itertools.count()


def of_library(**more: str) -> dict[str, str]:
    """What a program has that uses the library."""
    quiet = {"TF_CPP_MIN_LOG_LEVEL": "2", "PYTHONFAULTHANDLER": "1"}
    return {**of_machine(), "PYTHONPATH": IN_PODS, **quiet, **more}


class _Forks:
    """The process of `warm.py`, once for all tests of a session."""

    def __init__(self) -> None:
        self._asks, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            argv = [sys.executable, str(Path(__file__).with_name("warm.py")), str(theirs.fileno())]
            self._process = subprocess.Popen(
                argv, env=of_library(), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, pass_fds=[theirs.fileno()]
            )
        atexit.register(self._end)

    def ask(self, descriptors: Sequence[int] = (), **what: object) -> Any:
        """Asks one thing, and waits for the answer."""
        socket.send_fds(self._asks, [json.dumps(what).encode()], descriptors)
        answer = self._asks.recv(100)
        assert answer, "the process that starts programs has ended"
        return json.loads(answer)

    def _end(self) -> None:
        """Ends it, and all programs."""
        self._asks.close()
        self._process.wait()


_forks = functools.cache(_Forks)


class Process:
    """A program in a fork of a process that has imported TensorFlow, so it begins at once."""

    def __init__(
        self, argv: Sequence[str], folder: Path, environment: Mapping[str, str], log: Path, then: str = PATIENT
    ) -> None:
        """`log`: the file that it prints into. `then`: code to run when it imports TensorFlow."""
        self._log = log
        self._code: int | None = None
        with log.open("w") as file:
            self.pid: int = _forks().ask(
                [file.fileno()], argv=argv, folder=str(folder), environment=environment, then=then
            )

    @property
    def output(self) -> str:
        """What it has printed, as standard output and as standard error."""
        return self._log.read_text(errors="replace")

    def poll(self) -> int | None:
        """Its exit code once it has ended, with the minus of a signal."""
        if self._code is None and (status := _forks().ask(ended=self.pid)) is not None:
            self._code = os.waitstatus_to_exitcode(status)
        return self._code

    def wait(self, seconds: float = PATIENT_SECONDS) -> int:
        """Waits for its end. One that hangs is aborted, so that its output ends with its stacks."""
        try:
            eventually(lambda: self.poll() is not None, seconds, about=lambda: self.output)
        except AssertionError:
            self.send_signal(signal.SIGABRT)
            raise
        assert self._code is not None
        return self._code

    def send_signal(self, number: int) -> None:
        """Sends a signal, unless it has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def until(self, pattern: str) -> str:
        """Waits for a line that matches."""
        of_line = re.compile(rf"^.*(?:{pattern}).*\n", re.MULTILINE)

        def found() -> re.Match[str] | None:
            ended = self.poll() is not None
            line = of_line.search(self.output)
            assert line or not ended, f"no line matched {pattern!r}:\n{self.output}"
            return line

        line = eventually(found, about=lambda: self.output)
        assert line
        return line[0]

    def end(self) -> None:
        """Kills it."""
        self.send_signal(signal.SIGKILL)
        self.wait()


class Workers:
    """The processes of one run. Worker 0 is the chief, and mostly the one that prints."""

    def __init__(self, processes: Sequence[Process], go: Path) -> None:
        self.processes, self._go = processes, go

    def go(self) -> None:
        """Lets a chief go on that is held."""
        self._go.touch()

    def until(self, pattern: str) -> str:
        """Waits for a line of the chief's that matches."""
        return self.processes[0].until(pattern)

    def finish(self, seconds: float = PATIENT_SECONDS) -> list[int]:
        """The exit codes. Once one has ended with an error, the others are killed, as JobSet does with a gang."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            codes = [process.poll() for process in self.processes]
            if all(code is not None for code in codes) or not {None, 0, EXIT_SAVED}.issuperset(codes):
                break
            time.sleep(0.05)
        for process in self.processes:
            # Of one that hangs, the output ends with its stacks.
            process.send_signal(signal.SIGABRT if time.monotonic() >= end else signal.SIGKILL)
        return [process.wait() for process in self.processes]

    def kill(self) -> None:
        """Kills all at once: none sees that another has ended."""
        for number in (signal.SIGSTOP, signal.SIGKILL):
            for process in self.processes:
                process.send_signal(number)
        assert self.finish() == [-signal.SIGKILL] * len(self.processes)

    @property
    def output(self) -> str:
        return self.processes[0].output

    @property
    def outputs(self) -> list[str]:
        return [process.output for process in self.processes]


@contextmanager
def gang(
    folder: Path,
    program: Path | str,
    *arguments: str,
    tasks: Sequence[Mapping[str, str]] = ({},),
    hold_after: str = "",
    then: str = PATIENT,
    **environment: str,
) -> Iterator[Workers]:
    """Starts a process of a program for each task, which names its own variables. None outlives the block.

    `program`: a script, or the text of one. `hold_after`: a part of the line after which the first one waits, and so
    the others with it.
    """
    folder.mkdir(exist_ok=True)
    if isinstance(program, str):
        (folder / "program.py").write_text(program)
        program = folder / "program.py"
    go, holds = folder / "go", folder / "hold.py"
    go.unlink(missing_ok=True)
    holds.write_text(_HOLDS)
    processes: list[Process] = []
    try:
        for task in tasks:
            held = [str(holds)] if hold_after and not processes else []
            own = of_library(GO=str(go), HOLD_AFTER=hold_after, **{**environment, **task})
            log = folder / f"{next(_numbers)}.log"
            processes.append(Process([*held, str(program), *arguments], folder, own, log, then))
        yield Workers(processes, go)
    finally:
        for process in processes:
            process.end()


class Program:
    """The digits program in a folder of its own, as the pods see it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for name in ("train.py", "data.py"):
            shutil.copy(PROJECT / "examples/digits" / name, folder)
        # Not imported, which takes seconds.
        package = importlib.util.find_spec("sklearn")
        assert package and package.origin
        shutil.copy(Path(package.origin).parent / "datasets/data/digits.csv.gz", folder)

    def checkpoints(self, run: str) -> Path:
        return self.folder / "checkpoints" / run

    def variables(self, run: str) -> dict[str, str]:
        """What a pod of this run has."""
        return {"MODEL_DIR": str(self.folder / "models" / run), "CHECKPOINT_DIR": str(self.checkpoints(run))}

    @contextmanager
    def run(
        self,
        run: str,
        *,
        workers: int = 1,
        settings: Mapping[str, str],
        hold_after: str = "",
        script: str = "train.py",
        then: str = PATIENT,
    ) -> Iterator[Workers]:
        """Starts one run. `hold_after` and `then` as for `gang`."""
        own = {**self.variables(run), **settings}
        tasks, path = environments(workers), self.folder / script
        with gang(self.folder, path, tasks=tasks, hold_after=hold_after, then=then, **own) as started:
            yield started


def environments(workers: int) -> list[dict[str, str]]:
    """What each worker has beside the rest: its place, where there are several."""
    if workers == 1:
        return [{}]
    cluster = {"worker": [f"127.0.0.1:{port}" for port in free_ports(workers)]}
    tasks = [{"type": "worker", "index": index} for index in range(workers)]
    return [{"TF_CONFIG": json.dumps({"cluster": cluster, "task": task})} for task in tasks]
