"""The command of a job's container, started by the library's launcher if the image has Python."""

import re
from collections.abc import Sequence

from workloads.manifests import pod

PYTHON = re.compile(r"(.*/)?python(3(\.\d+)?)?")
"""Programs that run Python."""
_LAUNCH = f"{pod.LIBRARY}/tensorplane/launch.py"


def launched(command: Sequence[str]) -> list[str]:
    """The command with the launcher. Only if it runs Python, because other images may not have it."""
    return [command[0], "-I", _LAUNCH, *command] if PYTHON.fullmatch(command[0]) else list(command)
