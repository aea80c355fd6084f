"""Waits for the exit of the container whose files another container keeps.

Argo can start a container after another one, but looks for its end once a second only. So the container that keeps the
result starts with the program, and looks itself.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

ENDS = Path("/var/run/argo/ctr")
"""Where Argo's executor, which starts the programs of a pod, notes the exit status of each container's."""
_SECONDS = 0.05


def exit_status(container: str, ends: Path = ENDS, pause: Callable[[], object] = lambda: time.sleep(_SECONDS)) -> int:
    """Waits for the end of a container's program; its exit status. `pause`: between two looks."""
    path = ends / container / "exitcode"
    while True:
        try:
            return int(path.read_text())
        except (FileNotFoundError, ValueError):  # not there, or being written
            pause()
