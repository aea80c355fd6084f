"""What a rollout's controller reads: folders of versions, metrics, signatures, held-out examples, its own memory."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tensorplane.agents.rollout import cluster, metrics, routes, signatures, state, versions
from tensorplane.agents.rollout.decide import Track
from tensorplane.agents.rollout.state import RolloutDecision, RolloutState
from tensorplane.components.base import labels
from tests.unit.agents.fake_api_server import FakeApiServer

_MAGIC = b"\x57\xfb\x80\x8b\x24\x75\x47\xdb"
_OLD = 1.0


def saved(version: Path, **changed: bytes | None) -> Path:
    """The files of a SavedModel; None leaves one out. All of them are old."""
    files = {"saved_model.pb": b"graph", "variables/variables.index": b"0" * 40 + _MAGIC}
    files["variables/variables.data-00000-of-00001"] = b"1234"
    for name, content in {**files, **changed}.items():
        if content is not None:
            path = version / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
    for path in (*version.rglob("*"), version):
        os.utime(path, (_OLD, _OLD))
    return version


@pytest.mark.parametrize(
    ("changed", "problem"),
    [
        ({}, ""),
        ({"saved_model.pb": None}, "has no saved_model.pb"),
        ({"saved_model.pb": b""}, "saved_model.pb is empty"),
        ({"variables/variables.index": None}, "has no variables/variables.index"),
        ({"variables/variables.index": b"0" * 100}, "variables/variables.index is cut off"),
        ({"variables/variables.data-00000-of-00001": None}, "has no variables.data"),
        (
            {"variables/variables.data-00000-of-00001": None, "variables/variables.data-00001-of-00002": b"12"},
            "has 1 of 2 files of variables",
        ),
    ],
)
def test_what_is_wrong_with_a_version(tmp_path: Path, changed: dict[str, bytes | None], problem: str) -> None:
    saved(tmp_path / "3", **changed)
    assert versions.list_versions(tmp_path) == {3: problem}


def test_a_version_that_may_still_be_written_is_left_out(tmp_path: Path) -> None:
    saved(tmp_path / "1")
    (tmp_path / "2").mkdir()
    (tmp_path / ".draft").mkdir()
    now = (tmp_path / "2").stat().st_mtime
    assert versions.list_versions(tmp_path, now) == {1: ""}
    assert versions.list_versions(tmp_path, now + 5) == {1: "", 2: "has no saved_model.pb"}
    assert versions.list_versions(tmp_path / "absent") == {}


def test_metrics_are_added_over_pods_and_models_kept_apart() -> None:
    one = """
