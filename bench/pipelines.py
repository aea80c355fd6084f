"""A pipeline with a trigger: how long after a commit its first program runs, what each further stage adds, and what a
run costs after one file of many has changed."""

from __future__ import annotations

import itertools
import json
import os
import statistics
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from bench import instance, waiting
from bench.figure import Figure, Measured
from tensorplane import images, stack, toolchain
from tensorplane.cli.commands.data import remote
from tensorplane.cli.commands.data.remote import DatasetOptions
from tensorplane.cli.pipelines.workflow import nodes, step_of
from tensorplane.components.base import names
from tensorplane.components.base.settings import Settings
from tensorplane.core.kube import Kube
from tensorplane.core.step import Step
from tensorplane.embedded import cluster
from tensorplane.stack import ResolvedStack
from tensorplane.workloads.pipeline import run as pipeline_run

_ROUNDS = 5
_NAMESPACE, _PIPELINE = "tensorplane-dev", "chain"
_STAGES = ("first", "second", "third")
_PATIENT_SECONDS = 180.0
_PAUSE_SECONDS = 3.0
_LOG_PREFIX = "program ran:"
_FILES, _FOLDERS, _BYTES, _BATCH = 10_000, 100, 10_000, 25
"""With batches of 25 files, the first run has 400 parts. A run may have 1,000, but on one node pods start the later the
more of ended ones there are."""
_COPY = "copy"
_RERUNS = 3
_LONG_SECONDS = 3600.0
_PROGRAM = f"""
import pathlib, time
began = time.time()
for path in pathlib.Path("/in/numbers").iterdir():
    pathlib.Path("/out", path.name).write_bytes(path.read_bytes())
print("{_LOG_PREFIX}", began, time.time(), flush=True)
"""


def _stage(source: str, output: str) -> dict[str, Any]:
    return {
        "command": ["python3", "-c", _PROGRAM],
        "inputs": {"numbers": source},
        "output": output,
        "resources": {"cpus": 0.1, "memoryGib": 0.125},
    }


def _settings(datasets: Iterable[str], stages: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "volumes": {"work": {"sizeGib": 2, "accessModes": ["ReadWriteMany"], "retain": False}},
        "datasets": {name: {"volume": "work"} for name in datasets},
        "workloads": {_PIPELINE: {"kind": "pipeline", "triggers": {"new": {}}, "stages": dict(stages)}},
    }


_CHAIN = _settings(
    ("numbers", *_STAGES), {name: _stage(source, name) for source, name in itertools.pairwise(("numbers", *_STAGES))}
)
_MANY = _settings(
    ("numbers", "made"),
    {
        _COPY: {
            **_stage("numbers", "made"),
            "inputs": {"numbers": {"dataset": "numbers", "split": {"batch": _BATCH}}},
            "command": ["sh", "-c", "cp -r /in/numbers/. /out"],
            "parallel": 16,
        }
    },
)


@dataclass(frozen=True)
class Deployed:
    """A pipeline on a cluster of its own."""

    kube: Kube
    resolved: ResolvedStack

    def commit(self, files: Mapping[str, bytes], changed: Mapping[str, bytes] | None = None) -> dict[str, Any]:
        """A version with these files, as it is committed on the volume. `changed`: those that are sent, or all."""
        options = DatasetOptions("numbers", "", "dev", "", "default")
        sent = files if changed is None else changed
        about = {path: [names.digest(content, 64), len(content), False] for path, content in files.items()}
        args = self.resolved.config.datasets["numbers"]
        with remote.running(self.kube, self.resolved, options, args, read_only=False) as dataset:
            program = dataset.start("put", {"files": about, "sent": list(sent)})
            for content in sent.values():
                program.write(content)
            found: dict[str, Any] = remote.answer(program)
        return found

    def finished(self, commit: str, seconds: float) -> dict[str, Any]:
        """The run that begins with a commit, once it has finished."""

        def phase() -> str:
            return str((self.run(commit) or {}).get("status", {}).get("phase", ""))

        waiting.until(
            lambda: phase() == "Succeeded", seconds, lambda: f"run of commit {commit[:12]}: {phase() or 'not started'}"
        )
        return self.run(commit) or {}

    def made(self, commit: str, stage: str, seconds: float) -> None:
        """Waits until the run that begins with a commit has committed what a stage makes."""

        def is_made() -> bool:
            steps = nodes(self.run(commit) or {}).values()
            return any(step_of(one, stage) == "commit" and one["phase"] == "Succeeded" for one in steps)

        waiting.until(is_made, seconds, lambda: f"run of commit {commit[:12]}: {stage} is not committed")

    def run(self, commit: str) -> dict[str, Any] | None:
        """The run that begins with a commit, if there is one."""
        for one in self.kube.items(pipeline_run.path(pipeline_run.WORKFLOWS, _NAMESPACE)):
            if any(each["value"] == commit for each in one["spec"]["arguments"]["parameters"]):
                return one
        return None


