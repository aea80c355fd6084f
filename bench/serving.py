"""Model servers: the generated deployment against the same server by hand, batching against none, and how soon a
published version answers, and how much slower requests are after that."""

from __future__ import annotations

import json
import shutil
import statistics
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from bench import instance, waiting
from bench.figure import Figure, Measured, once
from bench.serving_by_hand import serving as by_hand
from tensorplane.cli.serving import load
from tensorplane.cli.serving.load import Plan, Summary
from tensorplane.core.errors import UserError
from tensorplane.core.step import Step
from tensorplane.embedded import cluster
from tensorplane.embedded.cluster import processes
from tensorplane.embedded.cluster.node_paths import NodePaths

_NAMESPACE = "tensorplane-dev"
_ROUNDS, _SECONDS, _SWAPS = 5, 4.0, 7
_CONNECTIONS = 16
_FASTER_THAN_ANY = 5000.0
"""Requests per second at which every server here falls behind: the rate of answers is then its capacity."""
_STEADY = 50.0
"""Requests per second while versions are swapped."""
_LOAD = 0.8
"""The part of the capacity at which latencies are compared."""
_PATIENT_SECONDS, _LOOK_SECONDS = 240.0, 0.01
_MODEL = "dense"
_BODY = {"instances": [[0.5] * 64]}
_PROGRAM = f"""
import os, tensorflow as tf

def field(number, data):
    size = b""
    left = len(data)
    while left > 127:
        size, left = size + bytes([left % 128 + 128]), left // 128
    return bytes([8 * number + 2]) + size + bytes([left]) + data

# A PredictionLog with a PredictRequest: with it, a version is warm before clients ask it.
tensor = tf.make_tensor_proto(tf.zeros([1, 64])).SerializeToString()
request = field(1, field(1, b"{_MODEL}")) + field(2, field(1, b"x") + field(2, tensor))
warm_up = field(6, field(1, request))

class Dense(tf.Module):
    def __init__(self, n):
        generator = tf.random.Generator.from_seed(1)
        self.layers = [tf.Variable(generator.normal(shape) / 16) for shape in ((64, 512), (512, 512), (512, 10))]
        self.n = tf.Variable(float(n))

    @tf.function(input_signature=[tf.TensorSpec([None, 64], tf.float32, name="x")])
    def call(self, x):
        for weights in self.layers:
            x = tf.nn.relu(x @ weights)
        return {{"y": 0 * x[:, 0] + self.n}}

os.makedirs("/models/drafts")
for number in range(2, {2 * _SWAPS + 2}):
    model, draft = Dense(number), f"/models/drafts/{{number}}"
    tf.saved_model.save(model, draft, {{"serving_default": model.call}})
    os.makedirs(f"{{draft}}/assets.extra")
    with tf.io.TFRecordWriter(f"{{draft}}/assets.extra/tf_serving_warmup_requests") as writer:
        writer.write(warm_up)
for name in ("{_MODEL}", "batched"):
    model = Dense(1)
    tf.saved_model.save(model, f"/models/{{name}}/1", {{"serving_default": model.call}})
"""
_SERVER = {"kind": "modelServer", "resources": {"cpus": 0.3, "memoryGib": 1}}
_SETTINGS: dict[str, Any] = {
    "volumes": {"models": {"sizeGib": 1, "accessModes": ["ReadWriteMany"], "retain": False}},
    "workloads": {
        "maker": {
            "kind": "trainingJob",
            "strategy": {"kind": "single"},
            "command": ["python3", "-c", _PROGRAM],
            "resources": {"cpus": 0.3, "memoryGib": 1.25},
            "volumes": {"models": "/models"},
        },
        "plain": {**_SERVER, "model": {"volume": "models", "path": _MODEL}},
        "batched": {**_SERVER, "model": {"volume": "models", "path": "batched"}, "batching": {}},
    },
}


@dataclass(frozen=True)
class Servers:
    """The deployed model servers."""

    hosts: dict[str, str]
    """Addresses by server."""
    models: Path
    """The volume's folder."""
    plain: str
    """UID of the pod of the server `plain`."""


