"""A sweep's controller, killed between what it does, ends as one that was not, whatever the timing."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.support import counts, sweep_world

_CONTINUED = {"trial", "state", "parameters", "best", "bestStep"}
"""What does not depend on when trials are stopped, unlike the last step of a pruned one."""


def _decided(results: dict[str, Any]) -> list[dict[str, Any]]:
    return [{key: value for key, value in row.items() if key in _CONTINUED} for row in results["trials"]]


def _finish(timing: int, kill_chance: float, **changed: Any) -> tuple[dict[str, Any], sweep_world.World, int]:
    with tempfile.TemporaryDirectory() as folder:
        return sweep_world.finish(sweep_world.sweep(Path(folder), **changed), Path(folder), timing, kill_chance)


@pytest.fixture(scope="module")
def undisturbed() -> list[dict[str, Any]]:
    results, _, kills = _finish(0, 0.0)
    assert not kills
    states = [row["state"] for row in results["trials"]]
    assert {"complete", "pruned", "failed"} == set(states)
    return _decided(results)


@pytest.mark.counted
@example(timing=1, kill_chance=0.5)
@given(timing=st.integers(1, 10**6), kill_chance=st.sampled_from([0.0, 0.1, 0.5]))
@settings(max_examples=counts.of(quick=2, nightly=200))
def test_kills_and_timing_change_no_decision(
    timing: int, kill_chance: float, undisturbed: list[dict[str, Any]]
) -> None:
    results, world, _ = _finish(timing, kill_chance)
    assert _decided(results) == undisturbed
    assert world.created == {f"digits-1a-t{number:04}": 1 for number in range(12)}
    assert world.most_active <= 3


@pytest.mark.counted
@given(timing=st.integers(1, 10**6), sampler=st.sampled_from(["tpe", "random"]), parallel=st.integers(1, 5))
@settings(max_examples=counts.of(quick=2, nightly=100))
def test_without_pruner_every_trial_runs_once_to_its_end(timing: int, sampler: str, parallel: int) -> None:
    results, world, _ = _finish(timing, 0.3, sampler=sampler, parallel=parallel, pruner=None)
    states = [row["state"] for row in results["trials"]]
    assert states == ["failed" if number % 7 == sweep_world.FAILS else "complete" for number in range(12)]
    assert set(world.created.values()) == {1}
    assert world.most_active <= parallel
