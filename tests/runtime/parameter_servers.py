"""A cluster with parameter servers on this machine: a chief's program, and servers forked from one process."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.runtime.launching import LIBRARY, Program, Workers
from tests.support.environment import of_machine
from tests.support.ports import free_ports

_FORKS = """
import json, os, signal, sys
import tensorflow  # once for all servers, which takes seconds
from tensorplane.parameter_server import server

children = {}
for line in sys.stdin:
    name, config = json.loads(line)
    if config is None:
        print(os.waitstatus_to_exitcode(os.waitpid(children.pop(name), 0)[1]), flush=True)
        continue
    child = os.fork()
    if child == 0:
        os.environ["TF_CONFIG"] = json.dumps(config)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        os._exit(server.main())
    children[name] = child
    print(child, flush=True)
"""

Task = tuple[str, int]


@dataclass
class Servers:
    """The ps and worker processes of one cluster."""

    cluster: Mapping[str, list[str]]
    forks: subprocess.Popen[str]
    ids: dict[Task, int] = field(default_factory=dict)

    def start(self, task: Task, cluster: Mapping[str, list[str]] | None = None) -> None:
        """Start, or replace, one server."""
        kind, index = task
        config = {"cluster": cluster or self.cluster, "task": {"type": kind, "index": index}}
        self.ids[task] = self._ask(task, config)

    def start_all(self) -> None:
        """Start all servers of the cluster."""
        for kind in ("ps", "worker"):
            for index in range(len(self.cluster[kind])):
                self.start((kind, index))

    def restart(self) -> None:
        """What JobSet does to the gang: all end, then all start."""
        for task in list(self.ids):
            self.kill(task)
            self.code(task)
        self.start_all()

    def kill(self, task: Task, number: int = signal.SIGKILL) -> None:
        """Send one server a signal."""
        os.kill(self.ids[task], number)

    def code(self, task: Task) -> int:
        """Wait for the end of one server; its exit code."""
        del self.ids[task]
        return self._ask(task, None)

    def alive(self, task: Task) -> bool:
        """Whether the server runs."""
        return Path(f"/proc/{self.ids[task]}/stat").read_text().split()[2] != "Z"

    def _ask(self, task: Task, config: object) -> int:
        assert self.forks.stdin and self.forks.stdout
        self.forks.stdin.write(json.dumps([f"{task[0]}{task[1]}", config]) + "\n")
        self.forks.stdin.flush()
        while not (line := self.forks.stdout.readline()).strip().lstrip("-").isdecimal():
            assert line, "the process that starts servers has ended"
        return int(line)


def cluster(workers: int = 2, ps: int = 2) -> dict[str, list[str]]:
    """Addresses of a cluster on this machine."""
    free = [f"127.0.0.1:{port}" for port in free_ports(1 + workers + ps)]
    return {"chief": free[:1], "worker": free[1 : 1 + workers], "ps": free[1 + workers :]}


def environment(of: Mapping[str, list[str]], kind: str = "chief", index: int = 0) -> dict[str, str]:
    """The variables of one task."""
    return {
        **of_machine(),
        "PYTHONPATH": str(LIBRARY),
        "TF_CPP_MIN_LOG_LEVEL": "2",
        "PYTHONFAULTHANDLER": "1",
        "TF_CONFIG": json.dumps({"cluster": of, "task": {"type": kind, "index": index}}),
    }


@contextmanager
def servers_of(of: Mapping[str, list[str]]) -> Iterator[Servers]:
    """The process that starts servers of a cluster; none of them outlives the block."""
    quiet = {name: value for name, value in environment(of).items() if name != "TF_CONFIG"}
    forks = subprocess.Popen(
        [sys.executable, "-c", _FORKS],
        env=quiet,
        text=True,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    found = Servers(of, forks)
    try:
        yield found
    finally:
        for number in found.ids.values():
            os.kill(number, signal.SIGKILL)
        forks.kill()
        forks.communicate()


@contextmanager
def chief_of(folder: Path, of: Servers, *, steps: int) -> Iterator[Workers]:
    """The digits program, unchanged, as the chief."""
    program = Program(folder)
    process = subprocess.Popen(
        [sys.executable, "train.py"],
        cwd=folder,
        env={
            **environment(of.cluster),
            "MODEL_DIR": str(folder / "models"),
            "CHECKPOINT_DIR": str(program.checkpoints("run")),
            "STEPS": str(steps),
            "CHECKPOINT_STEPS": "50",
        },
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    try:
        yield Workers([process], folder / "go")
    finally:
        process.kill()
        process.communicate()
