"""One mistake in many places is one line, and many mistakes take little longer than few."""

from __future__ import annotations

import sys
from types import FrameType
from typing import Any

import pytest

from tests.support.problems import dev, problems_of

_JOB = {"kind": "trainingJob", "strategy": {"kind": "single"}, "command": ["true"]}
_ALSO = "also affects workloads.job-1{0}, workloads.job-2{0}, workloads.job-3{0} and 696 more"


def _jobs(count: int, **more: Any) -> dict[str, Any]:
    return {f"job-{number}": {**_JOB, **more} for number in range(count)}


@pytest.mark.parametrize(
    ("more", "key", "problem"),
    [
        ({"comand": 1}, ".comand", "unknown setting; "),
        ({"kind": "trainingJb"}, ".kind", "invalid value 'trainingJb'; use "),
        ({"resources": {"gpus": "two"}}, ".resources.gpus", "invalid value 'two'; use a whole number"),
        ({"queue": "traning"}, ".queue", "no queue is named 'traning'; choose one of training"),
        ({"volumes": {"modls": "/data"}}, ".volumes.modls", "no volume is named 'modls'; choose one of models"),
        (
            {"checkpoints": {"volume": "models"}},
            ".checkpoints.volume",
            "volume models is not mounted here; add it to",
        ),
    ],
)
def test_one_mistake_in_700_workloads_is_one_line_with_a_count_and_three_names(
    more: dict[str, Any], key: str, problem: str
) -> None:
    tree = dev()
    tree["workloads"] = _jobs(700, **more)
    (line,) = problems_of(tree)
    assert line.startswith(f"tensorplane:workloads.job-0{key}: {problem}")
    assert line.endswith(_ALSO.format(key))


def test_few_of_one_mistake_are_a_line_each() -> None:
    tree = dev()
    tree["workloads"] = _jobs(3, comand=1)
    assert len(problems_of(tree)) == 3


def test_workloads_that_are_indented_too_deep_are_one_line() -> None:
    tree = dev()
    tree["workloads"] = {"first": {**_JOB, **_jobs(400)}}
    (line,) = problems_of(tree)
    assert line.startswith(
        "tensorplane:workloads.first: unknown settings job-0, job-1, job-2 and 397 more; allowed here: "
    )


def test_many_unknown_sections_are_one_line() -> None:
    (line,) = problems_of({**dev(), **{f"section-{number}": {} for number in range(1000)}})
    assert line.startswith("tensorplane:section-0: unknown setting; allowed here: acknowledge, ")
    assert line.endswith("; also affects section-1, section-2, section-3 and 996 more")


def _calls(tree: dict[str, Any]) -> int:
    """How many functions of Python are called to check settings: the same in each run, on every machine."""
    count = 0

    def called(_: FrameType, event: str, __: object) -> None:
        nonlocal count
        count += event == "call"

    before = sys.getprofile()
    sys.setprofile(called)
    try:
        assert problems_of(tree)
    finally:
        sys.setprofile(before)
    return count


def _together(count: int) -> dict[str, Any]:
    return {**dev(), "workloads": {"first": {**_JOB, **{f"key-{number}": 1 for number in range(count)}}}}


def _apart(count: int) -> dict[str, Any]:
    workloads = {f"job-{number}": {**_JOB, f"comand-{number}": 1, "gpus": number} for number in range(count)}
    return {**dev(), "workloads": workloads}


def _unlike(count: int) -> dict[str, Any]:
    return {**dev(), "volumes": {f"Volume {number}": {"sizeGib": f"{number} TiB"} for number in range(count)}}


@pytest.mark.parametrize("made", [_together, _apart, _unlike])
def test_twice_the_mistakes_are_twice_the_work(made: Any) -> None:
    problems_of(made(1))  # what is made once
    few, double, more = (_calls(made(count)) for count in (100, 200, 400))
    assert more - double <= 2.2 * (double - few)
