"""Curves of a run from the lines of its log."""

from __future__ import annotations

from tensorplane.cli.training_jobs import curves, progress
from tensorplane.cli.training_jobs.curves import Point


def _line(step: int, loss: float) -> str:
    return f"tensorplane: step={step} steps=600 loss={loss} steps_per_second=2.5 percent=10.0 eta_seconds=30"


def test_steps_that_are_trained_again_replace_the_former_ones() -> None:
    lines = [_line(100, 0.9), "something else", _line(200, 0.5), "tensorplane: resumed=100", _line(150, 0.7)]
    assert curves.points(lines) == [Point(100, 0.9, 2.5), Point(150, 0.7, 2.5)]


def test_two_plots_fit_beside_each_other_or_below() -> None:
    found = [Point(step, 1 / step, 2.5) for step in range(1, 50)]
    wide, narrow = curves.draw(found, 160), curves.draw(found, 80)
    assert len(narrow) == 2 * len(wide)
    assert max(map(len, wide)) <= 160
    assert max(map(len, narrow)) <= 80
    assert "loss" in wide[0]
    assert "steps/s" in wide[0]


def test_too_few_points_are_no_curve() -> None:
    assert curves.draw([Point(1, 0.5, 2.0), Point(2, 0.4, 2.0)], 80) == []


def test_the_newest_report_is_the_progress() -> None:
    found = progress.read([_line(100, 0.9), _line(200, 0.5), "tensorplane: saved=200", "a line of the program"])
    assert (found.step, found.steps, found.loss, found.steps_per_second, found.eta_seconds) == (200, 600, 0.5, 2.5, 30)
    assert progress.read(["nothing"]) == progress.Progress()
