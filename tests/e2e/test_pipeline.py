"""A pipeline on the embedded cluster: parts in pods of a queue, one that fails, skipped work, provenance, kills.

`make test` kills a handful of pods; TENSORPLANE_KILLS is how many, and TENSORPLANE_SEED which and when.
"""

from __future__ import annotations

import io
import os
import random
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

import pytest
import yaml
from rich.console import Console

from cli import stack_config
from cli.access import Access
from cli.commands.data import remote, transfer
from cli.commands.data.remote import Question
from cli.commands.logs import query as logs
from cli.commands.logs.pods import Choice
from cli.commands.runs import start
from cli.commands.runs.ask import Asker
from cli.pipelines import listed
from cli.pipelines.listed import Run
from cli.pipelines.workflow import state_of
from components import versions
from components.base.labels import QUEUE_LABEL
from driver import linked_project
from driver.kube import Kube
from embedded.paths import PROJECT
from embedded.step import Step
from stack import ResolvedStack
from tests.e2e.conftest import Deployed
from tests.support import controllers
from tests.support.rendering import settings_of
from tests.support.waiting import PATIENT_SECONDS, eventually
from workloads.manifests import pipeline_run

_UPPER = """
grep -q poison /in/texts/* && exit 1
cd /in/texts
for text in *; do tr a-z A-Z < "$text" > "/out/$text"; done
"""
_SEED = os.environ.get("TENSORPLANE_SEED", "1")
_KILLS = int(os.environ.get("TENSORPLANE_KILLS", "4"))
_KILLS_PER_RUN = 2
"""Fewer than tries of a step of the library."""
_NEAR_SECONDS = 1.0
"""How long after a pod was seen it is killed, at most."""
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
            # Its folders are where an image made for another system expects them.
            "command": [
                "sh",
                "-c",
                'cd /pfs/names; for one in *; do echo "hello $(cat "$one")" > "/pfs/out/$one"; done',
            ],
            "inputs": {"names": {"dataset": "names", "split": "file", "path": "/pfs/names"}},
            "output": "greetings",
            "outputPath": "/pfs/out",
            "retries": 100,
            "resources": _RESOURCES,
        }
    },
}


@dataclass(frozen=True)
class Pipeline:
    """A deployed pipeline, and what its users do."""

    access: Access
    resolved: ResolvedStack
    folder: Path

    @property
    def _kube(self) -> Kube:
        return self.access.api

    def put(self, to: str = "texts", /, **texts: str) -> str:
        """Commit these texts and no others to a dataset; the commit."""
        source = self.folder / f"put-{len(list(self.folder.iterdir()))}"
        source.mkdir()
        for name, text in texts.items():
            (source / f"{name}.txt").write_text(text)
        about = {"branch": "main", "author": "ann", "message": "", "at": "", "add": False}
        question = Question(to, "", "dev", "", "default")
        with self._dataset(to, read_only=False) as dataset:
            transfer.commit(dataset, question, source, about, Console(quiet=True))
        return str(self.newest(to)["id"])

    def get(self, name: str) -> dict[str, str]:
        """The files of the newest version of a dataset."""
        target = self.folder / f"get-{len(list(self.folder.iterdir()))}"
        with self._dataset(name, read_only=True) as dataset:
            transfer.checkout(dataset, Question(name, "", "dev", "", "default"), target, Console(quiet=True))
        return {path.name: path.read_text() for path in target.iterdir()}

    def newest(self, name: str) -> dict[str, Any]:
        """The newest commit of a dataset."""
        newest: dict[str, Any] = self.log(name)[0]["commit"]
        return newest

    def log(self, name: str) -> list[dict[str, Any]]:
        """The commits of a dataset."""
        with self._dataset(name, read_only=True) as dataset:
            found: list[dict[str, Any]] = dataset.ask("log", {"limit": 10_000})
        return found

    def _dataset(self, name: str, *, read_only: bool) -> Any:
        question = Question(name, "", "dev", "", "default")
        args = remote.declared(self.resolved, name)
        return remote.running(self._kube, self.resolved, question, args, read_only=read_only)

    def start(self) -> str:
        """What a start on the newest versions says."""
        template = self._kube.get(pipeline_run.path(pipeline_run.TEMPLATES, self.access.namespace, "words"))
        assert template
        commits = start.newest(self.access, self.resolved, template, "default")
        return start.submit(self.access, pipeline_run.workflow(template, commits))

    def logs(self, stage: str, choice: Choice | None = None, *, follows: bool = False) -> list[str]:
        """What `tensorplane logs` prints."""
        console = Console(file=io.StringIO(), width=300)
        logs.run(self.access, stage, choice or Choice(), console, follows=follows)
        return cast(io.StringIO, console.file).getvalue().splitlines()

    def run(self) -> Run:
        """Start, and wait for the end."""
        name = self.start().partition(":")[0]
        path = pipeline_run.path(pipeline_run.WORKFLOWS, self.access.namespace, name)

        def now() -> Run:
            return listed.runs([self._kube.get(path) or {}], datetime.now(UTC))[0]

        eventually(lambda: now().state in ("finished", "failed"), PATIENT_SECONDS, about=now)
        return now()


