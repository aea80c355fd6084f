"""A part that fails, agents and controllers that are killed: each result is there once.

The seed decides which pods are killed, and in which state of a run.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tensorplane.cli.commands.logs.pods import LogsOptions
from tensorplane.cli.pipelines.workflow import state_of
from tests.e2e.pipelines.deployed import Pipelines, begun_on, stages_of
from tests.support import counts
from tests.support.waiting import PATIENT_SECONDS, eventually

_KILLS = counts.of(quick=2, nightly=60)
_KILLS_PER_RUN = 2
_PART = "greet-work"
_CONTROLLERS = ("hello-triggers", "hello-steps", "workflow-controller")
_STATES = (("", ""), ("greet-plan", "Running"), (_PART, "Pending"), (_PART, "Running"), ("greet-commit", "Running"))
"""Of a run: its commit is there, or it has a pod of this step in this phase."""


@pytest.mark.nightly("runs that start by hand; test_a_commit.py has the path of a pipeline")
def test_a_part_that_fails_stops_no_other_and_is_done_alone_once_it_is_cured(pipeline: Pipelines) -> None:
    pipeline.put("texts", a="one two two", b="two three", c="poison")
    failed = pipeline.run("words")
    assert failed.state == "failed"
    assert stages_of(failed) == [("upper", "failed", 3, 2, 0, 1)]
    lines = pipeline.logs("words/upper")
    assert lines[0].startswith(f"{failed.name}/upper: upper: 1 of 3 parts failed ('c.txt'), and mayFail is 0")
    assert lines[1].endswith(": exit code 1")
    assert any(line.startswith("plan   │ parts=3 ") for line in lines)
    kept = [line for line in lines if "tensorplane: stage=upper item=" in line]
    assert len(kept) == 2, lines
    of_part = pipeline.logs("words/upper", LogsOptions(index=int(kept[0][5]), role="part"))
    assert of_part == [lines[0], kept[0].partition("│ ")[2]], "why the stage failed comes first, whatever was asked for"

    pipeline.put("texts", a="one two two", b="two three", c="cure")
    run = pipeline.run("words")
    assert stages_of(run) == [("upper", "finished", 3, 1, 2, 0), ("count", "finished", 1, 1, 0, 0)], run
    assert pipeline.get("upper") == {"a.txt": "ONE TWO TWO", "b.txt": "TWO THREE", "c.txt": "CURE"}


@pytest.mark.nightly("a second run on the same versions; test_a_commit.py has the path of a pipeline")
def test_what_somebody_committed_to_an_output_is_replaced_without_work(pipeline: Pipelines) -> None:
    pipeline.put("texts", a="three three three")
    first = pipeline.run("words")
    counted = pipeline.get("counts")
    pipeline.put("counts", by="hand")
    again = pipeline.run("words")
    assert again.name != first.name
    assert stages_of(again) == [("upper", "finished", 1, 0, 1, 0), ("count", "finished", 1, 0, 1, 0)], again
    assert pipeline.get("counts") == counted
    assert pipeline.newest("counts")["provenance"]["run"] == again.name
    assert "has finished already" in pipeline.start("words")


@pytest.mark.nightly("agents that are killed; unit/agents/test_triggers.py kills them at every request")
def test_a_trigger_starts_one_run_for_each_version_although_its_agent_is_killed(pipeline: Pipelines) -> None:
    kube, namespace = pipeline.access.api, pipeline.access.namespace
    pods = f"/api/v1/namespaces/{namespace}/pods"
    others = {one["metadata"]["name"] for one in pipeline.runs("hello")}

    def of_hello() -> list[dict[str, Any]]:
        return [one for one in pipeline.runs("hello") if one["metadata"]["name"] not in others]

    commits, names = [], {}
    with _two_agents(pipeline):
        for number in range(4):
            names[f"n{number}"] = f"number {number}"
            commits.append(pipeline.put("names", **names))
            # The last one's agents live: an agent that is killed may not have told of the run that it has started.
            for pod in kube.items(pods, labelSelector="app.kubernetes.io/name=hello-triggers") if number < 3 else ():
                kube.delete(f"{pods}/{pod['metadata']['name']}", gracePeriodSeconds="0")
        eventually(
            lambda: any(commits[-1] in begun_on(one) and state_of(one) == "finished" for one in of_hello()),
            PATIENT_SECONDS,
            about=of_hello,
        )
    begun = [commit for commit in commits for one in of_hello() if commit in begun_on(one)]
    assert sorted(begun) == sorted(set(begun))
    assert len(begun) == len(of_hello())
    assert pipeline.get("greetings") == {f"n{number}.txt": f"hello number {number}\n" for number in range(4)}

    def reasons() -> set[str]:
        events = f"/api/v1/namespaces/{namespace}/events"
        return {one["reason"] for one in kube.items(events, fieldSelector="involvedObject.kind=WorkflowTemplate")}

    eventually(lambda: "RunStarted" in reasons(), about=reasons)


@contextmanager
def _two_agents(pipeline: Pipelines) -> Iterator[None]:
    """They deliver each version twice."""
    path = f"/apis/apps/v1/namespaces/{pipeline.access.namespace}/deployments/hello-triggers"
    about = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "hello-triggers"}}

    def scale(replicas: int) -> None:
        pipeline.access.api.apply(path, {**about, "spec": {"replicas": replicas}}, "test")

    scale(2)
    try:
        yield
    finally:
        scale(1)


@pytest.mark.counted
@pytest.mark.nightly("a run for each two kills; runtime/test_stages.py kills steps at every call")
def test_pods_and_controllers_that_are_killed_leave_each_result_once(pipeline: Pipelines) -> None:
    chance = random.Random(f"pipeline {counts.seed()}")
    killed = number = 0
    while killed < _KILLS:
        killed += _killed_run(pipeline, chance, number, most=min(_KILLS_PER_RUN, _KILLS - killed))
        number += 1
    made = [one["commit"]["provenance"]["run"] for one in pipeline.log("greetings")]
    assert len(made) == len(set(made)), "one version for each run"


def _killed_run(pipeline: Pipelines, chance: random.Random, number: int, *, most: int) -> int:
    """A run, which a trigger starts, in spite of kills; how many there were."""
    texts = {f"k{place}": f"{place}" if place == number % 3 else f"{number}-{place}" for place in range(3)}
    commit = pipeline.put("names", **texts)
    killed = sum(_kill(pipeline, chance, commit) for _ in range(most))
    eventually(lambda: _state(pipeline, commit) == "finished", PATIENT_SECONDS, about=lambda: _run(pipeline, commit))
    assert pipeline.get("greetings") == {f"{name}.txt": f"hello {text}\n" for name, text in texts.items()}
    return killed


def _kill(pipeline: Pipelines, chance: random.Random, commit: str) -> int:
    """Kill a pod of a part of the run, of the pipeline's agents or of Argo, in a state of the run; how many there were
    before the run had ended."""
    kube, namespace = pipeline.access.api, pipeline.access.namespace
    victim = chance.choice((_PART, *_CONTROLLERS))
    step, phase = chance.choice([one for one in _STATES if victim != _PART or one[0] == _PART])

    def found() -> list[dict[str, Any]] | str:
        run = _run(pipeline, commit)
        if run and state_of(run) in ("finished", "failed"):
            return "ended"
        pods = kube.items("/api/v1/pods")
        if step and not (run and _reached(pods, f"{run['metadata']['name']}-{step}-", phase)):
            return []
        mine = [one for one in pods if victim in one["metadata"]["name"] and not _has_ended(one)]
        return [one for one in mine if victim == "workflow-controller" or one["metadata"]["namespace"] == namespace]

    pods = eventually(found, PATIENT_SECONDS, about=lambda: f"{victim}: {_run(pipeline, commit)}")
    if isinstance(pods, str):
        return 0
    about = chance.choice(sorted(pods, key=lambda one: str(one["metadata"]["name"])))["metadata"]
    kube.delete(f"/api/v1/namespaces/{about['namespace']}/pods/{about['name']}", gracePeriodSeconds="0")
    return 1


def _reached(pods: list[dict[str, Any]], step: str, phase: str) -> bool:
    """Whether a pod of a step is, or was, in a phase."""
    of_step = [one for one in pods if one["metadata"]["name"].startswith(step)]
    return any(phase in ("Pending", one["status"]["phase"]) or _has_ended(one) for one in of_step)


def _has_ended(pod: dict[str, Any]) -> bool:
    return pod["status"]["phase"] in ("Succeeded", "Failed")


def _run(pipeline: Pipelines, commit: str) -> dict[str, Any] | None:
    return next((one for one in pipeline.runs("hello") if commit in begun_on(one)), None)


def _state(pipeline: Pipelines, commit: str) -> str:
    run = _run(pipeline, commit)
    return state_of(run) if run else ""
