"""What ASHA needs of a grid's time, from lines of trials as the program prints them."""

from __future__ import annotations

import pytest

from bench import asha, sweep_overhead
from tensorplane.agents.sweep.asha import Asha


def _lines(*trials: list[float]) -> list[str]:
    """Each step takes a second."""
    return [
        f"report {trial} {step} {loss} {step}.0"
        for trial, losses in enumerate(trials)
        for step, loss in enumerate(losses, 1)
    ]


def test_a_pruned_trial_counts_until_the_step_where_it_is_stopped() -> None:
    trials = asha.trained(["Epoch 1", *_lines([9, 2, 1, 1], [9, 5, 4, 4], [9, 6, 5, 5])])
    assert asha.compared(trials, Asha(2, 2)).value == pytest.approx((4 + 2 + 2) / 12)


def test_a_best_trial_that_was_pruned_counts_as_the_whole_grid() -> None:
    trials = asha.trained(_lines([9, 2, 1, 1], [9, 5, 0.5, 0.5]))
    measured = asha.compared(trials, Asha(2, 2))
    assert measured.value == 1
    assert "loss 1.0000 : 0.5000" in measured.peer


def test_the_overhead_is_what_lies_between_the_codes_of_two_trials() -> None:
    assert sweep_overhead.gaps([(10.0, 12.0), (3.0, 5.0), (15.5, 17.0)]) == [5.0, 3.5]
