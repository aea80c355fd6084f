"""The last lines of `make up`: servers with and without a model, and teams with members."""

from __future__ import annotations

from typing import Any, cast

import pytest

from driver import next_steps
from driver.kube import Kube

OUTPUTS = {
    "namespace": "ml",
    "workloads": {
        "digits": {"kind": "trainingJob", "jobSet": "digits-1"},
        "digits-server": {"kind": "modelServer", "deployment": "digits-server"},
    },
}
MODEL = {"volume": "models", "path": "digits"}


class Api:
    """A cluster whose Deployments have as many ready pods."""

    def __init__(self, ready: int) -> None:
        self._ready = ready

    def get(self, path: str) -> dict[str, Any]:
        assert path == "/apis/apps/v1/namespaces/ml/deployments/digits-server"
        return {"status": {"readyReplicas": self._ready}}


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
    assert list(next_steps.of_servers(cast(Kube, Api(ready)), OUTPUTS, declared, "dev")) == [told]


def test_without_a_cluster_that_answers_servers_are_named_all_the_same() -> None:
    (told,) = next_steps.of_servers(None, OUTPUTS, {}, "prod")
    assert told == "Server digits-server: tensorplane models digits-server --stack prod"


def test_a_team_with_members_gets_its_kubeconfig() -> None:
    teams = {"vision": {"members": ["user:ada"]}, "speech": {}, "text": None}
    assert list(next_steps.of_teams(teams, "dev")) == [
        "Team vision, for its members: tensorplane kubeconfig --team vision --output ~/.kube/vision.kubeconfig"
    ]
