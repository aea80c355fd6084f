"""Datasets with several writers, and pipelines that start each other for ever, are refused before anything runs."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.problems import problems_of

_NFS = {"kind": "nfs", "server": "nas.example", "folder": "/data"}
_AT = "tensorplane:workloads"


def _tree(**workloads: Any) -> dict[str, Any]:
    return {
        "cluster": {"kind": "existing", "context": "team"},
        "volumes": {"data": {"sizeGib": 10, "backend": _NFS}},
        "streams": {
            "events": {
                "broker": {"kind": "strimzi", "cluster": "kafka"},
                "topics": {"clicks": {}, "views": {}},
                "groups": {"first": {}, "second": {}},
            }
        },
        "datasets": {name: {"volume": "data"} for name in ("w", "x", "y", "z", "raw")},
        "workloads": workloads,
    }


def _pipeline(*stages: tuple[str, str], **triggers: Any) -> dict[str, Any]:
    """A pipeline of stages, each with its input and its output."""
    made = {
        f"s{number}": {"command": ["sh", "-c", "true"], "image": "team/a:1", "inputs": {"in": read}, "output": written}
        for number, (read, written) in enumerate(stages)
    }
    return {"kind": "pipeline", "stages": made, "triggers": triggers}


def _recorder(group: str, topic: str, **more: Any) -> dict[str, Any]:
    read = {"stream": "events", "topic": topic, "group": group}
    return {"kind": "recorder", "input": read, "dataset": "y", "image": "team/recorder:1", **more}


@pytest.mark.parametrize(
    ("workloads", "line"),
    [
        (
            {"a": _pipeline(("x", "y")), "b": _pipeline(("raw", "x"), ("x", "y"))},
            "b.stages.s1.output: stage s0 of pipeline a writes to y too, and each would undo what the "
            "other made; use a dataset for each",
        ),
        (
            {"a": _pipeline(("x", "y")), "clicks": _recorder("first", "clicks")},
            "clicks.dataset: stage s0 of pipeline a writes to y too, and each would undo what the "
            "other made; use a dataset for each",
        ),
        (
            {"clicks": _recorder("first", "clicks"), "views": _recorder("second", "views")},
            "views.dataset: recorder clicks writes to y too, and each would undo what the other made; "
            "use a dataset for each",
        ),
        (
            {
                "clicks": _recorder("first", "clicks", branch="live"),
                "views": _recorder("second", "views", branch="live"),
            },
            "views.dataset: recorder clicks writes to y@live too, and each would undo what the other made; "
            "use a dataset for each",
        ),
    ],
)
def test_a_dataset_with_two_writers_is_refused(workloads: dict[str, Any], line: str) -> None:
    assert problems_of(_tree(**workloads)) == [f"{_AT}.{line}"]


def test_writers_of_two_branches_do_not_meet() -> None:
    recorder = _recorder("first", "clicks", branch="live")
    assert problems_of(_tree(a=_pipeline(("x", "y")), clicks=recorder)) == []


def _circle(first: Any, second: Any) -> list[str]:
    return problems_of(_tree(a=_pipeline(("x", "y"), **first), b=_pipeline(("y", "x"), **second)))


_FOR_EVER = "starts runs in an endless circle"
_REMEDY = "limit it to other datasets, or give one of them a schedule"


@pytest.mark.parametrize("second", [{"new": {}}, {"one": {"versions": 1}}, {"some": {"datasets": ["y"]}}])
def test_pipelines_that_start_each_other_are_refused(second: dict[str, Any]) -> None:
    assert _circle({"new": {}}, second) == [f"{_AT}.a.triggers.new: {_FOR_EVER}, a -> b -> a; {_REMEDY}"]


def test_a_circle_of_three_is_told_once() -> None:
    three = {"a": ("x", "y"), "b": ("y", "z"), "c": ("z", "x")}
    (line,) = problems_of(_tree(**{name: _pipeline(stage, new={}) for name, stage in three.items()}))
    assert line == f"{_AT}.a.triggers.new: {_FOR_EVER}, a -> b -> c -> a; {_REMEDY}"


@pytest.mark.parametrize(
    "second",
    [
        {},
        {"nightly": {"schedule": "0 2 * * *"}},
        {"enough": {"files": 10}},
        {"several": {"versions": 2}},
    ],
)
def test_pipelines_of_which_one_waits_may_read_each_other(second: dict[str, Any]) -> None:
    assert _circle({"new": {}}, second) == []


@pytest.mark.parametrize(("versions", "refused"), [(2, True), (3, False)])
def test_versions_of_several_outputs_count_together(versions: int, refused: bool) -> None:
    one = _pipeline(("x", "y"), ("x", "z"), new={})
    other = _pipeline(("y", "x"), ("z", "raw"), several={"versions": versions})
    lines = [f"{_AT}.a.triggers.new: {_FOR_EVER}, a -> b -> a; {_REMEDY}"]
    assert problems_of(_tree(a=one, b=other)) == (lines if refused else [])


def test_a_trigger_that_counts_other_datasets_makes_no_circle() -> None:
    two = _pipeline(("y", "x"), ("raw", "z"), some={"datasets": ["raw"]})
    assert problems_of(_tree(a=_pipeline(("x", "y"), new={}), b=two)) == []


@pytest.mark.parametrize(("versions", "refused"), [(2, True), (3, False)])
def test_pipelines_that_start_one_only_together_are_refused(versions: int, refused: bool) -> None:
    """`a` waits for a version of both others, each of which it starts. `after` only follows them."""
    workloads = {
        "after": _pipeline(("x", "raw"), new={}),
        "a": _pipeline(("y", "x"), ("z", "w"), both={"versions": versions}),
        "b": _pipeline(("x", "y"), new={}),
        "c": _pipeline(("x", "z"), new={}),
    }
    lines = [f"{_AT}.a.triggers.both: starts runs without an end, together with b and c; {_REMEDY}"]
    assert problems_of(_tree(**workloads)) == (lines if refused else [])
