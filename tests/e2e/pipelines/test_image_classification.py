"""The example that classifies images, from scans to answers: what is new is prepared, trained on, gated and served."""

from __future__ import annotations

import json
import runpy
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from cli.commands.cp import query as cp
from cli.commands.lineage import graph, named
from cli.commands.lineage.graph import Graph
from cli.commands.lineage.volumes import Pods
from cli.commands.logs.pods import Choice
from cli.pipelines.listed import Run
from cli.serving import server as model_servers
from components import versions
from components.base.labels import QUEUE_LABEL
from embedded.paths import PROJECT
from tests.e2e.pipelines.deployed import Pipelines, counts
from tests.support.waiting import eventually

_JOB_SETS = "/apis/jobset.x-k8s.io/v1alpha2/namespaces/{}/jobsets"


@dataclass(frozen=True)
class Example:
    """The example, deployed, and all sheets and labels that there are."""

    pipelines: Pipelines
    drawn: Path

    def commit(self, sheets: int, labels: int, *, wrong: int = 0) -> Run:
        """Commit so many sheets, and labels of so many of them, the last ones wrong; the run that follows by itself."""
        right = [(self.drawn / "labels" / f"sheet-{number}.txt").read_text() for number in range(1, labels + 1)]
        texts = [*right[: labels - wrong], *map(_mistaken, right[labels - wrong :])]
        source = self.pipelines.new_folder()
        source.mkdir()
        for number in range(1, sheets + 1):
            shutil.copy(self.drawn / "sheets" / f"sheet-{number}.pgm", source)
        # Both are there before the trigger has been quiet for as long as it waits.
        commits = self.pipelines.commit("sheets", source), self.pipelines.put("labels", **_named(texts))
        return self.pipelines.run_on("classify", *commits)

    def accuracy(self) -> dict[str, float]:
        """The share of right answers for each sheet."""
        answers = self.pipelines.get("answers")
        right = {name: (self.drawn / "labels" / name).read_text().split() for name in answers}
        return {
            name: sum(map(str.__eq__, answer.split(), right[name])) / len(right[name])
            for name, answer in answers.items()
        }

    def live(self) -> int:
        """The version that the last stage which published has seen served."""
        version: int = json.loads(self.pipelines.get("live")["served.json"])["version"]
        return version

    def served(self) -> dict[int, str]:
        """The states of the versions that the server knows."""
        ((server, model),) = model_servers.chosen(self.pipelines.access, "classifier")
        return {int(one["version"]): one["state"] for one in server.ask(model)["model_version_status"]}

    def decisions(self) -> list[dict[str, Any]]:
        """Those of the server's rollouts."""
        path = f"/api/v1/namespaces/{self.pipelines.access.namespace}/configmaps/classifier-rollout"
        found = self.pipelines.access.api.get(path) or {}
        return list(json.loads((found.get("data") or {}).get("rollout.json") or "{}").get("decisions", []))

    def lineages(self, *targets: str) -> list[Graph]:
        """What versions come from."""
        resolved = self.pipelines.resolved
        with Pods(self.pipelines.access.api, resolved, "default") as pods:
            return [graph.of(named.target(target, resolved), resolved, pods) for target in targets]


def _mistaken(labels: str) -> str:
    """Labels of which each names the next digit."""
    return labels.translate(str.maketrans("0123456789", "1234567890"))


def _named(labels: list[str]) -> dict[str, str]:
    return {f"sheet-{number}": text for number, text in enumerate(labels, 1)}


@pytest.fixture(scope="module")
def example(pipeline: Pipelines, tmp_path_factory: pytest.TempPathFactory) -> Example:
    """The example with its first model, which three sheets and labels of two have made."""
    drawn = tmp_path_factory.mktemp("drawn")
    runpy.run_path(str(PROJECT / "examples" / "image-classification" / "sheets.py"))["main"](drawn)
    held_out = cp.Question(str(drawn / "held-out.jsonl"), "data:held-out/digits.jsonl", "dev")
    cp.copy(pipeline.access.api, pipeline.resolved, held_out, Console(quiet=True))
    made = Example(pipeline, drawn)
    run = made.commit(sheets=3, labels=2)
    first = _finished(prepare=(2, 2, 0), train=(1, 1, 0), export=(1, 1, 0), serve=(1, 1, 0), infer=(3, 3, 0))
    assert counts(run) == first, run
    return made


