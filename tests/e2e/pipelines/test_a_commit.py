"""The path of a pipeline: a commit starts a run, whose parts a queue admits, and the next run does only what is new."""

from __future__ import annotations

from datetime import UTC, datetime

from tensorplane.cli.commands.runs.ask import Asker
from tensorplane.cli.pipelines.listing import Run
from tensorplane.components.base.labels import QUEUE_LABEL
from tests.e2e.pipelines.deployed import Pipelines, begun_on, stages_of
from tests.support import admitted
from tests.support.waiting import eventually


def test_each_commit_has_one_run_which_works_only_on_what_is_new(of_dev: Pipelines) -> None:
    commit = of_dev.put("texts", a="one two two", b="two three")
    first = of_dev.run_on("words", commit)
    assert stages_of(first) == [("upper", "finished", 2, 2, 0, 0), ("count", "finished", 1, 1, 0, 0)], first
    assert of_dev.get("counts") == {"counts.txt": "TWO 3\n"}
    assert "has finished already" in of_dev.start("words")

    made = of_dev.newest("counts")["provenance"]
    assert (made["pipeline"], made["stage"], made["run"]) == ("words", "count", first.name)
    assert made["params"] == {"LEAST": "2"}
    source = of_dev.newest("upper")
    assert made["inputs"] == [
        {"name": "texts", "dataset": "upper", "version": source["version"], "commit": source["id"]}
    ]
    nodes = [node["metadata"]["name"] for node in of_dev.access.api.items("/api/v1/nodes")]
    machines = source["provenance"]["machines"]
    assert [(each["node"], each["parts"]) for each in machines] == [(nodes[0], 2)], machines

    other = of_dev.put("texts", a="one two two", b="two four")
    second = of_dev.run_on("words", other)
    assert stages_of(second) == [("upper", "finished", 2, 1, 1, 0), ("count", "finished", 1, 1, 0, 0)], second
    assert of_dev.get("upper") == {"a.txt": "ONE TWO TWO", "b.txt": "TWO FOUR"}
    assert sorted(map(sorted, map(begun_on, of_dev.runs("words")))) == sorted([[commit], [other]])
    _check_description(of_dev, second)
    _admitted(of_dev)


def _check_description(pipeline: Pipelines, run: Run) -> None:
    """What `tensorplane runs words` says is what Argo's Workflow says, of templates that are stored in it."""
    found = Asker(pipeline.access).details("words", datetime.now(UTC))
    upper, count = found.stages
    assert (found.run.name, found.eta_seconds) == (run.name, 0)
    assert upper.skipped == ["1 of 2 parts: same program, params and input as in an earlier run"]
    assert (upper.about.command[0], upper.about.output, count.about.after) == ("sh", "upper", ("upper",))
    assert count.about.inputs["texts"].commit == upper.run.commit == pipeline.newest("upper")["id"]
    assert [one.cost.missing for one in found.stages] == [
        "the stack declares no node group with prices that its pods run on"
    ] * 2
    last = pipeline.logs("words/count", follows=True)[-1]
    assert last == f"{run.name}/count: finished; commit {count.run.commit[:12]}"


def _admitted(pipeline: Pipelines) -> None:
    """Kueue has admitted the pods of the stage with a queue, and only these."""
    api, namespace = pipeline.access.api, pipeline.access.namespace
    found = api.items(f"/api/v1/namespaces/{namespace}/pods", labelSelector="workflows.argoproj.io/workflow")
    pods = {pod["metadata"]["uid"]: pod["metadata"] for pod in found if pod["metadata"]["name"].startswith("words-")}
    queued = {uid for uid, about in pods.items() if QUEUE_LABEL in about["labels"]}
    assert queued == {uid for uid, about in pods.items() if "-upper-work-" in about["name"]}
    assert len(queued) == 3, "two parts, and the one that is new"

    def works() -> list[bool]:
        owned = admitted.by_owner(api, namespace)
        return [admitted.was_admitted(owned[uid]) for uid in pods if uid in owned]

    eventually(lambda: works() == [True] * len(queued), about=works)
    assert {*pods} & {*admitted.by_owner(api, namespace)} == queued, "pods without the label are nobody's"
