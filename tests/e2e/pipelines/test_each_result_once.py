"""A pipeline on the embedded cluster: parts in pods of a queue, one that fails, skipped work, provenance, kills.

`make test` kills a handful of pods; TENSORPLANE_KILLS is how many, and TENSORPLANE_SEED which and when.
"""

from __future__ import annotations

import os
import random
import time
from datetime import UTC, datetime
from typing import Any

import pytest

from cli.commands.logs.pods import Choice
from cli.commands.runs.ask import Asker
from cli.pipelines.listed import Run
from cli.pipelines.workflow import state_of
from components import versions
from components.base.labels import QUEUE_LABEL
from tests.e2e.pipelines.deployed import Pipelines, begun_on, counts
from tests.support.waiting import PATIENT_SECONDS, eventually

_SEED = os.environ.get("TENSORPLANE_SEED", "0")
"""With 0, Argo's controller and the agent of the steps are killed."""
_KILLS = int(os.environ.get("TENSORPLANE_KILLS", "2"))
_KILLS_PER_RUN = 2
_AGENTS = ("hello-triggers", "hello-steps")
_NEAR_SECONDS = 1.0
"""How long after a pod was seen it is killed, at most."""


@pytest.mark.nightly  # in `make test`, the example of images has most of it
def test_only_what_is_new_is_worked_on_and_a_part_that_fails_stops_no_other(pipeline: Pipelines) -> None:
    pipeline.put("texts", a="one two two", b="two three", c="poison")
    failed = pipeline.run("words")
    assert failed.state == "failed"
    assert counts(failed) == [("upper", "failed", 3, 2, 0, 1)]
    lines = pipeline.logs("words/upper")
    assert lines[0].startswith(f"{failed.name}/upper: upper: 1 of 3 parts failed ('c.txt'), and mayFail is 0")
    assert lines[1].endswith(": exit code 1")
    assert any(line.startswith("plan   │ parts=3 ") for line in lines)
    kept = [line for line in lines if "tensorplane: stage=upper item=" in line]
    assert len(kept) == 2, lines
    of_part = pipeline.logs("words/upper", Choice(index=int(kept[0][5]), role="part"))
    assert of_part == [lines[0], kept[0].partition("│ ")[2]], "why the stage failed comes first, whatever was asked for"

    pipeline.put("texts", a="one two two", b="two three", c="cure")
    run = pipeline.run("words")
    assert counts(run) == [("upper", "finished", 3, 1, 2, 0), ("count", "finished", 1, 1, 0, 0)], run
    assert pipeline.get("upper") == {"a.txt": "ONE TWO TWO", "b.txt": "TWO THREE", "c.txt": "CURE"}
    assert pipeline.get("counts") == {"counts.txt": "TWO 3\n"}
    assert "has finished already" in pipeline.start("words")
    _described(pipeline, run)

    made = pipeline.newest("counts")["provenance"]
    assert (made["pipeline"], made["stage"], made["run"]) == ("words", "count", run.name)
    assert made["params"] == {"LEAST": "2"}
    source = pipeline.newest("upper")
    assert made["inputs"] == [
        {"name": "texts", "dataset": "upper", "version": source["version"], "commit": source["id"]}
    ]

    pipeline.put("texts", a="one two two", b="two three", d="four")
    third = pipeline.run("words")
    assert counts(third) == [("upper", "finished", 3, 1, 2, 0), ("count", "finished", 1, 1, 0, 0)], third
    _admitted(pipeline)


def _described(pipeline: Pipelines, run: Run) -> None:
    """What `tensorplane runs words` says is what Argo's Workflow says, of templates that are stored in it."""
    found = Asker(pipeline.access).details("words", datetime.now(UTC))
    upper, count = found.stages
    assert (found.run.name, found.eta_seconds) == (run.name, 0)
    assert upper.skipped == ["2 of 3 parts: same program, params and input as in an earlier run"]
    assert (upper.about.command[0], upper.about.output, count.about.after) == ("sh", "upper", ("upper",))
    assert count.about.inputs["texts"].commit == upper.run.commit == pipeline.newest("upper")["id"]
    assert [one.cost.missing for one in found.stages] == [
        "the stack declares no node group with prices that its pods run on"
    ] * 2
    assert (
        pipeline.logs("words/count", follows=True)[-1] == f"{run.name}/count: finished; commit {count.run.commit[:12]}"
    )


