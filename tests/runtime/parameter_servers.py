"""A cluster with parameter servers on this machine: a chief's program, and its servers."""

from __future__ import annotations

import itertools
import json
import os
import signal
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from tests.runtime.launching import PATIENT, Process, Program, Workers, gang, of_library
from tests.support.ports import free_ports
from tests.support.waiting import PATIENT_SECONDS

_SERVER = f"""
import os
from tensorplane.parameter_server import server

server._LOST_SECONDS = {PATIENT_SECONDS}
code = server.main()
os._exit(code)
"""

ALL_ANSWER = f"""{PATIENT}
from tensorplane.parameter_server import servers
servers._SILENT_SECONDS = servers._GOODBYE_SECONDS = {PATIENT_SECONDS}
"""
"""For chiefs whose servers are all there at the end: a slow machine may not run one for a while."""

Task = tuple[str, int]


class Servers:
    """The ps and worker processes of one cluster."""

    def __init__(self, cluster: Mapping[str, list[str]], folder: Path) -> None:
        self.cluster, self._folder, self._logs = cluster, folder, itertools.count()
        self._program = folder / "server.py"
        self._program.write_text(_SERVER)
        self.processes: dict[Task, Process] = {}

    def start(self, task: Task, cluster: Mapping[str, list[str]] | None = None) -> None:
        """Starts, or replaces, one server."""
        own = of_library(**variables(cluster or self.cluster, *task))
        log = self._folder / f"{task[0]}-{task[1]}.{next(self._logs)}.log"
        self.processes[task] = Process([str(self._program)], self._folder, own, log)

    def start_all(self) -> None:
        """Starts all servers of the cluster."""
        for kind in ("ps", "worker"):
            for index in range(len(self.cluster[kind])):
                self.start((kind, index))

    def restart(self) -> None:
        """What JobSet does to the gang: all end, then all start."""
        self.end()
        self.start_all()

    def kill(self, task: Task, number: int = signal.SIGKILL) -> None:
        """Sends one server a signal."""
        os.kill(self.processes[task].pid, number)

    def code(self, task: Task) -> int:
        """Waits for the end of one server; its exit code."""
        return self.processes.pop(task).wait()

    def end(self) -> None:
        """Kills all."""
        for process in self.processes.values():
            process.end()
        self.processes.clear()


def cluster(workers: int = 2, ps: int = 2) -> dict[str, list[str]]:
    """Addresses of a cluster on this machine."""
    free = [f"127.0.0.1:{port}" for port in free_ports(1 + workers + ps)]
    return {"chief": free[:1], "worker": free[1 : 1 + workers], "ps": free[1 + workers :]}


def variables(of: Mapping[str, list[str]], kind: str = "chief", index: int = 0) -> dict[str, str]:
    """What tells one task its place."""
    return {"TF_CONFIG": json.dumps({"cluster": of, "task": {"type": kind, "index": index}})}


@contextmanager
def two_of_each(folder: Path) -> Iterator[Servers]:
    """Two workers and two parameter servers; none of them outlives the block."""
    found = Servers(cluster(), folder)
    found.start_all()
    try:
        yield found
    finally:
        found.end()


@contextmanager
def chief_of(folder: Path, of: Servers, *, steps: int, hold_after: str = "", then: str = PATIENT) -> Iterator[Workers]:
    """The digits program, unchanged, as the chief."""
    program = Program(folder)
    own = {**program.variables("run"), "STEPS": str(steps), "CHECKPOINT_STEPS": "50"}
    tasks = [variables(of.cluster)]
    with gang(folder, folder / "train.py", tasks=tasks, hold_after=hold_after, then=then, **own) as chief:
        yield chief