@contextmanager
def _deployed() -> Iterator[Servers]:
    with instance.running() as bench, tempfile.TemporaryDirectory(prefix="bench-serving-") as folder:
        cluster.load_images(instance.BENCH, Step("load images"))
        settings = {f"tensorplane:{key}": value for key, value in _SETTINGS.items()}
        stack = bench.deploy_with(json.dumps({"config": settings}), Path(folder))
        outputs = stack.outputs()["workloads"]
        urls = {name: next(iter(outputs[name]["models"].values())) for name in ("plain", "batched")}
        waiting.until(
            lambda: all(_value(url) == 1 for url in urls.values()),
            _PATIENT_SECONDS,
            lambda: "the servers do not answer",
        )
        claim = bench.kube.get(f"/api/v1/namespaces/{_NAMESPACE}/persistentvolumeclaims/models") or {}
        volume = bench.kube.get(f"/api/v1/persistentvolumes/{claim['spec']['volumeName']}") or {}
        alive = processes.find(instance.BENCH)
        if alive is None:
            raise UserError("the cluster has ended")
        pool = alive.path(NodePaths(instance.BENCH).pool)
        hosts = {name: url.split("/")[2].partition(":")[0] for name, url in urls.items()}
        (pod,) = bench.kube.items(f"/api/v1/namespaces/{_NAMESPACE}/pods", labelSelector="app.kubernetes.io/name=plain")
        folder_of_volume = pool / "volumes" / volume["spec"]["csi"]["volumeHandle"]
        yield Servers(hosts, folder_of_volume, pod["metadata"]["uid"])


def _value(url: str) -> float | None:
    """What a server answers; None if it does not."""
    # Servers of this machine, which speak HTTP.
    request = urllib.request.Request(f"{url}:predict", json.dumps(_BODY).encode())  # noqa: S310
    try:
        with urllib.request.urlopen(request, timeout=5) as answer:  # noqa: S310
            return float(json.load(answer)["predictions"][0])
    except (OSError, ValueError):
        return None


def _load(host: str, port: int, model: str, rate: float) -> Summary:
    run = load.Run(Plan(model, _BODY, rate, _SECONDS, _CONNECTIONS), host, port)
    with run.started() as threads:
        if rate == _FASTER_THAN_ANY:
            # Requests that are late are not worth waiting for.
            time.sleep(_SECONDS)
        else:
            for thread in threads:
                thread.join()
    found = load.summary(run.answers)
    if found.errors:
        raise UserError(f"{model}: {found.errors}")
    return found


def _capacity(host: str, port: int, model: str) -> float:
    began = time.perf_counter()
    found = _load(host, port, model, _FASTER_THAN_ANY)
    return found.requests / (time.perf_counter() - began)


def _p99(host: str, port: int, model: str, rate: float) -> float:
    return _load(host, port, model, rate).p99 or 0.0


@dataclass(frozen=True)
class Rounds:
    """Requests per second and p99 in milliseconds of two servers, in rounds that alternate."""

    rates: Sequence[tuple[float, float]]
    latencies: Sequence[tuple[float, float]]

    @property
    def rate(self) -> float:
        return statistics.median(one / other for one, other in self.rates)

    @property
    def p99(self) -> float:
        return statistics.median(one / other for one, other in self.latencies)

    def __str__(self) -> str:
        rates = [statistics.median(each) for each in zip(*self.rates, strict=True)]
        latencies = [statistics.median(each) for each in zip(*self.latencies, strict=True)]
        spread = [round(one / other, 2) for one, other in self.latencies]
        return (
            f"{rates[0]:.0f} : {rates[1]:.0f} requests/s ({self.rate:.2f}), p99 at {_LOAD:.0%} load "
            f"{latencies[0]:.1f} : {latencies[1]:.1f} ms ({self.p99:.2f}; {min(spread)} to {max(spread)}), "
            f"{len(self.rates)} rounds"
        )


def _compared(one: tuple[str, int, str], other: tuple[str, int, str]) -> Rounds:
    for server in (one, other):
        _capacity(*server)
    rates, latencies = [], []
    for number in range(_ROUNDS):
        order = (one, other) if number % 2 else (other, one)
        capacity = {server: _capacity(*server) for server in order}
        rate = _LOAD * capacity[other]
        late = {server: _p99(*server, rate) for server in order}
        rates.append((capacity[one], capacity[other]))
        latencies.append((late[one], late[other]))
    return Rounds(rates, latencies)


