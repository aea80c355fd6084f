"""Several models, version policies and labels by a model config file, read again when it changes.

Source: tensorflow/serving, g3doc/serving_config.md, model_servers/server_core.cc and apis/model_management.proto.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import grpc
import pytest

from tests.serving.server import HalfPlus, Server, running
from tests.support.waiting import eventually

_FLAGS = ("--model_config_file_poll_wait_seconds=1", "--allow_version_labels_for_unavailable_models=true")


def _config(base: Path, name: str, *more: str) -> str:
    return f'config {{ name: "{name}" base_path: "{base}/{name}" model_platform: "tensorflow" {" ".join(more)} }}'


def _write(file: Path, *models: str) -> None:
    _replace(file, f"model_config_list {{ {' '.join(models)} }}")


def _replace(file: Path, text: str) -> None:
    """As the kubelet does: by a rename. A file that is written in place is read while it is empty, which is valid."""
    draft = file.with_suffix(".new")
    draft.write_text(text)
    draft.replace(file)


def _answer(server: Server, path: str) -> object:
    status, answer = server.post(f"/v1/models/{path}:predict", {"instances": [1.0]})
    return answer["predictions"][0] if status == 200 else status


@pytest.fixture
def base(tmp_path: Path) -> Path:
    """Versions 1 to 3 of `half`, and version 7 of `other`."""
    for name, number in (("half", 1), ("half", 2), ("half", 3), ("other", 7)):
        HalfPlus(float(number)).publish(tmp_path, name, number)
    return tmp_path


def test_models_policies_and_labels_follow_the_file(stubs: Path, base: Path) -> None:
    file = base / "models.config"
    labels = 'version_labels { key: "stable" value: 2 } version_labels { key: "canary" value: 3 }'
    _write(file, _config(base, "half", "model_version_policy { latest { num_versions: 2 } }", labels))
    with running(stubs, base, f"--model_config_file={file}", *_FLAGS) as server:
        server.wait("/v1/models/half/labels/stable", 200)
        server.wait("/v1/models/half/labels/canary/metadata", 200)
        assert _answer(server, "half") == 3.5
        assert _answer(server, "half/labels/stable") == 2.5
        assert _answer(server, "half/labels/canary") == 3.5
        assert _answer(server, "half/versions/1") == 404
        status, said = server.post("/v1/models/half/labels/new:predict", {"instances": [1.0]})
        assert (status, said["error"]) == (400, "Unrecognized servable version label: new")
        assert _answer(server, "other") == 404

        # One is pinned, its label moves, and a model is added.
        pinned = "model_version_policy { specific { versions: 1 versions: 2 } }"
        _write(
            file,
            _config(base, "half", pinned, 'version_labels { key: "stable" value: 1 }'),
            _config(base, "other"),
        )
        server.wait("/v1/models/other/metadata", 200)
        eventually(lambda: _answer(server, "half/labels/stable") == 1.5)
        assert _answer(server, "half") == 2.5
        assert _answer(server, "half/labels/canary") == 400

        # A label does not leave the version that answers for one that does not.
        _write(file, _config(base, "half", pinned, 'version_labels { key: "stable" value: 9 }'))
        eventually(lambda: "Request to assign label to version 9" in server.log.read_text())
        assert _answer(server, "half/labels/stable") == 1.5

        # A file that is none changes nothing.
        _replace(file, "model_config_list {")
        eventually(lambda: "model config file:" in server.log.read_text())
        assert _answer(server, "half") == 2.5

        _write(file, _config(base, "half", "model_version_policy { all {} }"))
        eventually(lambda: _answer(server, "half/versions/3") == 3.5)
        server.wait("/v1/models/other/metadata", 404)


@pytest.mark.nightly("a stand-in of its own for a way that the stack does not use")
def test_a_config_by_grpc_replaces_the_models(stubs: Path, base: Path) -> None:
    from tensorflow_serving.apis import model_management_pb2, model_service_pb2_grpc

    shutil.rmtree(base / "half" / "3")
    with running(stubs, base) as server, grpc.insecure_channel(server.grpc_address) as channel:
        server.wait("/v1/models/half/metadata", 200)
        service = model_service_pb2_grpc.ModelServiceStub(channel)
        request = model_management_pb2.ReloadConfigRequest()
        one = request.config.model_config_list.config.add(name="other", base_path=f"{base}/other")
        assert service.HandleReloadConfigRequest(request).status.error_code == 0
        assert _answer(server, "other") == 7.5
        assert _answer(server, "half") == 404

        one.version_labels["stable"] = 8
        status = service.HandleReloadConfigRequest(request).status
        assert status.error_code == grpc.StatusCode.FAILED_PRECONDITION.value[0]
        assert "version 8 of model other" in status.error_message
        assert _answer(server, "other") == 7.5
        one.base_path = "relative"
        assert "absolute path" in service.HandleReloadConfigRequest(request).status.error_message
