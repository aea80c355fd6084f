"""What `tensorplane models` reads of a server: TensorFlow Serving's metrics and a model's metadata."""

from __future__ import annotations

import math
from pathlib import Path

from cli.commands.models import signatures
from cli.serving import traffic
from tests.serving.server import HalfPlus, running
from workloads.manifests import serving_config
from workloads.manifests.serving_config import METRICS_PATH


def _models(folder: Path) -> Path:
    (folder / "models" / "half").mkdir(parents=True)
    HalfPlus(2.0).save(folder / "models" / "half" / "1")
    return folder / "models"


def test_tensorplane_models_reads_the_metrics_of_requests(stubs: Path, tmp_path: Path) -> None:
    file = tmp_path / "monitoring"
    file.write_text(serving_config.monitoring())
    base = _models(tmp_path)
    with running(stubs, base, f"--monitoring_config_file={file}") as server:
        server.wait("/v1/models/half/metadata", 200)
        looks = [traffic.read(server.text(METRICS_PATH))]
        for _ in range(4):
            server.predict(instances=[1.0])
        server.predict(instances=["text"])
        looks.append(traffic.read(server.text(METRICS_PATH)))
    found = traffic.of("half", [(looks[0], looks[1])], seconds=2)
    assert found.requests_per_second == 2.5
    assert looks[1]["half"].latencies[math.inf] == 4
    assert found.p50_ms is not None and found.p99_ms is not None and 0 < found.p50_ms <= found.p99_ms


def test_tensorplane_models_reads_the_signatures(stubs: Path, tmp_path: Path) -> None:
    with running(stubs, _models(tmp_path)) as server:
        found = signatures.read(server.wait("/v1/models/half/metadata", 200))
    assert found["two"]["inputs"] == {
        "a": {"dtype": "DT_FLOAT", "shape": [-1]},
        "b": {"dtype": "DT_INT32", "shape": [-1, 2]},
    }