def _admitted(pipeline: Pipelines) -> None:
    """Kueue has admitted the pods of the stage with a queue, and only these."""
    namespace = pipeline.access.namespace
    pods = pipeline.access.api.items(f"/api/v1/namespaces/{namespace}/pods", labelSelector=QUEUE_LABEL)
    of_stage = {pod["metadata"]["uid"] for pod in pods if "-upper-work-" in pod["metadata"]["name"]}
    works = pipeline.access.api.items(f"/apis/{versions.KUEUE_API}/namespaces/{namespace}/workloads")
    owners = {owner["uid"] for one in works for owner in one["metadata"].get("ownerReferences", ())}
    assert len(of_stage) >= 3
    assert of_stage <= owners


def test_a_trigger_starts_one_run_for_each_version_although_its_agent_is_killed(pipeline: Pipelines) -> None:
    kube, namespace = pipeline.access.api, pipeline.access.namespace
    pods = f"/api/v1/namespaces/{namespace}/pods"

    def of_hello() -> list[dict[str, Any]]:
        return pipeline.runs("hello")

    def kill() -> None:
        for pod in kube.items(pods, labelSelector="app.kubernetes.io/name=hello-triggers"):
            kube.delete(f"{pods}/{pod['metadata']['name']}", gracePeriodSeconds="0")

    # Two agents at once deliver each version twice.
    scale = f"/apis/apps/v1/namespaces/{namespace}/deployments/hello-triggers"
    about = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "hello-triggers"}}
    kube.apply(scale, {**about, "spec": {"replicas": 2}}, "test")
    commits, names = [], {}
    for number in range(3):
        names[f"n{number}"] = f"number {number}"
        commits.append(pipeline.put("names", **names))
        kill()
    eventually(
        lambda: any(commits[-1] in begun_on(one) and state_of(one) == "finished" for one in of_hello()),
        PATIENT_SECONDS,
        about=of_hello,
    )
    begun = [commit for commit in commits for one in of_hello() if commit in begun_on(one)]
    assert sorted(begun) == sorted(set(begun))
    assert len(begun) == len(of_hello())
    assert pipeline.get("greetings") == {f"n{number}.txt": f"hello number {number}\n" for number in range(3)}
    events = kube.items(f"/api/v1/namespaces/{namespace}/events", fieldSelector="involvedObject.kind=WorkflowTemplate")
    assert "RunStarted" in {one["reason"] for one in events}


def test_pods_and_controllers_that_are_killed_leave_each_result_once(pipeline: Pipelines) -> None:
    chance = random.Random(f"pipeline {_SEED}")
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
    """Kill a pod of a part of the run, of the pipeline's agents or of Argo; how many were there before the run had
    ended."""
    kube, namespace = pipeline.access.api, pipeline.access.namespace
    victim = chance.choice(("greet-work", *_AGENTS, "workflow-controller"))
    wait = chance.uniform(0, _NEAR_SECONDS)

    def found() -> list[dict[str, Any]] | str:
        ended = "ended" if _state(pipeline, commit) in ("finished", "failed") else ""
        pods = [one for one in kube.items("/api/v1/pods") if victim in one["metadata"]["name"]]
        mine = [one for one in pods if victim not in _AGENTS or one["metadata"]["namespace"] == namespace]
        return ended or [one for one in mine if one["status"]["phase"] in ("Pending", "Running")]

    pods = eventually(found, PATIENT_SECONDS, about=lambda: f"{victim}: {_run(pipeline, commit)}")
    if isinstance(pods, str):
        return 0
    time.sleep(wait)
    about = chance.choice(sorted(pods, key=lambda one: str(one["metadata"]["name"])))["metadata"]
    kube.delete(f"/api/v1/namespaces/{about['namespace']}/pods/{about['name']}", gracePeriodSeconds="0")
    return 1


def _run(pipeline: Pipelines, commit: str) -> dict[str, Any] | None:
    return next((one for one in pipeline.runs("hello") if commit in begun_on(one)), None)


def _state(pipeline: Pipelines, commit: str) -> str:
    run = _run(pipeline, commit)
    return state_of(run) if run else ""
