"""The example that classifies images, from scans to answers: what is new is prepared, trained on, gated and served."""

from __future__ import annotations

import json
import runpy
import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from cli.commands.cp import query as cp
from cli.commands.lineage import graph, named
from cli.commands.lineage.graph import Graph
from cli.commands.lineage.volumes import Pods
from cli.pipelines.listed import Run
from components.base.labels import QUEUE_LABEL
from embedded.paths import PROJECT
from tests.e2e.conftest import Deployed
from tests.e2e.pipelines import Pipelines, counts, with_pipelines
from tests.support.rendering import settings_of
from tests.support.waiting import eventually

_SECTIONS = ("volumes", "datasets", "workloads")
_JOB_SETS = "/apis/jobset.x-k8s.io/v1alpha2/namespaces/{}/jobsets"


@dataclass(frozen=True)
class Example:
    """The example, deployed, and all sheets and labels that there are."""

    pipelines: Pipelines
    drawn: Path

    def commit(self, sheets: int, labels: int) -> Run:
        """Commit so many sheets, and labels of so many of them; the run that follows by itself."""
        with ThreadPoolExecutor() as pool:
            commits = pool.map(self._commit, ("sheets", "labels"), (sheets, labels))
        return self.pipelines.run_on("classify", *commits)

    def _commit(self, dataset: str, count: int) -> str:
        source = self.pipelines.new_folder()
        source.mkdir()
        for path in sorted((self.drawn / dataset).iterdir())[:count]:
            shutil.copy(path, source)
        return self.pipelines.commit(dataset, source)

    def accuracy(self) -> dict[str, float]:
        """The share of right answers for each sheet."""
        answers = self.pipelines.get("answers")
        right = {name: (self.drawn / "labels" / name).read_text().split() for name in answers}
        return {
            name: sum(map(str.__eq__, answer.split(), right[name])) / len(right[name])
            for name, answer in answers.items()
        }

    def decisions(self) -> list[dict[str, Any]]:
        """Those of the server's rollouts."""
        path = f"/api/v1/namespaces/{self.pipelines.access.namespace}/configmaps/classifier-rollout"
        found = self.pipelines.access.api.get(path) or {}
        return list(json.loads((found.get("data") or {}).get("rollout.json") or "{}").get("decisions", []))

    def lineage(self, target: str) -> Graph:
        """What a version comes from."""
        with Pods(self.pipelines.access.api, self.pipelines.resolved, "default") as pods:
            return graph.of(named.target(target, self.pipelines.resolved), self.pipelines.resolved, pods)


@pytest.fixture(scope="module")
def example(deployed: Deployed, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Example]:
    """The example beside the dev stack, whose queue it uses."""
    drawn = tmp_path_factory.mktemp("drawn")
    runpy.run_path(str(PROJECT / "examples" / "image-classification" / "sheets.py"))["main"](drawn)
    tree = settings_of(PROJECT / "examples" / "image-classification.yaml").tree
    more = {section: tree[section] for section in _SECTIONS}
    more["volumes"]["data"]["retain"] = False
    with with_pipelines(deployed, tmp_path_factory.mktemp("stack"), more) as pipelines:
        held_out = cp.Question(str(drawn / "held-out.jsonl"), "data:held-out/digits.jsonl", "dev")
        cp.copy(pipelines.access.api, pipelines.resolved, held_out, Console(quiet=True))
        yield Example(pipelines, drawn)


def _finished(**stages: tuple[int, int, int]) -> list[tuple[str, str, int | None, int, int, int]]:
    """`counts` of stages that have finished: parts, done, skipped."""
    return [(stage, "finished", *found, 0) for stage, found in stages.items()]


def test_new_images_are_prepared_trained_on_gated_served_and_answered(example: Example) -> None:
    run = example.commit(sheets=3, labels=2)
    first = _finished(prepare=(2, 2, 0), train=(1, 1, 0), export=(1, 1, 0), serve=(1, 1, 0), infer=(3, 3, 0))
    assert counts(run) == first, run
    assert json.loads(example.pipelines.get("live")["served.json"])["version"] == 1
    # The third sheet has no labels: what is on it, only the model says.
    assert {name: share > 0.8 for name, share in example.accuracy().items()} == {
        f"sheet-{number}.txt": True for number in (1, 2, 3)
    }
    _admitted(example)

    run = example.commit(sheets=4, labels=3)
    again = _finished(prepare=(3, 1, 2), train=(1, 1, 0), export=(1, 1, 0), serve=(1, 1, 0), infer=(4, 4, 0))
    assert counts(run) == again, run
    assert json.loads(example.pipelines.get("live")["served.json"])["version"] == 2
    (promoted,) = [one for one in example.decisions() if (one["action"], one["version"]) == ("Promoted", 2)]
    assert promoted["measured"]["accuracy"] > 0.8
    _leads_back(example)


def _admitted(example: Example) -> None:
    """Kueue has admitted the stage that trains, as a gang of two workers."""
    namespace = example.pipelines.access.namespace
    found = example.pipelines.access.api.items(_JOB_SETS.format(namespace))
    (job,) = [one for one in found if one["metadata"]["name"].startswith("classify-train-")]
    assert job["metadata"]["labels"][QUEUE_LABEL] == "training"
    works = example.pipelines.access.api.items(f"/apis/kueue.x-k8s.io/v1beta2/namespaces/{namespace}/workloads")
    (work,) = [
        one for one in works if job["metadata"]["uid"] in {each["uid"] for each in one["metadata"]["ownerReferences"]}
    ]
    assert [one["count"] for one in work["spec"]["podSets"]] == [2]
    eventually(lambda: {"Admitted", "Finished"} <= {one["type"] for one in work["status"]["conditions"]})


def _leads_back(example: Example) -> None:
    """From an answer, and from what the server serves, to the sheets and the labels."""
    answers = example.lineage("answers")
    by_name = {node.name: node for node in answers}
    assert {*by_name} == {"answers", "sheets", "live", "model", "weights", "prepared", "labels"}
    for name in ("sheets", "labels"):
        assert by_name[name].version == example.pipelines.newest(name)["version"]
        assert not by_name[name].record and by_name[name].commit["author"] == "ann"
    served = example.lineage("classifier@2")
    assert {node.name for node in served} == {"classifier", "sheets", "model", "weights", "prepared", "labels"}
    assert {node.version for node in served if node.name == "model"} == {by_name["model"].version}
