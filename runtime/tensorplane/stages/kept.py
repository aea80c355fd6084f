"""Which items of a run have their results: whoever keeps one adds its number to a file of the run.

To look for the results themselves until they are there does not do: a client of NFS that found no file of a name may
say so for half a minute after another client has made it. A file that is there is read anew each time it is opened. A
number that is lost between two clients only makes the commit wait until Argo knows that the pods have ended.
"""

from __future__ import annotations

import os
from pathlib import Path

from tensorplane.stages import plan
from tensorplane.stages.description import Stage


def note(stage: Stage, run: str, number: int) -> None:
    """Say that the result of an item is there."""
    file = os.open(plan.kept_of(stage, run), os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
    try:
        os.write(file, f"{number}\n".encode())
    finally:
        os.close(file)


class Awaited:
    """The results that a run of a stage waits for."""

    def __init__(self, stage: Stage, run: str) -> None:
        """Raises OSError if the run has no plan."""
        self._numbers = set(plan.due(stage, run))
        self._path: Path = plan.kept_of(stage, run)

    def are_there(self) -> bool:
        """Whether all are there. Reads nothing but one small file."""
        return not self._numbers or self._numbers <= set(map(int, _lines(self._path)))


def _lines(path: Path) -> list[str]:
    """Whole lines: the last one may be being written."""
    *lines, _ = path.read_text().split("\n")
    return [line for line in lines if line.isdigit()]
