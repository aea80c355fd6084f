"""A pipeline on the embedded cluster: parts in pods of a queue, one that fails, skipped work, provenance."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from cli.pipelines.workflow import state_of
from components import versions
from components.base.labels import QUEUE_LABEL
from tests.e2e.conftest import Deployed
from tests.e2e.pipelines import Pipelines, begun_on, counts, with_pipelines
from tests.support.waiting import PATIENT_SECONDS, eventually

_UPPER = """
grep -q poison /in/texts/* && exit 1
cd /in/texts
for text in *; do tr a-z A-Z < "$text" > "/out/$text"; done
"""
_RESOURCES = {"cpus": 0.05, "memoryGib": 0.0625}
_STAGES = {
    # A program that is not in Python. It gives up on a poisonous text.
    "upper": {
        "command": ["sh", "-c", _UPPER],
        "inputs": {"texts": {"dataset": "texts", "split": "file"}},
        "output": "upper",
        "queue": "training",
        "retries": 0,
        "resources": _RESOURCES,
    },
    "count": {
        "command": ["python3", "count.py"],
        "files": {"count.py": "tests/e2e/programs/count_words.py"},
        "inputs": {"texts": "upper"},
        "output": "counts",
        "params": {"LEAST": 2},
        "resources": _RESOURCES,
    },
}
_DATASETS = ("texts", "upper", "counts", "names", "greetings")
_GREET = {
    "kind": "pipeline",
    "triggers": {"new": {}},
    "stages": {
        "greet": {
            "command": ["sh", "-c", 'cd /in/names; for name in *; do echo "hello $(cat "$name")" > "/out/$name"; done'],
            "inputs": {"names": {"dataset": "names", "split": "file"}},
            "output": "greetings",
            "resources": _RESOURCES,
        }
    },
}


@pytest.fixture(scope="module")
def pipeline(deployed: Deployed, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pipelines]:
    """The dev stack with two pipelines."""
    workloads = {"words": {"kind": "pipeline", "stages": _STAGES}, "hello": _GREET}
    more = {"datasets": {name: {"volume": "models"} for name in _DATASETS}, "workloads": workloads}
    with with_pipelines(deployed, tmp_path_factory.mktemp("pipeline"), more) as made:
        yield made


@pytest.mark.nightly  # in `make test`, the example of images has most of it
def test_only_what_is_new_is_worked_on_and_a_part_that_fails_stops_no_other(pipeline: Pipelines) -> None:
    pipeline.put("texts", a="one two two", b="two three", c="poison")
    failed = pipeline.run("words")
    assert failed.state == "failed"
    assert counts(failed) == [("upper", "failed", 3, 2, 0, 1)]

    pipeline.put("texts", a="one two two", b="two three", c="cure")
    run = pipeline.run("words")
    assert counts(run) == [("upper", "finished", 3, 1, 2, 0), ("count", "finished", 1, 1, 0, 0)], run
    assert pipeline.get("upper") == {"a.txt": "ONE TWO TWO", "b.txt": "TWO THREE", "c.txt": "CURE"}
    assert pipeline.get("counts") == {"counts.txt": "TWO 3\n"}
    assert "has finished already" in pipeline.start("words")

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
