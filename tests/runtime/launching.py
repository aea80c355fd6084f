"""Starts the digits program as its workers would run, reads their lines, and leaves no process behind."""

from __future__ import annotations

import json
import re
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import sklearn.datasets

from tests.support.environment import of_machine
from tests.support.ports import free_ports
from tests.support.waiting import PATIENT_SECONDS

PROJECT = Path(__file__).resolve().parents[2]
LIBRARY = PROJECT / "runtime"
"""The folder that training processes have on PYTHONPATH."""
_DIGITS = Path(sklearn.datasets.__file__).parent / "data" / "digits.csv.gz"


_HOLDS = """
import builtins, os, pathlib, runpy, time
say, go = builtins.print, pathlib.Path(os.environ["GO"])

def held(*words, **how):
    say(*words, **how)
    while os.environ["HOLD_AFTER"] in f"{' '.join(map(str, words))} " and not go.exists():
        time.sleep(0.01)

builtins.print = held
runpy.run_path("train.py", run_name="__main__")
"""
"""Runs the program, and holds it after a line: however fast it is, it has not come further when a test acts."""


class Workers:
    """The processes of one run: worker 0 is the chief, and the one that prints."""

    def __init__(self, processes: list[subprocess.Popen[str]], go: Path) -> None:
        self.processes, self._go = processes, go
        self.lines: list[str] = []

    def go(self) -> None:
        """Lets a chief go on that is held."""
        self._go.touch()

    def until(self, pattern: str) -> str:
        """Reads the chief's lines up to one that matches."""
        with self._in_time():
            for line in self.processes[0].stdout or ():
                self.lines.append(line)
                if re.search(pattern, line):
                    return line
        raise AssertionError(f"no line matched {pattern!r}:\n{''.join(self.lines)}")

    def finish(self) -> list[int]:
        """Reads to the end; the exit codes."""
        with self._in_time():
            self.lines.extend(self.processes[0].stdout or ())
        return [process.wait(PATIENT_SECONDS) for process in self.processes]

    @contextmanager
    def _in_time(self) -> Iterator[None]:
        """Ends a chief that hangs in this block: with PYTHONFAULTHANDLER, its lines then end with its stacks."""
        timer = threading.Timer(PATIENT_SECONDS, self.processes[0].send_signal, [signal.SIGABRT])
        timer.start()
        try:
            yield
        finally:
            timer.cancel()

    @property
    def output(self) -> str:
        return "".join(self.lines)


class Program:
    """The digits program in a folder of its own, as the pods see it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for name in ("train.py", "data.py"):
            shutil.copy(PROJECT / "examples/digits" / name, folder)
        shutil.copy(_DIGITS, folder)

    def checkpoints(self, run: str) -> Path:
        return self.folder / "checkpoints" / run

    @contextmanager
    def run(
        self,
        run: str,
        *,
        workers: int = 1,
        settings: Mapping[str, str],
        hold_after: str = "",
        script: str = "train.py",
        show: int = 0,
    ) -> Iterator[Workers]:
        """Starts one run. Whatever of it is still there at the end is killed.

        `hold_after`: a part of the line after which the chief waits, and the others with it. `script`: what the chief
        runs. `show`: the worker whose lines are kept.
        """
        processes: list[subprocess.Popen[str]] = []
        go = self.folder / "go"
        go.unlink(missing_ok=True)
        (self.folder / "hold.py").write_text(_HOLDS)
        try:
            for environment in environments(workers):
                environment |= {
                    **of_machine(),
                    "PYTHONPATH": str(LIBRARY),
                    "TF_CPP_MIN_LOG_LEVEL": "2",
                    "PYTHONFAULTHANDLER": "1",
                    "MODEL_DIR": str(self.folder / "models" / run),
                    "CHECKPOINT_DIR": str(self.checkpoints(run)),
                    "GO": str(go),
                    "HOLD_AFTER": hold_after,
                    **settings,
                }
                own = "train.py" if processes else "hold.py" if hold_after else script
                lines = subprocess.PIPE if len(processes) == show else subprocess.DEVNULL
                processes.append(
                    subprocess.Popen(
                        [sys.executable, own],
                        cwd=self.folder,
                        env=environment,
                        text=True,
                        stdout=lines,
                        stderr=subprocess.STDOUT,
                    )
                )
            yield Workers(processes, go)
        finally:
            for process in processes:
                process.kill()
                process.wait()
                if process.stdout:
                    process.stdout.close()


def environments(workers: int) -> list[dict[str, str]]:
    """What each worker has beside the rest: its place, where there are several."""
    if workers == 1:
        return [{}]
    cluster = {"worker": [f"127.0.0.1:{port}" for port in free_ports(workers)]}
    tasks = [{"type": "worker", "index": index} for index in range(workers)]
    return [{"TF_CONFIG": json.dumps({"cluster": cluster, "task": task})} for task in tasks]