def _finished(**stages: tuple[int, int, int]) -> list[tuple[str, str, int | None, int, int, int]]:
    """`counts` of stages that have finished: parts, done, skipped."""
    return [(stage, "finished", *found, 0) for stage, found in stages.items()]


@pytest.mark.nightly  # half a run more; unit tests have what is said of a stage that failed
def test_a_model_that_learned_wrong_labels_is_refused_and_the_server_keeps_the_former(example: Example) -> None:
    before = example.live()
    run = example.commit(sheets=3, labels=3, wrong=1)
    assert counts(run) == [*_finished(prepare=(3, 1, 2), train=(1, 1, 0)), ("export", "failed", 1, 0, 0, 1)], run
    why = f"{run.name}/export: export: 1 of 1 parts failed"
    listed = example.pipelines.listed("classify")
    assert any(line.startswith(why) for line in listed), listed
    lines = example.pipelines.logs("classify/export")
    assert lines[0].startswith(why), lines
    (refused,) = [line for line in lines if line.startswith("part-0 │ accuracy ")]
    assert refused.endswith("; at least 0.9 is required")

    assert example.served() == {before: "AVAILABLE"}
    assert example.live() == before
    assert all(one["version"] <= before for one in example.decisions())


def test_new_images_are_prepared_trained_on_gated_served_and_answered(example: Example) -> None:
    before = example.live()
    # The third sheet has no labels: what is on it, only the model says.
    assert {name: share > 0.8 for name, share in example.accuracy().items()} == {
        f"sheet-{number}.txt": True for number in (1, 2, 3)
    }
    run = example.commit(sheets=4, labels=3)
    again = _finished(prepare=(3, 1, 2), train=(1, 1, 0), export=(1, 1, 0), serve=(1, 1, 0), infer=(4, 4, 0))
    assert counts(run) == again, run
    assert example.live() == before + 1
    (promoted,) = [one for one in example.decisions() if (one["action"], one["version"]) == ("Promoted", before + 1)]
    assert promoted["measured"]["accuracy"] > 0.8
    _admitted(example, run)
    _logged(example)
    _leads_back(example)


def _admitted(example: Example, run: Run) -> None:
    """Kueue has admitted the stage that trains, as a gang of two workers."""
    namespace = example.pipelines.access.namespace
    api = example.pipelines.access.api
    (job,) = [one for one in api.items(_JOB_SETS.format(namespace)) if run.name in _owners(one, "name")]
    assert job["metadata"]["labels"][QUEUE_LABEL] == "training"

    def work() -> dict[str, Any]:
        works = api.items(f"/apis/{versions.KUEUE_API}/namespaces/{namespace}/workloads")
        (found,) = [one for one in works if job["metadata"]["uid"] in _owners(one, "uid")]
        return found

    assert [one["count"] for one in work()["spec"]["podSets"]] == [2]
    eventually(lambda: {"Admitted", "Finished"} <= {one["type"] for one in work()["status"]["conditions"]})


def _owners(of: dict[str, Any], key: str) -> set[str]:
    return {one[key] for one in of["metadata"].get("ownerReferences", ())}


def _logged(example: Example) -> None:
    """The lines of a stage that is a job are those of its workers, beside those of the steps around it."""
    lines = example.pipelines.logs("classify/train")
    order = list(dict.fromkeys(line.partition("│")[0].strip() for line in lines))
    assert order == ["plan", "worker-0", "worker-1", "keep-0", "commit"], lines
    (chief,) = [line for line in lines if line.startswith("worker-0 │ ") and " percent=100.0 " in line]
    of_chief = example.pipelines.logs("classify/train", Choice(role="worker", index=0))
    assert chief.removeprefix("worker-0 │ ") in of_chief
    assert not any("tensorplane: stage=" in line for line in of_chief)


def _leads_back(example: Example) -> None:
    """From an answer, and from what the server serves, to the sheets and the labels."""
    answers, served = example.lineages("answers", f"classifier@{example.live()}")
    by_name = {node.name: node for node in answers}
    assert {*by_name} == {"answers", "sheets", "live", "model", "weights", "prepared", "labels"}
    for name in ("sheets", "labels"):
        assert by_name[name].version == example.pipelines.newest(name)["version"]
        assert not by_name[name].record and by_name[name].commit["author"] == "ann"
    assert {node.name for node in served} == {"classifier", "sheets", "model", "weights", "prepared", "labels"}
    assert {node.version for node in served if node.name == "model"} == {by_name["model"].version}
