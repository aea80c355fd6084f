"""What a container of a job runs: its command, below the launcher of tensorplane's library where that can run."""

import re
from collections.abc import Sequence

from workloads.manifests import pod

PYTHON = re.compile(r"(.*/)?python(3(\.\d+)?)?")
"""Programs that run Python."""
_LAUNCH = f"{pod.LIBRARY}/tensorplane/launch.py"


def launched(command: Sequence[str]) -> list[str]:
    """The command below the launcher. What runs Python has one to run that, too; other images may not."""
    return [command[0], "-I", _LAUNCH, *command] if PYTHON.fullmatch(command[0]) else list(command)