@contextmanager
def _deployed(settings: dict[str, Any]) -> Iterator[Deployed]:
    """The pipeline of these settings on a new cluster with Argo Workflows."""
    step, argo = Step("Argo Workflows"), ("argo-workflows",)
    for task in (*toolchain.tasks(cluster=True, pulumi=False, controllers=argo), *images.tasks(controllers=argo)):
        if task.name.removeprefix("image ") in argo:
            task.run(step)
    config = json.dumps({"config": {f"tensorplane:{key}": value for key, value in settings.items()}})
    with instance.running() as bench, tempfile.TemporaryDirectory(prefix="bench-pipelines-") as folder:
        cluster.load_images(instance.BENCH, step, controllers=argo)
        bench.deploy_with(config, Path(folder))
        instance.settle(_PAUSE_SECONDS)
        yield Deployed(bench.kube, stack.load(Settings({**settings, "namespace": _NAMESPACE})))


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
    (line,) = [line for line in log.splitlines() if line.startswith(_LOG_PREFIX)]
    began, ended = line.removeprefix(_LOG_PREFIX).split()
    return float(began), float(ended)


@cache
def _rounds() -> list[Round]:
    """The runs of both figures."""
    with _deployed(_CHAIN) as chain:
        # The first one fills caches.
        return [_round(chain, number) for number in range(_ROUNDS + 1)][1:]


def _round(chain: Deployed, number: int) -> Round:
    commit = chain.commit({"number.txt": f"{number}".encode()})
    run = chain.finished(commit["id"], _PATIENT_SECONDS)
    return Round(commit["time"], tuple(_of_stage(chain.kube, run["metadata"]["name"], stage) for stage in _STAGES))


def _of_stage(kube: Kube, run: str, stage: str) -> tuple[float, float]:
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


def _rerun() -> Measured:
    """From one changed file to the version that is made of it: the median, in percent of the time for all files."""
    files = {f"{number % _FOLDERS:02}/{number}.bin": os.urandom(_BYTES) for number in range(_FILES)}
    with _deployed(_MANY) as many:
        first, taken = _seconds(many, files), []
        for number in range(_RERUNS):
            path = f"{number:02}/{number}.bin"
            changed = {path: os.urandom(_BYTES)}
            taken.append(_seconds(many, {**files, **changed}, changed))
            files |= changed
    one = statistics.median(taken)
    return Measured(one / first * 100, f"{one:.1f} s beside {first:.0f} s for {_FILES:,} files")


def _seconds(many: Deployed, files: Mapping[str, bytes], changed: Mapping[str, bytes] | None = None) -> float:
    began = time.monotonic()
    commit = many.commit(files, changed)["id"]
    many.made(commit, _COPY, _LONG_SECONDS)
    taken = time.monotonic() - began
    # The next run must not wait for this one.
    many.finished(commit, _PATIENT_SECONDS)
    return taken


FIGURES = (
    Figure("trigger-to-first-line", "<= 5", "s", _to_first_line),
    Figure("stage-overhead", "<= 3", "s", _overhead),
    Figure("pipeline-rerun", "<= 1", "%", _rerun),
)