@pytest.fixture(scope="module")
def pipeline(deployed: Deployed, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pipeline]:
    """The dev stack with a pipeline."""
    controllers.provide(deployed.instance, "argo-workflows")
    tree = settings_of(PROJECT / "Pulumi.dev.yaml").tree
    more = {
        "datasets": {name: {"volume": "models"} for name in _DATASETS},
        "workloads": {**tree["workloads"], "words": {"kind": "pipeline", "stages": _STAGES}, "hello": _GREET},
    }
    settings = yaml.safe_load((PROJECT / "Pulumi.dev.yaml").read_text())
    settings["config"] |= {f"tensorplane:{section}": content for section, content in more.items()}
    folder = tmp_path_factory.mktemp("pipeline")
    with_it = linked_project.with_settings(deployed.stack, folder, yaml.safe_dump(settings))
    with_it.prepare(Step("prepare"))
    with_it.up(Step("pulumi up"))
    resolved = stack_config.load(with_it.settings.source())
    access = Access(deployed.kube, deployed.outputs.namespace, stack="dev", declared=resolved.config.workloads)
    yield Pipeline(access, resolved, tmp_path_factory.mktemp("texts"))
    deployed.stack.up(Step("pulumi up"))


def _counts(run: Run) -> list[tuple[str, str, int | None, int, int, int]]:
    return [(one.stage, one.state, one.parts, one.done, one.skipped, one.failed) for one in run.stages]


def test_only_what_is_new_is_worked_on_and_a_part_that_fails_stops_no_other(pipeline: Pipeline) -> None:
    pipeline.put(a="one two two", b="two three", c="poison")
    failed = pipeline.run()
    assert failed.state == "failed"
    assert _counts(failed) == [("upper", "failed", 3, 2, 0, 1)]
    lines = pipeline.logs("words/upper")
    assert lines[0].startswith(f"{failed.name}/upper: upper: 1 of 3 parts failed ('c.txt'), and mayFail is 0")
    assert lines[1].endswith(": exit code 1")
    assert any(line.startswith("plan   │ tensorplane: stage=upper parts=3") for line in lines)
    kept = [line for line in lines if "tensorplane: stage=upper item=" in line]
    assert len(kept) == 2, lines
    assert pipeline.logs("words/upper", Choice(index=int(kept[0][5]), role="part")) == [kept[0].partition("│ ")[2]]

    pipeline.put(a="one two two", b="two three", c="cure")
    run = pipeline.run()
    assert _counts(run) == [("upper", "finished", 3, 1, 2, 0), ("count", "finished", 1, 1, 0, 0)], run
    assert pipeline.get("upper") == {"a.txt": "ONE TWO TWO", "b.txt": "TWO THREE", "c.txt": "CURE"}
    assert pipeline.get("counts") == {"counts.txt": "TWO 3\n"}
    assert "has finished already" in pipeline.start()
    _described(pipeline, run)

    made = pipeline.newest("counts")["provenance"]
    assert (made["pipeline"], made["stage"], made["run"]) == ("words", "count", run.name)
    assert made["params"] == {"LEAST": "2"}
    source = pipeline.newest("upper")
    assert made["inputs"] == [
        {"name": "texts", "dataset": "upper", "version": source["version"], "commit": source["id"]}
    ]

    pipeline.put(a="one two two", b="two three", d="four")
    third = pipeline.run()
    assert _counts(third) == [("upper", "finished", 3, 1, 2, 0), ("count", "finished", 1, 1, 0, 0)], third
    _admitted(pipeline)


def _described(pipeline: Pipeline, run: Run) -> None:
    """What `tensorplane runs words` says is what Argo's Workflow says, of templates that are stored in it."""
    found = Asker(pipeline.access).details("words", datetime.now(UTC))
    upper, count = found.stages
    assert (found.run.name, found.eta_seconds) == (run.name, 0)
    assert upper.skipped == ["2 of 3 parts: same program, params and input as in an earlier run"]
    assert (upper.about.command[0], upper.about.output, count.about.after) == ("sh", "upper", ("upper",))
    assert count.about.inputs["texts"].commit == upper.run.version == pipeline.newest("upper")["id"]
    assert [one.cost.missing for one in found.stages] == [
        "the stack declares no node group with prices that its pods run on"
    ] * 2
    assert (
        pipeline.logs("words/count", follows=True)[-1]
        == f"{run.name}/count: finished; version {count.run.version[:12]}"
    )


