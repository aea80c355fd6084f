"""A sweep whose controller is killed: each trial once, never too many, the decisions of one that was not killed."""

from __future__ import annotations

import io
import json
import os
import random
import re
import threading
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from kubernetes import client, config, watch
from rich.console import Console

from cli.access import Access
from cli.commands.run.platform import Platform
from cli.commands.sweep import publish
from cli.commands.sweep import results as shown
from components.base.settings import Settings
from driver import linked_project
from driver.deploy import Stack
from embedded import cluster, images
from embedded.paths import PROJECT
from embedded.step import Step
from stack_file import sweep_packages
from tests.e2e.conftest import Deployed
from tests.support import sweep_world
from tests.support.waiting import PATIENT_SECONDS, eventually

_KILLS = int(os.environ.get("TENSORPLANE_KILLS", "4"))
_STEP_SECONDS = 0.2 + 0.12 * max(_KILLS - 4, 0)
"""More kills need longer trials to hit: each takes some seconds, until the next controller runs."""
_LEAST_KILLS = _KILLS - 1
"""Kills that must hit the sweep before its end."""
_PARALLEL, _TRIALS = 3, 12
_NAMESPACE, _NAME, _SERVER = "tensorplane-sweep", "search", "best"
SCRIPT = f"""
import math, os, time
rate, layers, number = float(os.environ["RATE"]), int(os.environ["LAYERS"]), int(os.environ["TENSORPLANE_RUN"][-4:])
for step in range(1, {sweep_world.STEPS + 1}):
    loss = abs(math.log10(rate) + 2.5) * (1 - 1 / step) + layers / step
    print(f"tensorplane: step={{step}} loss={{loss:.6f}} steps_per_second=1.0", flush=True)
    if number % 7 == {sweep_world.FAILS} and step == 2:
        raise SystemExit(1)
    time.sleep({_STEP_SECONDS})
from tensorplane.publish import publish
publish(lambda folder: folder.mkdir())
"""


def _settings(search: dict[str, Any]) -> dict[str, Any]:
    settings = {
        "namespace": _NAMESPACE,
        "controllers": {"kueue": "present", "jobset": "present"},
        "queues": {"small": {"priority": "low", "cpus": 0.1 * _PARALLEL, "memoryGib": 2}},
        "volumes": {"work": {"sizeGib": 1, "accessModes": ["ReadWriteMany"], "retain": False}},
        "workloads": {
            _NAME: {
                "kind": "sweep",
                "search": search,
                "trial": {
                    "strategy": {"kind": "single"},
                    "command": ["python3", "-c", SCRIPT],
                    "resources": {"cpus": 0.1, "memoryGib": 0.25},
                    "volumes": {"work": "/work"},
                    "model": {"volume": "work", "path": "models"},
                    "checkpoints": {"volume": "work"},
                    "queue": "small",
                    "maxRestarts": 0,
                },
            },
            _SERVER: {
                "kind": "modelServer",
                "resources": {"cpus": 0.05, "memoryGib": 0.1},
                "model": {"volume": "work", "path": "served"},
            },
        },
    }
    return {"config": {f"tensorplane:{key}": value for key, value in settings.items()}}


@dataclass
class Seen:
    """Every revision of the trials' JobSets."""

    created: Counter[str] = field(default_factory=Counter)
    most_admitted: int = 0
    _uids: set[str] = field(default_factory=set)
    _admitted: set[str] = field(default_factory=set)

    def follow(self, api: client.CustomObjectsApi, stop: threading.Event, namespace: str = _NAMESPACE) -> None:
        """Take every event until told to stop."""
        watched = api.list_namespaced_custom_object, "jobset.x-k8s.io", "v1alpha2", namespace, "jobsets"
        while not stop.is_set():
            # Each watch begins with those that are there.
            self._admitted.clear()
            for event in watch.Watch().stream(*watched, resource_version="0", timeout_seconds=int(PATIENT_SECONDS)):
                self._take(event["type"], event["object"])
                if stop.is_set():
                    return

    def _take(self, change: str, job_set: dict[str, Any]) -> None:
        name = job_set["metadata"]["name"]
        self.created[name] += job_set["metadata"]["uid"] not in self._uids
        self._uids.add(job_set["metadata"]["uid"])
        conditions = job_set.get("status", {}).get("conditions", ())
        ended = any(each["type"] in ("Completed", "Failed") and each["status"] == "True" for each in conditions)
        # Kueue takes the quota of a job that is being deleted back at once.
        gone = change == "DELETED" or "deletionTimestamp" in job_set["metadata"]
        holds = not job_set["spec"].get("suspend") and not ended and not gone
        (self._admitted.add if holds else self._admitted.discard)(name)
        self.most_admitted = max(self.most_admitted, len(self._admitted))


