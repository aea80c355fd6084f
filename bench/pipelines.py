"""A pipeline with a trigger: how long after a commit its first program runs, and what each further stage adds."""

from __future__ import annotations

import itertools
import json
import statistics
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import stack
from bench import instance, waiting
from bench.figure import Figure, Measured
from cli.commands.data import remote
from cli.commands.data.remote import Question
from components.base import names
from components.base.settings import Settings
from driver.kube import Kube
from embedded import cluster, images, toolchain
from embedded.step import Step
from stack import ResolvedStack
from workloads.manifests import pipeline_run

_ROUNDS = 5
_NAMESPACE, _PIPELINE = "tensorplane-dev", "chain"
_STAGES = ("first", "second", "third")
_PATIENT_SECONDS = 180.0
_PAUSE_SECONDS = 3.0
_MARK = "program ran:"
_PROGRAM = f"""
import pathlib, time
began = time.time()
for path in pathlib.Path("/in/numbers").iterdir():
    pathlib.Path("/out", path.name).write_bytes(path.read_bytes())
print("{_MARK}", began, time.time(), flush=True)
"""


def _stage(source: str, output: str) -> dict[str, Any]:
    return {
        "command": ["python3", "-c", _PROGRAM],
        "inputs": {"numbers": source},
        "output": output,
        "resources": {"cpus": 0.1, "memoryGib": 0.125},
    }


_SETTINGS: dict[str, Any] = {
    "volumes": {"work": {"sizeGib": 1, "accessModes": ["ReadWriteMany"], "retain": False}},
    "datasets": {name: {"volume": "work"} for name in ("numbers", *_STAGES)},
    "workloads": {
        _PIPELINE: {
            "kind": "pipeline",
            "triggers": {"new": {}},
            "stages": {name: _stage(source, name) for source, name in itertools.pairwise(("numbers", *_STAGES))},
        }
    },
}


@dataclass(frozen=True)
class Round:
    """One run, in seconds since 1970."""

    committed: float
    ran: tuple[tuple[float, float], ...]
    """When the program of each stage began and ended."""

    @property
    def to_first_line(self) -> float:
        """Seconds between the commit and the first stage's program."""
        return self.ran[0][0] - self.committed

    @property
    def overheads(self) -> list[float]:
        """Seconds between the programs of two stages."""
        return [after[0] - before[1] for before, after in itertools.pairwise(self.ran)]


def ran(log: str) -> tuple[float, float]:
    """When a program began and ended, as its log says."""
    (line,) = [line for line in log.splitlines() if line.startswith(_MARK)]
    began, ended = line.removeprefix(_MARK).split()
    return float(began), float(ended)


@cache
def _rounds() -> list[Round]:
    """The runs of both figures."""
    step, argo = Step("Argo Workflows"), ("argo-workflows",)
    for task in (*toolchain.tasks(cluster=True, pulumi=False, controllers=argo), *images.tasks(controllers=argo)):
        if task.name.removeprefix("image ") in argo:
            task.run(step)
    settings = json.dumps({"config": {f"tensorplane:{key}": value for key, value in _SETTINGS.items()}})
    with instance.running() as bench, tempfile.TemporaryDirectory(prefix="bench-pipelines-") as folder:
        cluster.load_images(instance.BENCH, step, controllers=argo)
        bench.deploy_with(settings, Path(folder))
        resolved = stack.load(Settings({**_SETTINGS, "namespace": _NAMESPACE}))
        instance.settle(_PAUSE_SECONDS)
        # The first one fills caches.
        return [_round(bench.kube, resolved, number) for number in range(_ROUNDS + 1)][1:]


def _round(kube: Kube, resolved: ResolvedStack, number: int) -> Round:
    commit = _commit(kube, resolved, number)
    waiting.until(
        lambda: _phase(kube, commit["id"]) == "Succeeded",
        _PATIENT_SECONDS,
        lambda: f"run of commit {commit['id'][:12]}: {_phase(kube, commit['id']) or 'not started'}",
    )
    return Round(commit["time"], tuple(_of_stage(kube, commit["id"], stage) for stage in _STAGES))


def _commit(kube: Kube, resolved: ResolvedStack, number: int) -> Mapping[str, Any]:
    """A new version, as it is committed on the volume."""
    question = Question("numbers", "", "dev", "", "default")
    with remote.running(kube, resolved, question, resolved.config.datasets["numbers"], read_only=False) as dataset:
        content = f"{number}".encode()
        file = [names.digest(content, 64), len(content), False]
        program = dataset.start("put", {"files": {"number.txt": file}, "sent": ["number.txt"]})
        program.write(content)
        found: dict[str, Any] = remote.answer(program)
    return found


def _workflow(kube: Kube, commit: str) -> dict[str, Any] | None:
    path = pipeline_run.path(pipeline_run.WORKFLOWS, _NAMESPACE)
    for one in kube.items(path):
        if any(each["value"] == commit for each in one["spec"]["arguments"]["parameters"]):
            return one
    return None


def _phase(kube: Kube, commit: str) -> str:
    found = _workflow(kube, commit)
    return str((found or {}).get("status", {}).get("phase", ""))


def _of_stage(kube: Kube, commit: str, stage: str) -> tuple[float, float]:
    run = (_workflow(kube, commit) or {})["metadata"]["name"]
    at = f"/api/v1/namespaces/{_NAMESPACE}/pods"
    pods = kube.items(at, labelSelector=f"workflows.argoproj.io/workflow={run}")
    (pod,) = [pod for pod in pods if f"-{stage}-work-" in pod["metadata"]["name"]]
    return ran(kube.text(f"{at}/{pod['metadata']['name']}/log", container="main"))


def _to_first_line() -> Measured:
    found = [one.to_first_line for one in _rounds()]
    return Measured(statistics.median(found), f"{len(found)} commits, {min(found):.1f} to {max(found):.1f} s")


def _overhead() -> Measured:
    found = [each for one in _rounds() for each in one.overheads]
    return Measured(statistics.median(found), f"between {len(found)} stages, {min(found):.1f} to {max(found):.1f} s")


FIGURES = (
    Figure("trigger-to-first-line", "<= 5", "s", _to_first_line),
    Figure("stage-overhead", "<= 3", "s", _overhead),
)
