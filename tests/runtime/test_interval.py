"""The computed interval loses as little time as the best one that a search finds, from measurements alone."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator
from pathlib import Path

import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st

from tensorplane.checkpoints.checkpointer import Checkpointer
from tensorplane.checkpoints.interval import MeasuredInterval, best_seconds, lost_share, since_start
from tensorplane.cluster import Place
from tests.support.clock import Clock

_SAVE = st.floats(0.01, 60)
_BETWEEN = st.floats(600, 30 * 86400)
_RESTART = st.floats(0, 300)


def _swept(between: float, save: float, restart: float) -> float:
    """The least share lost, over intervals of a second to twice the time between interruptions."""
    ratio = (2 * between) ** (1 / 100)
    return min(lost_share(ratio**power, save, between, restart) for power in range(101))


@settings(max_examples=30, deadline=None)
@given(save=_SAVE, between=_BETWEEN, restart=_RESTART)
def test_interval_trains_at_least_98_percent_of_what_the_best_swept_one_does(
    save: float, between: float, restart: float
) -> None:
    lost = lost_share(best_seconds(save, between, restart), save, between, restart)
    assert 1 - lost >= 0.98 * (1 - _swept(between, save, restart))


@given(save=_SAVE, between=_BETWEEN, restart=_RESTART, factor=st.floats(1, 10))
def test_dearer_saves_and_rarer_interruptions_never_shorten_the_interval(
    save: float, between: float, restart: float, factor: float
) -> None:
    interval = best_seconds(save, between, restart)
    assert best_seconds(save * factor, between, restart) >= interval
    assert best_seconds(save, between * factor, restart) >= interval
    assert interval <= between


def _train(measured: MeasuredInterval, clock: Clock, *, step: float, save: float, saves: int) -> Iterator[int]:
    """Trains with steps and saves of these seconds; the interval after each save. Half of a save is its thread's."""
    number, due = 0, measured.steps()
    while saves:
        clock.now += step
        number += 1
        measured.reached(number, writing=False)
        if number < due:
            continue
        measured.save_begins(number)
        clock.now += save
        due = number + measured.steps()
        yield due - number
        saves -= 1


@settings(max_examples=20, deadline=None)
@given(step=st.floats(0.5, 5), save=st.floats(0.01, 20), between=st.floats(600, 40000), restart=_RESTART)
def test_interval_is_found_from_the_times_of_steps_and_saves(
    step: float, save: float, between: float, restart: float
) -> None:
    clock = Clock(1000.0)
    measured = MeasuredInterval(between, clock=clock, restart=lambda: restart)
    *_, found = _train(measured, clock, step=step, save=save, saves=6)
    wanted = max(1, round(best_seconds(save, between, restart) / step))
    assert math.isclose(found, wanted, rel_tol=0.02, abs_tol=1)


def _saving_after_ten_steps(between: float, clock: Clock) -> MeasuredInterval:
    """An interval that has seen ten steps of one second each; the save of the tenth begins."""
    measured = MeasuredInterval(between, clock=clock, restart=lambda: 0.0)
    for number in range(1, 11):
        clock.now += 1
        measured.reached(number, writing=False)
    measured.save_begins(10)
    return measured


def test_time_of_a_write_counts_although_training_goes_on() -> None:
    clock = Clock(1000.0)
    measured = _saving_after_ten_steps(1800, clock)
    for number in (11, 12, 13):
        clock.now += 1.5
        measured.reached(number, writing=number < 13)
    assert measured.steps() == round(best_seconds(1.5, 1800, 0))


def test_steps_that_vary_do_not_make_saves_free() -> None:
    clock = Clock(1000.0)
    measured = _saving_after_ten_steps(3600, clock)
    clock.now += 0.5
    measured.steps()
    clock.now += 0.1
    measured.reached(11, writing=False)
    assert measured.steps() == round(best_seconds(0.5, 3600, 0))


def test_slow_first_steps_are_not_the_step_time() -> None:
    clock = Clock(1000.0)
    measured = MeasuredInterval(3600, clock=clock, restart=lambda: 30.0)
    for number, seconds in enumerate([20, 5, 1, 1, 1, 1, 1, 1, 1], 1):
        clock.now += seconds
        measured.reached(number, writing=False)
    measured.save_begins(9)
    clock.now += 0.5
    assert measured.steps() == round(best_seconds(0.5, 3600, 30))


def test_age_of_a_process_is_known() -> None:
    assert 0 < since_start() < 86400


def test_checkpointer_computes_its_interval_from_the_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CHECKPOINT_INTERRUPTION_MINUTES", "60")
    monkeypatch.delenv("CHECKPOINT_STEPS", raising=False)
    clock = Clock()
    begin = functools.partialmethod(MeasuredInterval.__init__, clock=clock)
    monkeypatch.setattr(MeasuredInterval, "__init__", begin)
    step = tf.Variable(0, dtype=tf.int64)
    checkpoints, saved = Checkpointer(tmp_path, Place(), step=step), list[int]()
    for number in range(1, 400):
        clock.now += 1e-5
        step.assign(number)
        if checkpoints.due(number):
            checkpoints.save(number)
            saved.append(number)
    checkpoints.close()
    assert saved[0] == 10
    # A step of this test takes next to nothing, so only the most that an interval may grow holds it back.
    assert len(saved) < 10


def test_steps_and_interruptions_are_not_both_set(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="exclude each other"):
        Checkpointer(tmp_path, Place(), every_steps=5, interruption_minutes=5, step=tf.Variable(0))
