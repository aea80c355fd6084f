"""The command of a job's container, started by the library's launcher if the image has Python."""

import re
from collections.abc import Sequence

from workloads.manifests import pod
from workloads.role import Role

PYTHON = re.compile(r"(.*/)?python(3(\.\d+)?)?")
"""Programs that run Python."""
_LAUNCH = f"{pod.LIBRARY}/tensorplane/launch.py"


def command_of(role: Role, command: Sequence[str]) -> list[str]:
    """What the container of a role runs. `command`: the job's."""
    if role.program is None:
        return launched(role.command or command)
    if not PYTHON.fullmatch(command[0]):
        raise ValueError(f"{role.name} pods run a program of the library, and {command[0]} is no Python interpreter")
    return launched([command[0], "-I", f"{pod.LIBRARY}/tensorplane/{role.program}.py"])


def launched(command: Sequence[str]) -> list[str]:
    """The command with the launcher. Only if it runs Python, because other images may not have it."""
    return [command[0], "-I", _LAUNCH, *command] if PYTHON.fullmatch(command[0]) else list(command)


def python(command: Sequence[str]) -> str:
    """The Python of the image: the command's, if it runs one."""
    return command[0] if PYTHON.fullmatch(command[0]) else "python3"