def _admitted(pipeline: Pipeline) -> None:
    """Kueue has admitted the pods of the stage with a queue, and only these."""
    namespace = pipeline.access.namespace
    pods = pipeline.access.api.items(f"/api/v1/namespaces/{namespace}/pods", labelSelector=QUEUE_LABEL)
    of_stage = {pod["metadata"]["uid"] for pod in pods if "-upper-work-" in pod["metadata"]["name"]}
    works = pipeline.access.api.items(f"/apis/{versions.KUEUE_API}/namespaces/{namespace}/workloads")
    owners = {owner["uid"] for one in works for owner in one["metadata"].get("ownerReferences", ())}
    assert len(of_stage) >= 3
    assert of_stage <= owners


def test_a_trigger_starts_one_run_for_each_version_although_its_agent_is_killed(pipeline: Pipeline) -> None:
    kube, namespace = pipeline.access.api, pipeline.access.namespace
    pods = f"/api/v1/namespaces/{namespace}/pods"
    runs = pipeline_run.path(pipeline_run.WORKFLOWS, namespace)

    def of_hello() -> list[dict[str, Any]]:
        return [one for one in kube.items(runs) if one["metadata"]["name"].startswith("hello-")]

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
        lambda: any(_begins_with(one, commits[-1]) and state_of(one) == "finished" for one in of_hello()),
        PATIENT_SECONDS,
        about=of_hello,
    )
    begun = [commit for commit in commits for one in of_hello() if _begins_with(one, commit)]
    assert sorted(begun) == sorted(set(begun))
    assert len(begun) == len(of_hello())
    assert pipeline.get("greetings") == {f"n{number}.txt": f"hello number {number}\n" for number in range(3)}
    events = kube.items(f"/api/v1/namespaces/{namespace}/events", fieldSelector="involvedObject.kind=WorkflowTemplate")
    assert "RunStarted" in {one["reason"] for one in events}


def _begins_with(run: dict[str, Any], commit: str) -> bool:
    return any(one["value"] == commit for one in run["spec"]["arguments"]["parameters"])


def test_pods_and_controllers_that_are_killed_leave_each_result_once(pipeline: Pipeline) -> None:
    chance = random.Random(f"pipeline {_SEED}")
    killed = number = 0
    while killed < _KILLS:
        killed += _killed_run(pipeline, chance, number, most=min(_KILLS_PER_RUN, _KILLS - killed))
        number += 1
    made = [one["commit"]["provenance"]["run"] for one in pipeline.log("greetings")]
    assert len(made) == len(set(made)), "one version for each run"


def _killed_run(pipeline: Pipeline, chance: random.Random, number: int, *, most: int) -> int:
    """A run, which a trigger starts, in spite of kills; how many there were."""
    texts = {f"k{place}": f"{place}" if place == number % 3 else f"{number}-{place}" for place in range(3)}
    commit = pipeline.put("names", **texts)
    killed = sum(_kill(pipeline, chance, commit) for _ in range(most))
    eventually(lambda: _state(pipeline, commit) == "finished", PATIENT_SECONDS, about=lambda: _run(pipeline, commit))
    assert pipeline.get("greetings") == {f"{name}.txt": f"hello {text}\n" for name, text in texts.items()}
    return killed


def _kill(pipeline: Pipeline, chance: random.Random, commit: str) -> int:
    """Kill a pod of a step of the run, of its triggers or of Argo; how many were there before the run had ended."""
    kube, namespace = pipeline.access.api, pipeline.access.namespace
    victim = chance.choice(("greet-plan", "greet-work", "greet-commit", "hello-triggers", "workflow-controller"))
    wait = chance.uniform(0, _NEAR_SECONDS)

    def found() -> list[dict[str, Any]] | str:
        ended = "ended" if _state(pipeline, commit) in ("finished", "failed") else ""
        pods = [one for one in kube.items("/api/v1/pods") if victim in one["metadata"]["name"]]
        mine = [one for one in pods if victim != "hello-triggers" or one["metadata"]["namespace"] == namespace]
        return ended or [one for one in mine if one["status"]["phase"] in ("Pending", "Running")]

    pods = eventually(found, PATIENT_SECONDS, about=lambda: f"{victim}: {_run(pipeline, commit)}")
    if isinstance(pods, str):
        return 0
    time.sleep(wait)
    about = chance.choice(sorted(pods, key=lambda one: str(one["metadata"]["name"])))["metadata"]
    kube.delete(f"/api/v1/namespaces/{about['namespace']}/pods/{about['name']}", gracePeriodSeconds="0")
    return 1


def _run(pipeline: Pipeline, commit: str) -> dict[str, Any] | None:
    runs = pipeline.access.api.items(pipeline_run.path(pipeline_run.WORKFLOWS, pipeline.access.namespace))
    return next((one for one in runs if _begins_with(one, commit)), None)


def _state(pipeline: Pipeline, commit: str) -> str:
    run = _run(pipeline, commit)
    return state_of(run) if run else ""
