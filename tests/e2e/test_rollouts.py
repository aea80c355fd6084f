"""Model servers under steady requests: versions that a canary tries and its gate decides on, swaps, evictions, kills.

No request fails but those that a bad version answers before its gate refuses it. TENSORPLANE_KILLS versions are
swapped and pods killed, and two fifths of it are promoted and rolled back, with the seed TENSORPLANE_SEED.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from cli.access import Access
from cli.commands.predict import query
from cli.commands.predict.query import Asked
from driver import canaries, linked_project
from driver.deploy import Stack
from embedded.cluster import processes
from embedded.cluster.places import Places
from embedded.fault import Fault
from embedded.step import Step
from tests.e2e.conftest import Deployed
from tests.e2e.small_jobs import SMALL, Running
from tests.support.evictions import Pods
from tests.support.serving_clients import Clients
from tests.support.waiting import eventually

_SWAPS = int(os.environ.get("TENSORPLANE_KILLS", "3"))
_ROUNDS = max(1, _SWAPS * 2 // 5)
_SEED = os.environ.get("TENSORPLANE_SEED", "1")
_NAMESPACE = "tensorplane-rollouts"
_INSIDE = f"/api/v1/namespaces/{_NAMESPACE}"
_ASKED = {"instances": [2.0]}
_PROGRAM = """
import json, os, tensorflow as tf

class Half(tf.Module):
    def __init__(self, n):
        self.n = tf.Variable(float(n))

    @tf.function(input_signature=[tf.TensorSpec([None], tf.float32, name="x")])
    def call(self, x):
        return {"y": x / 2 + self.n}

class Failing(Half):
    @tf.function(input_signature=[tf.TensorSpec([None], tf.float32, name="x")])
    def call(self, x):
        with tf.control_dependencies([tf.debugging.assert_less(x, 0.0)]):
            return {"y": x / 2 + self.n}

class Whole(tf.Module):
    @tf.function(input_signature=[tf.TensorSpec([None], tf.int32, name="x")])
    def call(self, x):
        return {"y": x}

os.makedirs("/models/drafts")
good = {f"good-{n}": Half(n) for n in range(COUNT)}
for name, model in {"failing": Failing(0), "signature": Whole(), **good}.items():
    tf.saved_model.save(model, f"/models/drafts/{name}", {"serving_default": model.call})
tf.saved_model.save(Half(1), "/models/half/1")
tf.saved_model.save(Half(1), "/models/plain/1")
with open("/models/held-out.jsonl", "w") as held_out:
    for x in range(8):
        print(json.dumps({"instance": float(x), "label": 0}), file=held_out)
