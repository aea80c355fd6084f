"""Which steps each start of a gang has computed, by what its chief has printed."""

from __future__ import annotations

import re
from collections.abc import Sequence

_BEGUN = re.compile(r"tensorplane: workers=\d+ step=(\d+) ")
_STEP = re.compile(r"tensorplane: step=(\d+) loss=")
_STOPPED = re.compile(r"tensorplane: stopped=(\d+)$", re.MULTILINE)


def last(log: str) -> int:
    """The last step that a start has printed; 0 before."""
    return max(_reported(log), default=0)


def check(starts: Sequence[str], steps: int | None = None) -> None:
    """Each start begins at the step at which the one before stopped; none is computed twice, and none is left out.

    `starts`: the logs, the first start's first. `steps`: of a run that has ended.
    """
    reached = 0
    for number, log in enumerate(starts, 1):
        begun, reported = _BEGUN.search(log), _reported(log)
        if not begun:
            assert not reported, log[-2000:]
            continue
        assert int(begun[1]) == reached, f"start {number} begins at step {begun[1]}, not {reached}"
        stopped = _STOPPED.findall(log)
        if number < len(starts):
            assert stopped or not reported, f"start {number} does not say where it stopped:\n{log[-2000:]}"
        reached = int(stopped[-1]) if stopped else max(reported, default=reached)
        # Not every step is reported; none after it is.
        assert max(reported, default=0) <= reached, log[-2000:]
    assert steps in (None, reached)


def _reported(log: str) -> list[int]:
    return [int(found) for found in _STEP.findall(log)]
