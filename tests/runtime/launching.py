"""Starts the digits program as its workers would run, reads their lines, and leaves no process behind."""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import sklearn.datasets

PROJECT = Path(__file__).resolve().parents[2]
_DIGITS = Path(sklearn.datasets.__file__).parent / "data" / "digits.csv.gz"


class Workers:
    """The processes of one run: worker 0 is the chief, and the one that prints."""

    def __init__(self, processes: list[subprocess.Popen[str]]) -> None:
        self.processes = processes
        self.lines: list[str] = []

    def until(self, pattern: str) -> str:
        """Reads the chief's lines up to one that matches."""
        for line in self.processes[0].stdout or ():
            self.lines.append(line)
            if re.search(pattern, line):
                return line
        raise AssertionError(f"no line matched {pattern!r}:\n{''.join(self.lines)}")

    def finish(self) -> list[int]:
        """Reads to the end; the exit codes."""
        self.lines.extend(self.processes[0].stdout or ())
        return [process.wait(60) for process in self.processes]

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
    def run(self, run: str, *, workers: int = 1, settings: Mapping[str, str]) -> Iterator[Workers]:
        """Starts one run. Whatever of it is still there at the end is killed."""
        processes: list[subprocess.Popen[str]] = []
        try:
            for environment in environments(workers):
                environment |= {
                    "PATH": os.environ["PATH"],
                    "PYTHONPATH": str(PROJECT),
                    "TF_CPP_MIN_LOG_LEVEL": "2",
                    "MODEL_DIR": str(self.folder / "models" / run),
                    "CHECKPOINT_DIR": str(self.checkpoints(run)),
                    **settings,
                }
                quiet = subprocess.DEVNULL if processes else subprocess.PIPE
                processes.append(
                    subprocess.Popen(
                        [sys.executable, "train.py"],
                        cwd=self.folder,
                        env=environment,
                        text=True,
                        stdout=quiet,
                        stderr=subprocess.STDOUT,
                    )
                )
            yield Workers(processes)
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
    cluster = {"worker": [f"127.0.0.1:{port}" for port in _free_ports(workers)]}
    tasks = [{"type": "worker", "index": index} for index in range(workers)]
    return [{"TF_CONFIG": json.dumps({"cluster": cluster, "task": task})} for task in tasks]


def _free_ports(count: int) -> list[int]:
    held = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    try:
        return [server.getsockname()[1] for server in held]
    finally:
        for server in held:
            server.close()