@pytest.fixture
def stack(deployed: Deployed, tmp_path: Path) -> Iterator[Stack]:
    """The sweep's stack, before its first update."""
    step, lines = Step("sweep"), sweep_packages.lines(PROJECT)
    for task in images.tasks(packages=[lines]):
        if task.name.startswith("image packages"):
            task.run(step)
    cluster.load_images(deployed.instance, step, packages=[lines])
    search = {**sweep_world.sweep(tmp_path).search, "trials": _TRIALS, "parallel": _PARALLEL}
    named = replace(deployed.stack, settings=replace(deployed.stack.settings, name="sweep"))
    made = linked_project.with_settings(named, tmp_path, json.dumps(_settings(search)))
    made.prepare(Step("prepare"))
    try:
        yield made
    finally:
        made.destroy(Step("destroy"))


def test_a_killed_controller_neither_loses_nor_repeats_a_trial(
    deployed: Deployed, stack: Stack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    apis = config.new_client_from_config(str(deployed.instance.kubeconfig))
    seen, stop = Seen(), threading.Event()
    stack.up(Step("pulumi up"))
    watcher = threading.Thread(target=seen.follow, args=(client.CustomObjectsApi(apis), stop), daemon=True)
    watcher.start()
    core, chance = client.CoreV1Api(apis), random.Random(25)
    kills = 0
    while kills < _KILLS and not _finished(core):
        _kill(core, chance)
        kills += not _finished(core)
    assert kills >= _LEAST_KILLS
    print(f"killed {kills} times")
    results = eventually(lambda: _finished(core), about=lambda: _state(core))
    assert results
    stop.set()
    undisturbed, _, _ = sweep_world.finish(sweep_world.sweep(tmp_path), tmp_path, timing=1, kill_chance=0)
    assert decided(results) == decided(undisturbed)
    assert seen.created == {f"{results['run']}-t{number:04}": 1 for number in range(_TRIALS)}
    assert 1 < seen.most_admitted <= _PARALLEL
    console = Console(file=io.StringIO(), width=100, color_system=None)
    shown.run(Access(deployed.kube, _NAMESPACE), _NAME, console, as_json=False)
    assert isinstance(console.file, io.StringIO)
    assert f"{results['run']}: {_TRIALS} of {_TRIALS} trials" in console.file.getvalue()
    best = min((row for row in results["trials"] if row["state"] == "complete"), key=lambda row: row["best"])
    # The second time, the newest version of the server is the trial's already.
    told = [_published(deployed, monkeypatch) for _ in range(2)]
    for text in told:
        assert re.match(rf"{best['run']}: has finished; \S+ publishes its model to {_SERVER}\n", text), text
    assert ["tensorplane: published=/work/served/1" in text for text in told] == [True, True], told


def _published(deployed: Deployed, monkeypatch: pytest.MonkeyPatch) -> str:
    """What `tensorplane sweep search --publish best` prints."""
    tree = _settings(dict(sweep_world.sweep(Path()).search))["config"]
    settings = Settings({key.partition(":")[2]: value for key, value in tree.items()})
    monkeypatch.setattr(Platform, "of_stack", lambda stack: Platform(stack, settings))
    console = Console(file=io.StringIO(), width=200, color_system=None)
    publish.run(Access(deployed.kube, _NAMESPACE, stack="sweep"), _NAME, _SERVER, console)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def _kill(core: client.CoreV1Api, chance: random.Random) -> None:
    """Kill the running controller at a random moment."""
    [name] = eventually(lambda: [pod.metadata.name for pod in _pods(core) if pod.status.phase == "Running"]) or [""]
    time.sleep(chance.uniform(0, 4))
    core.delete_namespaced_pod(name, _NAMESPACE, grace_period_seconds=0)
    eventually(lambda: name not in [pod.metadata.name for pod in _pods(core)])


def _pods(core: client.CoreV1Api) -> list[Any]:
    found = core.list_namespaced_pod(_NAMESPACE, label_selector=f"app.kubernetes.io/name={_NAME}-controller")
    return list(found.items)


def _finished(core: client.CoreV1Api) -> dict[str, Any] | None:
    [found] = core.list_namespaced_config_map(
        _NAMESPACE, label_selector="app.kubernetes.io/component=sweep-results"
    ).items
    results: dict[str, Any] = json.loads((found.data or {}).get("results.json", "{}"))
    return results if results.get("finished") else None


def _state(core: client.CoreV1Api) -> str:
    logs = [core.read_namespaced_pod_log(pod.metadata.name, _NAMESPACE)[-3000:] for pod in _pods(core)]
    return "\n".join(logs)


def decided(results: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {key: row[key] for key in ("trial", "state", "parameters", "best", "bestStep")} for row in results["trials"]
    ]