@once
def _all() -> tuple[Rounds, Rounds, list[float], Swapped]:
    """All measurements, in one deployment."""
    with _deployed() as servers:
        plain = (servers.hosts["plain"], 8501, _MODEL)
        with by_hand(servers.models / _MODEL, _MODEL, servers.plain) as port:
            against_hand = _compared(plain, ("127.0.0.1", port, _MODEL))
        batching = _compared((servers.hosts["batched"], 8501, "batched"), plain)
        alone = [_swap(servers, _copy(servers, number)) for number in range(2, _SWAPS + 2)]
        under_load = [_swap_under_load(servers, number) for number in range(_SWAPS + 2, 2 * _SWAPS + 2)]
        return against_hand, batching, alone, Swapped.of(under_load)


@dataclass(frozen=True)
class Swapped:
    """Sorted latencies in milliseconds at a steady rate, before versions are published and after they answer."""

    before: Sequence[float]
    after: Sequence[float]

    @classmethod
    def of(cls, swaps: Sequence[tuple[list[float], list[float]]]) -> Swapped:
        before, after = (sorted(chain(*each)) for each in zip(*swaps, strict=True))
        return cls(before, after)

    @property
    def p99s(self) -> tuple[float, float]:
        """Before and after."""
        before, after = load.quantile(self.before, 0.99), load.quantile(self.after, 0.99)
        if not before or not after:
            raise UserError(f"{_MODEL}: no request was answered")
        return before, after

    def __str__(self) -> str:
        before, after = self.p99s
        return f"{after:.1f} : {before:.1f} ms at {_STEADY:g} requests/s, {len(self.after)} requests after swaps"


def _swap_under_load(servers: Servers, number: int) -> tuple[list[float], list[float]]:
    """Latencies in the seconds before a version is published, and in those after its first answer."""
    copy = _copy(servers, number)
    run = load.Run(Plan(_MODEL, _BODY, _STEADY, _PATIENT_SECONDS, _CONNECTIONS), servers.hosts["plain"], 8501)
    began = time.perf_counter()
    with run.started():
        time.sleep(_SECONDS)
        published = time.perf_counter() - began
        _swap(servers, copy)
        answered = time.perf_counter() - began
        time.sleep(_SECONDS)
    if errors := load.summary(run.answers).errors:
        raise UserError(f"{_MODEL}: {errors}")
    before = [each.millis for each in run.answers if each.at < published]
    return before, [each.millis for each in run.answers if each.at > answered]


def _copy(servers: Servers, number: int) -> Path:
    """A version beside its folder, to be published by a rename."""
    copy = servers.models / f".copy-{number}"
    shutil.copytree(servers.models / "drafts" / str(number), copy)
    return copy


def _swap(servers: Servers, copy: Path) -> float:
    """Seconds from the rename that publishes a version to the first answer of that version."""
    number = int(copy.name.rpartition("-")[2])
    url = f"http://{servers.hosts['plain']}:8501/v1/models/{_MODEL}"
    copy.rename(servers.models / _MODEL / str(number))
    began = time.perf_counter()
    while _value(url) != number:
        if time.perf_counter() - began > _PATIENT_SECONDS:
            raise UserError(f"version {number} does not answer")
        time.sleep(_LOOK_SECONDS)
    return time.perf_counter() - began


def _against_hand() -> Measured:
    return Measured(_all()[0].rate, str(_all()[0]))


def _latency_against_hand() -> Measured:
    return Measured(_all()[0].p99, str(_all()[0]))


def _batching() -> Measured:
    return Measured(_all()[1].p99, str(_all()[1]))


def _published() -> Measured:
    seconds = _all()[2]
    return Measured(statistics.median(seconds), f"{len(seconds)} versions, {min(seconds):.2f} to {max(seconds):.2f} s")


def _after_swaps() -> Measured:
    before, after = _all()[3].p99s
    return Measured(after / before, str(_all()[3]))


FIGURES = (
    Figure("serving-rate", ">= 0.95", "x", _against_hand),
    Figure("serving-p99", "<= 1.1", "x", _latency_against_hand),
    Figure("serving-batching-p99", "<= 1.2", "x", _batching),
    Figure("published-to-answer", "<= 3", "s", _published),
    Figure("post-swap-p99", "<= 1.5", "x", _after_swaps),
)
