"""The last lines of `make up`: servers with and without a model, and teams with members."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, cast

import pytest

from tensorplane.agents.rollout.state import RolloutState
from tensorplane.core.kube import Kube
from tensorplane.driver import next_steps

OUTPUTS = {
    "namespace": "ml",
    "workloads": {
        "digits": {"kind": "trainingJob", "jobSet": "digits-1"},
        "digits-server": {"kind": "modelServer", "deployment": "digits-server"},
    },
}
MODEL = {"volume": "models", "path": "digits"}


SERVER = "/apis/apps/v1/namespaces/ml/deployments/digits-server"
CONFIG_MAPS = "/api/v1/namespaces/ml/configmaps"


class Api:
    """A cluster whose server has as many ready pods, and other objects by path."""

    def __init__(self, ready: int, objects: Mapping[str, Any] | None = None) -> None:
        self._objects = {SERVER: {"status": {"readyReplicas": ready}}, **(objects or {})}

    def get(self, path: str) -> Any:
        return self._objects.get(path)


def canary(kept: RolloutState, gates: Sequence[Mapping[str, Any]], **rollout: Any) -> Api:
    """A server whose canary's controller has this state and these settings."""
    settings = {"replicas": 4, "canaryReplicas": 1, "gates": gates, "deadlineSeconds": 60, "digest": ""}
    told = {**settings, **dict.fromkeys(("version", "pin", "percent")), **rollout}
    plain: dict[str, Any] = {
        "server": "digits-server",
        "model": "digits",
        "folder": "/models",
        "examples": None,
        "routes": {},
    }
    mounted = [{"emptyDir": {}}, {"configMap": {"name": "code"}}, {"configMap": {"name": "settings"}}]
    return Api(
        4,
        {
            f"{CONFIG_MAPS}/digits-server-rollout": {"data": {"rollout.json": kept.to_json()}},
            f"{SERVER}-rollout": {"spec": {"template": {"spec": {"volumes": mounted}}}},
            f"{CONFIG_MAPS}/code": {"data": {"controller.py": ""}},
            f"{CONFIG_MAPS}/settings": {"data": {"rollout.json": json.dumps({**plain, "rollout": told})}},
        },
    )


ERRORS = {"metric": "errorRate", "threshold": 0.01, "minRequests": 200}
ACCURACY = {"metric": "accuracy", "threshold": 0.9, "minRequests": 0}
TRIED = RolloutState(stable=1, canary=2)


@pytest.mark.parametrize(
    ("ready", "job", "told"),
    [
        (1, {}, "Server digits-server: tensorplane models digits-server"),
        (
            0,
            {"model": MODEL},
            "Server digits-server waits for the model of digits: tensorplane logs -f digits",
        ),
        (
            0,
            {"onSuccess": {"publish": "digits-server"}},
            "Server digits-server waits for the model of digits: tensorplane logs -f digits",
        ),
        (
            0,
            {"model": {**MODEL, "path": "other"}},
            "Server digits-server waits for a model: tensorplane run --publish digits-server … -- python train.py",
        ),
    ],
)
def test_a_server_is_asked_and_one_without_a_model_gets_one(ready: int, job: dict[str, Any], told: str) -> None:
    declared = {
        "digits": {"kind": "trainingJob", **job},
        "digits-server": {"kind": "modelServer", "model": MODEL},
    }
    assert list(next_steps.list_servers(cast(Kube, Api(ready)), OUTPUTS, declared, "dev")) == [told]


@pytest.mark.parametrize("publish", ["digits-server", "digits-server/digits"])
def test_a_server_without_a_model_waits_for_the_pipeline_that_publishes_to_it(publish: str) -> None:
    declared = {
        "digits-server": {"kind": "modelServer", "model": MODEL},
        "other": {"kind": "pipeline", "stages": {"serve": {"publish": "other-server"}, "infer": {}}},
        "classify": {"kind": "pipeline", "stages": {"train": {}, "serve": {"publish": publish}}},
    }
    told = "Server digits-server waits for the model of classify: tensorplane runs start classify"
    assert list(next_steps.list_servers(cast(Kube, Api(0)), OUTPUTS, declared, "dev")) == [told]


@pytest.mark.parametrize(
    ("api", "told"),
    [
        (
            canary(TRIED, [ERRORS]),
            " tries version 2 with about 25 % of the requests; its gate waits for errorRate of 200 requests",
        ),
        (
            canary(TRIED, [ERRORS, ACCURACY], percent=5),
            " tries version 2 with 5 % of the Gateway's requests; its gate waits for errorRate of 200 requests and"
            " accuracy on the held-out examples",
        ),
        (
            canary(TRIED, [{**ERRORS, "minRequests": 0}], replicas=1),
            " tries version 2 with about 50 % of the requests; its gate waits for errorRate of 1 request",
        ),
        (canary(RolloutState(stable=1), [ERRORS]), ""),
        (canary(RolloutState(stable=1, canary=2, promoting=True), [ERRORS]), ""),
    ],
)
def test_a_version_that_is_tried_is_told_with_what_its_gate_waits_for(api: Api, told: str) -> None:
    (line,) = next_steps.list_servers(cast(Kube, api), OUTPUTS, {}, "dev")
    assert line == f"Server digits-server{told}: tensorplane models digits-server"


def test_without_a_cluster_that_answers_servers_are_named_all_the_same() -> None:
    (told,) = next_steps.list_servers(None, OUTPUTS, {}, "prod")
    assert told == "Server digits-server: tensorplane models digits-server --stack prod"


def test_a_team_with_members_gets_its_kubeconfig() -> None:
    teams = {"vision": {"members": ["user:ada"]}, "speech": {}, "text": None}
    assert list(next_steps.list_teams(teams, "dev")) == [
        "Team vision, for its members: tensorplane kubeconfig --team vision --output ~/.kube/vision.kubeconfig"
    ]
