"""A cluster's API with model servers, for the commands that ask them: objects by path, and answers of the servers."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from tensorplane.cli.access import Access
from tensorplane.cli.serving import rest
from tensorplane.workloads.model_server import serving_config
from tensorplane.workloads.model_server.settings import ServedModel

NAMESPACE = "tensorplane-dev"
HALF = {"volume": "models", "path": "half", "versions": {"latest": 2}, "labels": {"stable": 2, "canary": 3}}
OTHER = {"volume": "models", "path": "other"}
METADATA = {
    "model_spec": {"name": "half", "version": "3"},
    "metadata": {
        "signature_def": {
            "signature_def": {
                "serving_default": {
                    "inputs": {
                        "x": {
                            "dtype": "DT_FLOAT",
                            "tensor_shape": {"dim": [{"size": "-1", "name": ""}, {"size": "8", "name": ""}]},
                        }
                    },
                    "outputs": {"y": {"dtype": "DT_STRING", "tensor_shape": {"dim": [], "unknown_rank": True}}},
                    "method_name": "tensorflow/serving/predict",
                },
                "__saved_model_init_op": {"inputs": {}, "outputs": {}},
            }
        }
    },
}
STATES = {
    "model_version_status": [
        {"version": "2", "state": "AVAILABLE", "status": {"error_code": "OK", "error_message": ""}},
        {"version": "3", "state": "AVAILABLE", "status": {"error_code": "OK", "error_message": ""}},
        {"version": "4", "state": "END", "status": {"error_code": "NOT_FOUND", "error_message": "no\n file"}},
        {"version": "1", "state": "END", "status": {"error_code": "OK", "error_message": ""}},
    ]
}


def deployment(name: str, *, ready: int, replicas: int) -> dict[str, Any]:
    """The Deployment of a server."""
    pod = {"containers": [{"env": [{"name": "MODEL_NAME", "value": name.partition("-")[0]}]}]}
    return {
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {"replicas": replicas, "template": {"spec": pod}},
        "status": {"readyReplicas": ready} if ready else {},
    }


class Api:
    """The API. `asked` has the requests to servers."""

    def __init__(self) -> None:
        self.deployments = [deployment("vision", ready=1, replicas=2), deployment("ranker-server", ready=0, replicas=1)]
        models = {name: ServedModel.model_validate(each) for name, each in (("half", HALF), ("other", OTHER))}
        config = serving_config.models({name: f"/models/{name}" for name in models}, models)
        self.objects: dict[str, Any] = {
            f"/api/v1/namespaces/{NAMESPACE}/configmaps/vision-models": {"data": {"models.config": config}}
        }
        self.answers: dict[str, tuple[int, Any]] = {
            "/v1/models/half": (200, STATES),
            "/v1/models/half/metadata": (200, METADATA),
            "/v1/models/half:predict": (200, {"predictions": [3.5]}),
        }
        self.metrics: list[str] = []
        """What the next looks at the pods find."""
        self.asked: list[tuple[str, Any]] = []

    def get(self, path: str) -> Any:
        return self.objects.get(path)

    def items(self, path: str, labelSelector: str) -> Sequence[Any]:  # noqa: N803
        if path.endswith("/deployments"):
            return (
                self.deployments
                if labelSelector == "app.kubernetes.io/component=serving,!tensorplane.dev/track"
                else []
            )
        if labelSelector != "app.kubernetes.io/name=vision":
            return []
        ready, other = ({"conditions": [{"type": "Ready", "status": word}]} for word in ("True", "False"))
        return [
            {"metadata": {"name": "vision-a"}, "status": ready},
            {"metadata": {"name": "vision-b"}, "status": other},
        ]

    def pod(self, path: str, body: Any) -> tuple[int, bytes]:
        """What the ready pod answers."""
        if path == serving_config.METRICS_PATH:
            return 200, self.metrics.pop(0).encode()
        self.asked.append((path, body))
        status, answer = self.answers.get(path, (404, {"error": "Servable not found"}))
        return status, answer if isinstance(answer, bytes) else json.dumps(answer).encode()

    def request_service(
        self, namespace: str, name: str, port: int, path: str, body: Any = None, *, seconds: float
    ) -> tuple[int, Any]:
        """What a team's server answers."""
        self.asked.append((f"{namespace}/{name}:{port}{path}", body))
        return 200, {"predictions": [1.0]}


def tunnelled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Requests to pods end at the `Api`."""

    def ask(api: Any, pod: str, path: str, body: Any = None) -> tuple[int, bytes]:
        assert pod == f"/api/v1/namespaces/{NAMESPACE}/pods/vision-a", "ready pods alone are asked"
        found: tuple[int, bytes] = api.pod(path, body)
        return found

    monkeypatch.setattr(rest, "ask", ask)


def access(api: Api, *, team: str = "", objects: Mapping[str, Any] | None = None) -> Access:
    """The access of who deploys the stack, or of a team's member."""
    api.objects |= objects or {}
    return Access(api, "vision" if team else NAMESPACE, stack="" if team else "dev", team=team)  # type: ignore[arg-type]
