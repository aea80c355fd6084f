"""The command of a job's container, started by the library's launcher if the image has Python."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tensorplane.workloads.pods import pod
from tensorplane.workloads.training_job.role import Role

PYTHON = re.compile(r"(.*/)?python(3(\.\d+)?)?")
"""Programs that run Python."""


@dataclass(frozen=True)
class Then:
    """What the launcher does once the command has succeeded (the library's `on_success.py`)."""

    command: Sequence[str] = ()
    publish_to: str | None = None

    def options(self) -> Iterator[str]:
        """The launcher's arguments in front of the command."""
        if self.command:
            yield from ("--on-success", str(len(self.command)), *self.command)
        if self.publish_to:
            yield from ("--publish-to", self.publish_to)


def command_of(role: Role, command: Sequence[str], then: Then | None = None) -> list[str]:
    """What the container of a role runs. `command`: the job's."""
    if role.program is None:
        return launched(role.command or command, then)
    if not PYTHON.fullmatch(command[0]):
        raise ValueError(f"{role.name} pods run a program of the library, and {command[0]} is no Python interpreter")
    return launched(pod.program(command[0], role.program))


def launched(command: Sequence[str], then: Then | None = None) -> list[str]:
    """The command with the launcher. Only if it runs Python, because other images may not have it."""
    if not PYTHON.fullmatch(command[0]):
        return list(command)
    return pod.program(command[0], "launch", *(then.options() if then else ()), *command)


def python(command: Sequence[str]) -> str:
    """The Python of the image: the command's, if it runs one."""
    return command[0] if PYTHON.fullmatch(command[0]) else "python3"
