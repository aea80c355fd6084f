"""Trials that are held until a test lets them go, so that a sweep cannot end before; and who sees all their JobSets."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import urllib3
from kubernetes import client, config, watch

from tests.support import sweep_world
from tests.support.waiting import PATIENT_SECONDS, eventually

PARALLEL = 3
SCRIPT = f"""
import math, os, time
rate, layers, run = float(os.environ["RATE"]), int(os.environ["LAYERS"]), os.environ["TENSORPLANE_RUN"]
for step in range(1, {sweep_world.STEPS + 1}):
    loss = abs(math.log10(rate) + 2.5) * (1 - 1 / step) + layers / step
    print(f"tensorplane: step={{step}} loss={{loss:.6f}} steps_per_second=1.0", flush=True)
    while step == 1 and not os.path.exists(f"{{run}}.go"):
        time.sleep(0.05)
    if int(run[-4:]) % 7 == {sweep_world.FAILS} and step == 2:
        raise SystemExit(1)
from tensorplane.publish import publish
publish(lambda folder: folder.mkdir())
"""
"""A trial of `sweep_world` that trains its first step, and the others once its file `RUN.go` is there."""
TRIAL = {"command": ["python3", "-c", SCRIPT], "resources": {"cpus": 0.1, "memoryGib": 0.25}, "maxRestarts": 0}


def let_go(runs: Path, sweep: str, number: int) -> None:
    """Ends the hold of a trial. `runs`: the folder of the sweep's checkpoints, which its first trial makes."""
    eventually(runs.is_dir)
    (runs / f"{trial(sweep, number)}.go").touch()


def trial(sweep: str, number: int) -> str:
    return f"{sweep}-t{number:04}"


def decided(results: dict[str, Any]) -> list[dict[str, Any]]:
    """What does not depend on when things happened."""
    return [
        {key: row[key] for key in ("trial", "state", "parameters", "best", "bestStep")} for row in results["trials"]
    ]


def undisturbed(folder: Path, **search: Any) -> list[dict[str, Any]]:
    """What the same sweep decides whose controller nobody kills."""
    results, _, _ = sweep_world.finish(sweep_world.sweep(folder, **search), folder, timing=1, kill_chance=0)
    return decided(results)


@dataclass
class ObservedSweep:
    """The JobSets of one sweep's trials."""

    sweep: str
    created: Counter[str] = field(default_factory=Counter)
    admitted: set[str] = field(default_factory=set)
    most_admitted: int = 0
    _uids: set[str] = field(default_factory=set)

    def assert_once(self, trials: int) -> None:
        """Each trial was created once."""
        wanted = {trial(self.sweep, number): 1 for number in range(trials)}
        # The results may be there before the last events.
        eventually(lambda: self.created.keys() >= wanted.keys(), about=lambda: self.created)
        assert self.created == wanted

    def take(self, change: str, job_set: dict[str, Any]) -> None:
        """One revision of a JobSet."""
        name, uid = job_set["metadata"]["name"], job_set["metadata"]["uid"]
        if not name.startswith(f"{self.sweep}-t"):
            return
        self.created[name] += uid not in self._uids
        self._uids.add(uid)
        conditions = job_set.get("status", {}).get("conditions", ())
        ended = any(each["type"] in ("Completed", "Failed") and each["status"] == "True" for each in conditions)
        # Kueue takes the quota of a job that is being deleted back at once.
        gone = change == "DELETED" or "deletionTimestamp" in job_set["metadata"]
        holds = not job_set["spec"].get("suspend") and not ended and not gone
        (self.admitted.add if holds else self.admitted.discard)(name)
        self.most_admitted = max(self.most_admitted, len(self.admitted))


@contextmanager
def observed(kubeconfig: Path, namespace: str, sweep: str) -> Iterator[ObservedSweep]:
    """Follows the JobSets of a namespace, those that there are and all that come."""
    found, over = ObservedSweep(sweep), threading.Event()
    api = client.CustomObjectsApi(config.new_client_from_config(str(kubeconfig)))
    threading.Thread(target=_follow, args=(api, namespace, found, over), daemon=True).start()
    try:
        yield found
    finally:
        over.set()


def _follow(api: client.CustomObjectsApi, namespace: str, found: ObservedSweep, over: threading.Event) -> None:
    watched = api.list_namespaced_custom_object, "jobset.x-k8s.io", "v1alpha2", namespace, "jobsets"
    while not over.is_set():
        # Each watch begins with those that are there.
        found.admitted.clear()
        try:
            for event in watch.Watch().stream(*watched, resource_version="0", timeout_seconds=int(PATIENT_SECONDS)):
                found.take(event["type"], event["object"])
                if over.is_set():
                    return
        except (client.ApiException, urllib3.exceptions.HTTPError):
            continue
