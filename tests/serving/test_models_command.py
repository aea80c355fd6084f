"""What `tensorplane models` reads of a server: TensorFlow Serving's metrics and a model's metadata."""

from __future__ import annotations

import math
import re

import pytest

from tensorplane.cli.commands.models import signatures
from tensorplane.cli.serving import traffic
from tensorplane.workloads.model_server.serving_config import METRICS_PATH
from tests.serving.server import Server

_REQUESTS = 5


@pytest.fixture(scope="module")
def looks(server: Server) -> tuple[str, str]:
    """The metrics before and after five requests of `metered`, of which one is wrong."""
    before = server.text(METRICS_PATH)
    for value in (*(_REQUESTS - 1) * [1.0], "text"):
        server.predict("metered", instances=[value])
    return before, server.text(METRICS_PATH)


def test_tensorplane_models_reads_the_metrics_of_requests(looks: tuple[str, str]) -> None:
    before, after = map(traffic.read, looks)
    found = traffic.of("metered", [(before, after)], seconds=2)
    assert found.requests_per_second == _REQUESTS / 2
    assert after["metered"].latencies[math.inf] == _REQUESTS - 1
    assert found.p50_ms is not None and found.p99_ms is not None and 0 < found.p50_ms <= found.p99_ms


def test_metrics_have_the_names_of_tf_serving(looks: tuple[str, str]) -> None:
    _, shown = looks
    counted = ':tensorflow:serving:request_count{model_name="metered",status='
    assert f'{counted}"OK"}} {_REQUESTS - 1}' in shown
    assert f'{counted}"INVALID_ARGUMENT"}} 1' in shown
    of_rest = ':tensorflow:serving:request_latency_count{API="Predict",entrypoint="REST",model_name="metered"}'
    assert f"{of_rest} {_REQUESTS - 1}" in shown
    assert re.search(r":tensorflow:cc:saved_model:load_attempt_count\{.*/metered/1", shown)


def test_tensorplane_models_reads_the_signatures(server: Server) -> None:
    found = signatures.read(server.wait("/v1/models/metered/metadata", 200))
    assert found["two"]["inputs"] == {
        "a": {"dtype": "DT_FLOAT", "shape": [-1]},
        "b": {"dtype": "DT_INT32", "shape": [-1, 2]},
    }
