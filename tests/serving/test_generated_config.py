"""The model config file that the stack generates is one of TensorFlow Serving's own messages."""

from __future__ import annotations

from pathlib import Path

from google.protobuf import text_format
from google.protobuf.json_format import MessageToDict

from tensorplane.workloads.model_server import serving_config
from tensorplane.workloads.model_server.settings import ServedModel


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
