"""`tensorplane predict`: which request it sends, and what it says of errors."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from tensorplane.agents.rollout.state import RolloutState
from tensorplane.cli.__main__ import main
from tensorplane.cli.commands.predict import command as predict
from tensorplane.cli.commands.predict.command import PredictOptions
from tensorplane.cli.serving import rest, server
from tensorplane.core.errors import UserError
from tests.support.served import NAMESPACE, Api, access, tunnelled

HALF = "/v1/models/half"


@pytest.fixture(autouse=True)
def _tunnelled(monkeypatch: pytest.MonkeyPatch) -> None:
    tunnelled(monkeypatch)


@pytest.mark.parametrize(
    ("text", "signature", "body"),
    [
        ("[1.0, 2]", None, {"instances": [1.0, 2]}),
        ('{"instances": [1]}', "two", {"instances": [1], "signature_name": "two"}),
        ('{"inputs": {"x": [1]}, "signature_name": "two"}', None, {"inputs": {"x": [1]}, "signature_name": "two"}),
    ],
)
def test_a_request_is_a_body_of_the_rest_api_or_a_list_of_instances(
    text: str, signature: str | None, body: dict[str, Any]
) -> None:
    assert predict.body(text.encode(), signature) == body


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "request: is not JSON: Expecting value"),
        ("3", "request: is 3; give a list of instances, or an object with either instances or inputs"),
        ('{"instance": []}', "request: is an object with instance; give"),
        ('{"instances": [], "inputs": []}', "request: is an object with instances, inputs; give"),
    ],
)
def test_what_is_no_request_is_one_line(text: str, told: str) -> None:
    with pytest.raises(UserError, match=f"^{re.escape(told)}") as fault:
        predict.body(text.encode(), None)
    assert len(fault.value.lines) == 1


@pytest.mark.parametrize(
    ("asked", "place"),
    [
        (PredictOptions("vision/half"), f"{HALF}:predict"),
        (PredictOptions("vision/half", version=2), f"{HALF}/versions/2:predict"),
        (PredictOptions("vision/half", label="stable"), f"{HALF}/labels/stable:predict"),
    ],
)
def test_the_answer_is_json(asked: PredictOptions, place: str, capsys: pytest.CaptureFixture[str]) -> None:
    api = Api()
    api.answers[place] = (200, {"predictions": [3.5]})
    predict.run(access(api), asked, {"instances": [1.0]})
    assert json.loads(capsys.readouterr().out) == {"predictions": [3.5]}
    assert api.asked == [(place, {"instances": [1.0]})]


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        ((400, b'{"error": "input x\\n has shape [1, 2]"}'), "vision/half: input x has shape [1, 2]"),
        ((502, b"<html>"), "vision/half: the server answers with status 502"),
    ],
)
def test_an_error_of_the_server_is_one_line(answer: tuple[int, Any], told: str) -> None:
    api = Api()
    api.answers[f"{HALF}:predict"] = answer
    with pytest.raises(UserError, match=f"^{re.escape(told)}$"):
        predict.run(access(api), PredictOptions("vision/half"), {"instances": [[1, 2]]})


def test_a_version_that_is_not_served_is_told_with_those_that_are() -> None:
    api = Api()
    told = "--version: vision/half does not serve version 4; choose one of 3, 2"
    with pytest.raises(UserError, match=f"^{re.escape(told)}$"):
        predict.run(access(api), PredictOptions("vision/half", version=4), {"instances": [1.0]})


def test_an_error_of_a_version_that_is_served_is_the_servers() -> None:
    api = Api()
    api.answers[f"{HALF}/versions/2:predict"] = (400, {"error": "input x has shape [1, 2]"})
    with pytest.raises(UserError, match=r"^vision/half: input x has shape \[1, 2\]$"):
        predict.run(access(api), PredictOptions("vision/half", version=2), {"instances": [[1, 2]]})
    api.answers[HALF] = (503, "")
    with pytest.raises(UserError, match=r"^vision/half: Servable not found$"):
        predict.run(access(api), PredictOptions("vision/half", version=9), {"instances": [1]})


class _Tried(Api):
    """A server whose canary tries version 5. `by` has the pod of each request."""

    def __init__(self) -> None:
        super().__init__()
        kept = RolloutState(stable=3, canary=5).to_json()
        self.objects[f"/api/v1/namespaces/{NAMESPACE}/configmaps/vision-rollout"] = {"data": {"rollout.json": kept}}
        self.by: list[tuple[str, str]] = []

    def items(self, path: str, labelSelector: str) -> Any:  # noqa: N803
        found = super().items(path, labelSelector)
        if labelSelector != "app.kubernetes.io/name=vision":
            return found
        labels = {"tensorplane.dev/track": "canary"}
        return [*found, {"metadata": {"name": "vision-canary", "labels": labels}, "status": found[0]["status"]}]

    def of_pod(self, pod: str, path: str) -> tuple[int, bytes]:
        """The answer of one pod to a request."""
        name = pod.rpartition("/")[2]
        self.by.append((name, path))
        served = 5 if name == "vision-canary" else 3
        if path == HALF:
            states = [{"version": str(served), "state": "AVAILABLE", "status": {"error_message": ""}}]
            return 200, json.dumps({"model_version_status": states}).encode()
        if path == f"{HALF}/versions/{served}:predict":
            return 200, b'{"predictions": [1]}'
        return 404, b'{"error": "Servable not found"}'


def test_the_version_that_a_canary_tries_is_asked_of_its_pods(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    api = _Tried()
    monkeypatch.setattr(rest, "ask", lambda api, pod, path, body=None: api.of_pod(pod, path))
    for version, pod in ((5, "vision-canary"), (3, "vision-a")):
        predict.run(access(api), PredictOptions("vision/half", version=version), {"instances": [1]})
        assert api.by.pop() == (pod, f"{HALF}/versions/{version}:predict")
        assert json.loads(capsys.readouterr().out) == {"predictions": [1]}
    with pytest.raises(UserError, match=r"^--version: vision/half does not serve version 4; choose one of 5, 3$"):
        predict.run(access(api), PredictOptions("vision/half", version=4), {"instances": [1]})


def test_a_server_without_a_ready_pod_is_one_line() -> None:
    with pytest.raises(UserError, match=r"^ranker-server: no pod is ready;"):
        predict.run(access(Api()), PredictOptions("ranker-server"), {"instances": [1]})


def test_version_and_label_conflict(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["predict", "vision", "--version", "2", "--label", "stable"]) == 1
    assert capsys.readouterr().err.startswith("--version: conflicts with --label")


def test_before_the_first_version_it_says_how_to_publish_one() -> None:
    class Stopped(Api):
        def request_service(self, *_: Any, **__: Any) -> tuple[int, Any]:
            return 503, '{"message": "no endpoints available for service \\"http:vision:8501\\""}'

    with pytest.raises(UserError, match=r"^vision: no pod is ready; .* tensorplane run … --publish vision$"):
        server.Server(Stopped(), "team", "vision", {"half": {}}).ask("half", ":predict")  # type: ignore[arg-type]
