"""The configuration files that the stack generates are those of TensorFlow Serving's own messages."""

from __future__ import annotations

import re
from pathlib import Path

from google.protobuf import text_format
from google.protobuf.json_format import MessageToDict

from tests.serving.server import HalfPlus, running
from workloads.manifests import serving_config
from workloads.settings.batching import BatchingArgs
from workloads.settings.served_model import ServedModel


def test_the_model_config_file(stubs: Path) -> None:
    from tensorflow_serving.config import model_server_config_pb2

    served = {
        "digits": ServedModel.model_validate(
            {"volume": "models", "path": "digits", "versions": {"specific": [4, 3]}, "labels": {"stable": 3}}
        ),
        "every": ServedModel.model_validate({"volume": "models", "path": "all", "versions": "all"}),
        "new": ServedModel.model_validate({"volume": "models", "path": "new", "versions": {"latest": 2}}),
    }
    text = serving_config.models({name: f"/models/{name}" for name in served}, served)
    parsed = text_format.Parse(text, model_server_config_pb2.ModelServerConfig())
    assert MessageToDict(parsed, preserving_proto_field_name=True)["model_config_list"]["config"] == [
        {
            "name": "digits",
            "base_path": "/models/digits",
            "model_platform": "tensorflow",
            "model_version_policy": {"specific": {"versions": ["3", "4"]}},
            "version_labels": {"stable": "3"},
        },
        {
            "name": "every",
            "base_path": "/models/every",
            "model_platform": "tensorflow",
            "model_version_policy": {"all": {}},
        },
        {
            "name": "new",
            "base_path": "/models/new",
            "model_platform": "tensorflow",
            "model_version_policy": {"latest": {"num_versions": 2}},
        },
    ]


def test_a_server_starts_with_the_other_files(stubs: Path, tmp_path: Path) -> None:
    (tmp_path / "half").mkdir()
    HalfPlus(1.0).save(tmp_path / "half" / "1")
    batching, monitoring = tmp_path / "batching", tmp_path / "monitoring"
    settings = BatchingArgs.model_validate({"maxBatchSize": 8, "allowedBatchSizes": [4, 8]})
    batching.write_text(serving_config.batching(settings, 1.5))
    assert re.findall(r"num_batch_threads { value: (\d+) }", batching.read_text()) == ["2"]
    monitoring.write_text(serving_config.monitoring())
    flags = ("--enable_batching=true", f"--batching_parameters_file={batching}")
    with running(stubs, tmp_path, *flags, f"--monitoring_config_file={monitoring}") as server:
        server.wait("/v1/models/half/metadata", 200)
        assert server.predict(instances=[1.0]) == (200, {"predictions": [1.5]})
        assert 'request_count{model_name="half",status="OK"} 1' in server.text(serving_config.METRICS_PATH)