"""
_GATE = [{"metric": "errorRate", "threshold": 0.05, "minRequests": 40}]


@dataclass
class Serving:
    """The deployed stack: a server with a canary, and one that serves the newest version."""

    deployed: Deployed
    stack: Stack
    folder: Path
    volume: Path
    """The folder of the volume with the models."""
    urls: dict[str, str]

    def up(self, **half: Any) -> None:
        """Deploy with these settings of the model with a canary."""
        self.stack = _up(self.stack, self.folder, half)

    def pods(self, server: str, *, canary: bool = False) -> list[dict[str, Any]]:
        track = "tensorplane.dev/track" + ("=canary" if canary else "!=canary")
        selector = f"app.kubernetes.io/name={server},{track}"
        found = self.deployed.kube.items(f"{_INSIDE}/pods", labelSelector=selector)
        return [each for each in found if "deletionTimestamp" not in each["metadata"]]

    def ready(self, server: str) -> list[dict[str, Any]]:
        return [pod for pod in self.pods(server) if _is_ready(pod)]

    def kept(self) -> dict[str, Any]:
        found = self.deployed.kube.get(f"{_INSIDE}/configmaps/half-rollout") or {}
        state: dict[str, Any] = json.loads((found.get("data") or {}).get("rollout.json") or "{}")
        return state

    def decided(self, action: str, version: int) -> dict[str, Any]:
        """The decision, once it is made."""

        def look() -> dict[str, Any]:
            decisions: list[dict[str, Any]] = self.kept().get("decisions", [])
            return next((one for one in decisions if (one["action"], one["version"]) == (action, version)), {})

        return eventually(look, about=self.kept)

    def settled(self, version: int) -> None:
        """Wait until all stable pods serve a version, and no canary is left."""
        eventually(
            lambda: (
                self.kept().get("stable") == version
                and self.kept()["candidate"] is None
                and len(self.ready("half")) == 2
                and not self.pods("half", canary=True)
            ),
            about=self.kept,
        )

    def ended(self) -> None:
        """Wait until no pod of a canary is left: one that ends answers until its address is known to be gone."""
        selector = "app.kubernetes.io/name=half,tensorplane.dev/track=canary"
        eventually(lambda: not self.deployed.kube.items(f"{_INSIDE}/pods", labelSelector=selector))

    def publish(self, draft: str, model: str, version: int) -> float:
        """Publish a draft by renaming a copy. Returns when."""
        copy = self.volume / f".draft-{model}-{version}"
        subprocess.run(["cp", "-r", self.volume / "drafts" / draft, copy], check=True)
        copy.rename(self.volume / model / str(version))
        return time.monotonic()

    def remove(self, model: str, version: int) -> Callable[[], object]:
        """Take a version off its folder at once. Returns what puts it back."""
        folder, aside = self.volume / model / str(version), self.volume / f".aside-{model}-{version}"
        folder.rename(aside)
        return lambda: aside.rename(folder)


def _up(stack: Stack, folder: Path, half: dict[str, Any]) -> Stack:
    server = {"kind": "modelServer", "replicas": 2, "resources": {"cpus": 0.15, "memoryGib": 1}}
    model = {"volume": "models", "path": "half", "canary": {"percent": 50, "gate": _GATE}, **half}
    settings = {
        "namespace": _NAMESPACE,
        "controllers": {"kueue": "present", "jobset": "present"},
        "volumes": {"models": {"sizeGib": 1, "retain": False, "accessModes": ["ReadWriteMany"]}},
        "workloads": {
            "maker": {
                "kind": "trainingJob",
                "strategy": {"kind": "single"},
                "command": ["python3", "-c", _PROGRAM.replace("COUNT", str(_SWAPS + 3))],
                "env": {"TF_CPP_MIN_LOG_LEVEL": "2"},
                "resources": SMALL,
                "volumes": {"models": "/models"},
            },
            "half": {**server, "model": model},
            "plain": {**server, "model": {"volume": "models", "path": "plain"}},
        },
    }
    text = json.dumps({"config": {f"tensorplane:{key}": value for key, value in settings.items()}})
    made = linked_project.with_settings(stack, folder, text)
    made.prepare(Step("prepare"))
    made.up(Step("pulumi up"))
    return made


def _is_ready(pod: dict[str, Any]) -> bool:
    conditions = pod["status"].get("conditions", ())
    return any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)


@pytest.fixture(scope="module")
def serving(deployed: Deployed, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    named = replace(deployed.stack, settings=replace(deployed.stack.settings, name="rollouts"))
    folder = tmp_path_factory.mktemp("stack")
    try:
        stack = _up(named, folder, {})
        urls = {name: next(iter(stack.outputs()["workloads"][name]["models"].values())) for name in ("half", "plain")}
        assert Running(deployed.kube, stack).ended("maker").succeeded
        claim = deployed.kube.get(f"{_INSIDE}/persistentvolumeclaims/models") or {}
        volume = deployed.kube.get(f"/api/v1/persistentvolumes/{claim['spec']['volumeName']}") or {}
        handle = volume["spec"]["csi"]["volumeHandle"]
        alive = processes.find(deployed.instance)
        assert alive
        pool = alive.path(Places(deployed.instance).pool)
        made = Serving(deployed, stack, folder, pool / "volumes" / handle, urls)
        made.settled(1)
        eventually(lambda: len(made.ready("plain")) == 2)
        yield made
    finally:
        named.destroy(Step("destroy"))


def test_versions_that_would_break_clients_never_answer(serving: Serving) -> None:
    with Clients(serving.urls["half"], _ASKED) as clients:
        at = time.monotonic()
        (serving.volume / "half" / "2").mkdir()
        os.utime(serving.volume / "half" / "2", (1, 1))
        assert serving.decided("NotServed", 2)["reason"] == "has no saved_model.pb"
        (serving.volume / "half" / "3").mkdir()
        (serving.volume / "half" / "3" / "saved_model.pb").write_bytes(b"no graph")
        assert "cannot be loaded" in serving.decided("RolledBack", 3)["reason"]
        serving.publish("signature", "half", 4)
        assert "input x is DT_INT32" in serving.decided("RolledBack", 4)["reason"]
        serving.settled(1)
        assert clients.values_since(at) == {"2.0"}
    assert not clients.failed


@pytest.mark.parametrize("number", range(_ROUNDS))
def test_a_canary_is_promoted_or_rolled_back_by_its_gate(serving: Serving, number: int) -> None:
    chance = random.Random(f"{_SEED}-{number}")
    good, bad = 5 + 2 * number, 6 + 2 * number
    with Clients(serving.urls["half"], _ASKED) as clients:
        serving.publish(f"good-{number + 2}", "half", good)
        tried = eventually(lambda: canaries.tried(serving.deployed.kube, _NAMESPACE, "half"))
        assert tried == f"version {good} with about 50 % of the requests; its gate waits for errorRate of 40 requests"
        serving.decided("CanaryStarted", good)
        _kill_controller(serving, chance)
        assert serving.decided("Promoted", good)["measured"]["errorRate"] == 0
        _kill_controller(serving, chance)
        serving.settled(good)
    assert not clients.failed
    with Clients(serving.urls["half"], _ASKED) as clients:
        serving.publish("failing", "half", bad)
        serving.decided("CanaryStarted", bad)
        _kill_controller(serving, chance)
        assert "errors in" in serving.decided("RolledBack", bad)["reason"]
        serving.settled(good)
        serving.ended()
        at = time.monotonic()
        _answers(clients, number + 3.0)
    assert not [each for each in clients.failed if each.at > at]


def _kill_controller(serving: Serving, chance: random.Random) -> None:
    """At a moment of the step that it is in; another one goes on."""
    time.sleep(chance.random() * 3)
    for pod in serving.deployed.kube.items(f"{_INSIDE}/pods", labelSelector="app.kubernetes.io/name=half-rollout"):
        serving.deployed.kube.delete(f"{_INSIDE}/pods/{pod['metadata']['name']}", gracePeriodSeconds="0")


def test_a_version_that_vanishes_is_reported_and_answers_no_more(serving: Serving) -> None:
    stable = serving.kept()["stable"]
    with Clients(serving.urls["half"], _ASKED) as clients:
        _answers_one(clients)
        right = clients.values_since(0)
        serving.publish("good-0", "half", stable + 2)
        serving.decided("CanaryStarted", stable + 2)
        serving.remove("half", stable + 2)
        assert serving.decided("RolledBack", stable + 2)["reason"] == "is no longer on the volume"
        serving.settled(stable)
    assert not clients.failed
    assert clients.values_since(0) == right
    with Clients(serving.urls["half"], _ASKED) as clients:
        put_back = serving.remove("half", stable)
        assert serving.decided("NotServed", stable)["reason"] == "is no longer on the volume"
        # Its pods are not Ready any more, and no other version answers in its place.
        eventually(lambda: not serving.ready("half"))
        put_back()
        serving.settled(stable)
        at = time.monotonic()
        eventually(lambda: clients.values_since(at))
    assert clients.values_since(0) == right


def test_a_pinned_version_is_served_without_a_new_pod(serving: Serving) -> None:
    before = {pod["metadata"]["uid"] for pod in serving.pods("half")}
    with Clients(serving.urls["half"], _ASKED) as clients:
        serving.up(pin=1)
        serving.decided("Pinned", 1)
        _answers(clients, 2.0)
    assert not clients.failed
    access = Access(serving.deployed.kube, _NAMESPACE, stack="rollouts")
    with pytest.raises(Fault, match=r"^--version: half/half does not serve version 99; choose one of 1$"):
        query.run(access, Asked("half", version=99), _ASKED)
    assert {pod["metadata"]["uid"] for pod in serving.pods("half")} == before
    record = (serving.volume / "half" / ".rollouts" / "half.jsonl").read_text().splitlines()
    numbers = [json.loads(line)["number"] for line in record]
    assert numbers == list(range(1, len(numbers) + 1))
    events = serving.deployed.kube.items(f"{_INSIDE}/events", fieldSelector="involvedObject.name=half,reason=Pinned")
    assert len(events) == 1


def test_swaps_evictions_and_kills_lose_no_request(serving: Serving) -> None:
    chance = random.Random(_SEED)
    pods = Pods(serving.deployed.instance.kubeconfig, _NAMESPACE)
    with Clients(serving.urls["plain"], _ASKED) as clients:
        for version in range(2, _SWAPS + 2):
            serving.publish(f"good-{version}", "plain", version)
            _answers(clients, version + 1.0)
        for _ in range(_ROUNDS):
            eventually(lambda: len(serving.ready("plain")) == 2)
            for name in [pod["metadata"]["name"] for pod in serving.ready("plain")]:
                eventually(partial(_evict, serving, pods, name))
        for _ in range(_SWAPS):
            eventually(lambda: len(serving.ready("plain")) == 2)
            _kill(serving, chance.choice(serving.ready("plain"))["metadata"]["name"])
        eventually(lambda: len(serving.ready("plain")) == 2)
    assert not clients.failed


def _evict(serving: Serving, pods: Pods, name: str) -> bool:
    """As `kubectl drain` does: the budget counts a pod as healthy a moment after it is ready."""
    return len(serving.ready("plain")) == 2 and pods.evict(name, grace_seconds=30)


def _answers_one(clients: Clients) -> None:
    """Wait until clients are answered."""
    eventually(lambda: clients.values_since(0))


def _answers(clients: Clients, value: float) -> None:
    """Wait until clients get this value alone."""
    eventually(lambda: clients.values_since(time.monotonic() - 1) == {json.dumps(value)})


def _kill(serving: Serving, pod: str) -> None:
    serving.deployed.kube.delete(f"{_INSIDE}/pods/{pod}", gracePeriodSeconds="0")
    eventually(lambda: pod not in [each["metadata"]["name"] for each in serving.pods("plain")])
