"""Pipelines whose objects would have the name of another object are refused: the engine takes none twice."""

from __future__ import annotations

import copy
from typing import Any
from unittest import mock

import pytest

from tensorplane import stack
from tensorplane.components.base.settings import Settings
from tensorplane.workloads.rules import pipeline_objects
from tests.support.problems import problems_of
from tests.support.rendering import Render

_AT = "tensorplane:workloads"
_RUN = {"command": ["sh", "-c", "true"], "image": "team/a:1"}
_CODE = {**_RUN, "files": {"a.py": "README.md"}}
_JOB = {"job": {"command": ["train"], "image": "team/a:1", "strategy": {"kind": "single"}, "queue": "research"}}
_ASKS = {**_RUN, "server": "digits"}
_SERVER = {"kind": "modelServer", "model": {"volume": "data", "path": "digits"}}


def _pipeline(*stages: tuple[str, dict[str, Any]], **more: Any) -> dict[str, Any]:
    return {"kind": "pipeline", "stages": {name: {**stage, "inputs": {"in": "raw"}} for name, stage in stages}, **more}


def _tree(workloads: dict[str, Any]) -> dict[str, Any]:
    """The stack. Each stage has an output of its own."""
    made = {name: copy.deepcopy(args) for name, args in workloads.items()}
    outputs: list[str] = []
    for args in made.values():
        for stage in args.get("stages", {}).values():
            stage["output"] = f"made-{len(outputs)}"
            outputs.append(stage["output"])
    return {
        "cluster": {"kind": "existing", "context": "team"},
        "volumes": {"data": {"sizeGib": 10, "backend": {"kind": "nfs", "server": "nas.example", "folder": "/data"}}},
        "queues": {"research": {"cpus": 8, "memoryGib": 8}},
        "datasets": {name: {"volume": "data"} for name in ("raw", *outputs)},
        "workloads": made,
    }


_PLAIN = _pipeline(("s", _RUN))
_TAKEN = "has the name of one of"
_COLLISIONS: list[tuple[dict[str, Any], str]] = [
    (
        {"p": _PLAIN, "p-executor": _PLAIN},
        "p-executor: is also the name of the executor of pipeline p; use another name",
    ),
    (
        {"p": _PLAIN, "p-api": _pipeline(("s", _ASKS)), "digits": _SERVER},
        f"p-api: its NetworkPolicy p-api-server {_TAKEN} pipeline p; use another name",
    ),
    (
        {"p": _pipeline(("x-y", _CODE)), "p-x": _pipeline(("y", _CODE))},
        f"p-x.stages.y: its ConfigMap p-x-y {_TAKEN} stage x-y of pipeline p; use another name",
    ),
    (
        {"p": _pipeline(("x-y", _JOB)), "p-x": _pipeline(("y", _JOB))},
        f"p-x.stages.y: its NetworkPolicy p-x-y-peers {_TAKEN} stage x-y of pipeline p; use another name",
    ),
    (
        {"p": _pipeline(("x", _JOB), ("x-runtime", _CODE))},
        f"p.stages.x-runtime: its ConfigMap p-x-runtime {_TAKEN} stage x of pipeline p; use another name",
    ),
    (
        {"p": _pipeline(("steps", _CODE))},
        f"p.stages.steps: its ConfigMap p-steps {_TAKEN} pipeline p; use another name",
    ),
    (
        {"p": _pipeline(("triggers-kept", _CODE), triggers={"new": {}})},
        f"p.stages.triggers-kept: its ConfigMap p-triggers-kept {_TAKEN} pipeline p; use another name",
    ),
    (
        {"p": _pipeline(("runtime", _CODE))},
        f"p.stages.runtime: its ConfigMap p-runtime {_TAKEN} pipeline p; use another name",
    ),
]


@pytest.mark.parametrize(("workloads", "line"), _COLLISIONS, ids=[line.split(":")[0] for _, line in _COLLISIONS])
def test_objects_that_the_engine_would_take_only_once_are_refused(
    render: Render, workloads: dict[str, Any], line: str
) -> None:
    tree = _tree(workloads)
    assert problems_of(tree) == [f"{_AT}.{line}"]
    with mock.patch.object(pipeline_objects, "find_problems", lambda _: ()):
        urns = render(lambda: stack.build(stack.load(Settings(tree)))).urns
    assert len(urns) > len({*urns})


def test_a_server_with_the_name_of_an_executor_is_refused() -> None:
    line = f"{_AT}.p-executor: is also the name of the executor of pipeline p; use another name"
    assert problems_of(_tree({"p": _PLAIN, "p-executor": _SERVER})) == [line]


@pytest.mark.parametrize(
    "workloads",
    [
        {"p": _pipeline(("x-y", _RUN)), "p-x": _pipeline(("y", _RUN))},
        {"p": _pipeline(("x-y", _JOB)), "p-x": _pipeline(("y", _CODE))},
        {"p": _pipeline(("steps", _RUN), ("triggers-kept", _CODE))},
        {"p": _PLAIN, "p-api": _PLAIN},
    ],
)
def test_names_that_only_look_alike_are_allowed(render: Render, workloads: dict[str, Any]) -> None:
    tree = _tree(workloads)
    assert problems_of(tree) == []
    urns = render(lambda: stack.build(stack.load(Settings(tree)))).urns
    assert len(urns) == len({*urns})