:tensorflow:serving:request_count{model_name="digits",status="OK"} 98
:tensorflow:serving:request_count{model_name="digits",status="INVALID_ARGUMENT"} 2
:tensorflow:serving:request_count{model_name="other",status="INTERNAL"} 50
:tensorflow:serving:request_latency_bucket{model_name="digits",API="Predict",entrypoint="REST",le="1000"} 98
:tensorflow:serving:request_latency_bucket{model_name="digits",API="Predict",entrypoint="REST",le="2000"} 100
:tensorflow:serving:request_latency_bucket{model_name="digits",API="Predict",entrypoint="REST",le="+Inf"} 100
"""
    found = metrics.measure([one, one], "digits")
    assert (found.requests, found.errors) == (200, 4)
    assert found.latency_p99_millis == pytest.approx(1.5)
    assert metrics.measure([], "digits").latency_p99_millis is None


def tensor(dtype: str = "DT_FLOAT", *sizes: int) -> dict[str, Any]:
    return {"dtype": dtype, "tensor_shape": {"dim": [{"size": str(size)} for size in sizes], "unknown_rank": False}}


def metadata(inputs: dict[str, Any], name: str = "serving_default") -> dict[str, Any]:
    signature = {"inputs": inputs, "outputs": {"y": tensor("DT_FLOAT", -1)}}
    return {"metadata": {"signature_def": {"signature_def": {name: signature, "__saved_model_init_op": {}}}}}


@pytest.mark.parametrize(
    ("candidate", "fault"),
    [
        (metadata({"x": tensor("DT_FLOAT", -1, 8)}), ""),
        (metadata({"x": tensor("DT_FLOAT", -1, -1)}), ""),
        (
            metadata({"x": tensor("DT_FLOAT", -1, 9)}),
            "signature serving_default: input x has shape [any, 9], and [any, 8] in the stable version",
        ),
        (metadata({"image": tensor("DT_FLOAT", -1, 8)}), "signature serving_default: input x is missing"),
        (
            metadata({"x": tensor("DT_FLOAT", -1, 8), "z": tensor()}),
            "signature serving_default: input z is new, and clients do not send it",
        ),
        (metadata({"x": tensor("DT_FLOAT", -1, 8)}, "other"), "has no signature serving_default"),
    ],
)
def test_signatures_that_would_break_a_client(candidate: dict[str, Any], fault: str) -> None:
    assert signatures.find_difference(metadata({"x": tensor("DT_FLOAT", -1, 8)}), candidate) == fault


class Parity:
    """A server that answers with scores for even and odd."""

    def predict(self, version: int, instances: Sequence[int]) -> list[list[float]]:
        return [[1.0, 0.0] if one % 2 == 0 else [0.0, 1.0] for one in instances]


def test_accuracy_is_of_all_examples(tmp_path: Path) -> None:
    lines = [{"instance": number, "label": number % 2 if number < 45 else 7} for number in range(60)]
    (tmp_path / "held-out.jsonl").write_text("\n".join(map(json.dumps, lines)))
    parity: Any = Parity()
    assert metrics.accuracy(tmp_path / "held-out.jsonl", parity, 1) == 0.75


@pytest.mark.parametrize("text", ['{"x": 1}', "[1]", ""])
def test_a_file_of_another_form_is_no_accuracy(tmp_path: Path, text: str) -> None:
    (tmp_path / "held-out.jsonl").write_text(text)
    with pytest.raises(ValueError, match=r"held-out\.jsonl: "):
        metrics.accuracy(tmp_path / "held-out.jsonl", Parity(), 1)  # type: ignore[arg-type]


def test_the_controller_and_the_manifests_use_the_same_labels() -> None:
    assert (cluster.TRACK, cluster.STABLE, cluster.CANARY) == (labels.TRACK, labels.STABLE, labels.CANARY)
    assert (cluster.ADMITTED, routes.BACKENDS) == (labels.ADMITTED, labels.BACKENDS)
    assert cluster.MANAGER == labels.ROLLOUT_MANAGER


def route(*backends: tuple[str, int]) -> dict[str, Any]:
    refs = [{"name": name, "port": 8501, "weight": weight} for name, weight in backends]
    return {"spec": {"rules": [{"backendRefs": refs}]}}


@pytest.mark.parametrize(
    ("backends", "weight"),
    [
        ([("digits", 1)], None),
        ([("digits-stable", 100), ("digits-canary", 0)], 0),
        ([("digits-stable", 90), ("digits-canary", 10)], 10),
        ([("digits-stable", 90), ("digits-canary", 90)], None),
        ([("digits-stable", 80), ("digits-canary", 10), ("other", 10)], None),
        ([("other-stable", 90), ("other-canary", 10)], None),
    ],
)
def test_a_route_divides_requests_if_it_leads_to_both_tracks_alone(
    backends: list[tuple[str, int]], weight: int | None
) -> None:
    assert routes.get_weight(route(*backends), "digits") == weight


def test_the_weights_of_a_route_are_written_together_and_only_while_it_is_the_controllers() -> None:
    first, second = routes.weight_patch("digits", 8501, 10, "tensorplane-rollout")
    assert first == {
        "op": "test",
        "path": "/metadata/annotations/tensorplane.dev~1backends",
        "value": "tensorplane-rollout",
    }
    assert (second["op"], second["path"]) == ("replace", "/spec/rules/0/backendRefs")
    made = {"spec": {"rules": [{"backendRefs": second["value"]}]}}
    assert routes.get_weight(made, "digits") == 10


def test_what_is_remembered_reads_back() -> None:
    rollout_state = RolloutState(stable=3, refused={4: "no"}).with_decision(
        12.3456789, "RolledBack", 4, "errors", {"errorRate": 0.5}
    )
    assert RolloutState.from_json(rollout_state.to_json()) == rollout_state
    assert RolloutState.from_json("") == RolloutState()


def test_a_version_is_not_configured_over_what_another_controller_has_written(api_server: FakeApiServer) -> None:
    found = cluster.Cluster(api_server.client, "ml", "digits", "version: 0", "0", "newest")
    models = "/api/v1/namespaces/ml/configmaps/digits-stable-models"
    written = {"metadata": {"resourceVersion": "41"}, "data": {"models.config": "version: 3"}}
    api_server.answers["GET", "/apis/apps/v1/namespaces/ml/deployments/digits/scale"] = (200, {"spec": {"replicas": 2}})
    api_server.answers["GET", models] = (200, written)
    assert found.get_track(canary=False) == Track(2, 3)
    found.configure(4, canary=False)
    change = {"metadata": {"resourceVersion": "41"}, "data": {"models.config": "version: 4"}}
    assert api_server.asked[-1] == ("PATCH", models, change)


def test_a_line_of_the_record_that_was_cut_off_is_written_anew(tmp_path: Path) -> None:
    decisions = [RolloutDecision(number, 1.0, "Promoted", number, "good") for number in (1, 2, 3)]
    file = state.record_path(tmp_path, "server")
    state.append_to_record(file, decisions[:2])
    file.write_text(file.read_text()[:-10])
    state.append_to_record(file, decisions)
    state.append_to_record(file, decisions)
    lines = file.read_text().splitlines()
    assert [json.loads(line)["number"] for line in (lines[0], *lines[2:])] == [1, 2, 3]
