"""`tensorplane sweep`: the results that the controller keeps, as a table and a plot."""

from __future__ import annotations

import io
from typing import Any

import pytest
from rich.console import Console

from tensorplane.cli.commands.sweep import results


def _trial(number: int, state: str, best: float | None, rate: float) -> dict[str, Any]:
    return {
        "trial": number,
        "run": f"digits-0a1b2c3d-t{number:04}",
        "state": state,
        "parameters": {"LEARNING_RATE": rate, "OPTIMIZER": "adam"},
        "best": best,
        "bestStep": 300,
        "steps": 400 if best else None,
    }


TRIALS = [
    _trial(0, "complete", 0.5, 0.01),
    _trial(1, "pruned", 0.1, 0.02),
    _trial(2, "complete", 0.2, 0.003),
    _trial(3, "failed", None, 1.0),
    _trial(4, "open", 0.4, 0.1),
]


def _results(direction: str = "minimize") -> results.Results:
    plain = {"run": "digits-0a1b2c3d", "metric": "loss", "direction": direction, "planned": 12, "finished": False}
    return results.read({**plain, "trials": TRIALS})


def test_the_best_is_one_that_ended_by_itself() -> None:
    assert [one.number for one in _results().ranked] == [2, 0, 4, 1, 3]
    best = {direction: _results(direction).best for direction in ("minimize", "maximize")}
    assert [one and one.number for one in best.values()] == [2, 0]


@pytest.mark.parametrize("width", [80, 160])
def test_the_table_and_the_plot_fit_the_terminal(width: int) -> None:
    console = Console(file=io.StringIO(), width=width, color_system=None)
    results.show(_results(), console)
    assert isinstance(console.file, io.StringIO)
    shown = console.file.getvalue()
    assert max(map(len, shown.splitlines())) <= width
    assert "digits-0a1b2c3d: 4 of 12 trials ended: 2 complete, 1 pruned, 1 failed; 1 open\n" in shown
    assert "best: digits-0a1b2c3d-t0002, loss 0.2: LEARNING_RATE=0.003 OPTIMIZER=adam" in shown
    assert "best so far" in shown
