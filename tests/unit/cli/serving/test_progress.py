"""What the gates of a canary still wait for, from the metrics of its pods and the controller's settings."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tensorplane.agents.rollout.state import RolloutState
from tensorplane.cli.serving import progress, rest
from tensorplane.cli.serving.rollout import Rollout
from tensorplane.cli.serving.server import Server
from tensorplane.core.errors import UserError
from tests.support.served import NAMESPACE

_TRIED = RolloutState(stable=1, canary=2)
_GATES = [
    {"metric": "errorRate", "threshold": 0.01, "minRequests": 200},
    {"metric": "accuracy", "threshold": 0.9, "minRequests": 0},
]


class _Api:
    """A server with a stable pod, a ready canary pod, and one that ends."""

    def get(self, path: str) -> Any:
        rollout = {"replicas": 4, "canaryReplicas": 1, "gates": _GATES, "deadlineSeconds": 60}
        plain: dict[str, Any] = {"rollout": rollout | dict.fromkeys(("version", "pin", "percent")) | {"digest": ""}}
        plain |= {"server": "vision", "model": "half", "folder": "/models/half", "examples": None, "routes": {}}
        volumes = [{"emptyDir": {}}, {"configMap": {"name": "code"}}, {"configMap": {"name": "vision-rollout-1"}}]
        return {
            f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments/vision-rollout": {
                "spec": {"template": {"spec": {"volumes": volumes}}}
            },
            f"/api/v1/namespaces/{NAMESPACE}/configmaps/code": {"data": {"controller.py": ""}},
            f"/api/v1/namespaces/{NAMESPACE}/configmaps/vision-rollout-1": {
                "data": {"rollout.json": json.dumps(plain)}
            },
        }.get(path)

    def items(self, path: str, labelSelector: str) -> Any:  # noqa: N803
        ready = {"conditions": [{"type": "Ready", "status": "True"}]}
        canary = {"tensorplane.dev/track": "canary"}
        return [
            {"metadata": {"name": "canary-a", "labels": canary}, "status": ready},
            {"metadata": {"name": "canary-gone", "labels": canary}, "status": ready},
            {"metadata": {"name": "stable"}, "status": ready},
        ]


def _waits(kept: RolloutState | None, requests: int, monkeypatch: pytest.MonkeyPatch) -> str:
    def ask(api: Any, pod: str, path: str) -> tuple[int, bytes]:
        if pod.endswith("/canary-gone"):
            raise UserError("gone")
        assert pod.endswith("/canary-a"), "only a canary's pods count"
        return 200, f':tensorflow:serving:request_count{{model_name="half",status="OK"}} {requests}\n'.encode()

    monkeypatch.setattr(rest, "ask", ask)
    rollout = kept and Rollout(kept, stable=3, canary=1)
    return progress.waits(Server(_Api(), NAMESPACE, "vision", {"half": {}}, 3, 3, rollout), "half")  # type: ignore[arg-type]


def test_a_gate_says_how_many_requests_the_canary_has_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    assert _waits(_TRIED, 187, monkeypatch) == "errorRate: 187 of 200 requests"
    assert _waits(_TRIED, 200, monkeypatch) == "", "it has decided"


@pytest.mark.parametrize("kept", [None, RolloutState(stable=1), RolloutState(stable=1, canary=2, promoting=True)])
def test_nothing_is_waited_for_without_a_version_that_is_tried(
    kept: RolloutState | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert _waits(kept, 10, monkeypatch) == ""
