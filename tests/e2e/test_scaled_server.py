"""A server under load gets another pod, which an update of the stack leaves to it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.e2e import scaled_servers, stacks
from tests.e2e.conftest import Deployed
from tests.support import controllers
from tests.support.waiting import eventually

pytestmark = pytest.mark.nightly("metrics-server is built for it, and two updates; unit tests tell the settings")

_NAME = "scaled"
_DEPLOYMENT = f"/apis/apps/v1/namespaces/tensorplane-{_NAME}/deployments/server"


def test_load_starts_a_pod_that_an_update_keeps(deployed: Deployed, tmp_path: Path) -> None:
    controllers.provide(deployed.instance, "metrics-server")
    scaling = {"min": 1, "cpu": 80}

    def server() -> dict[str, Any]:
        return dict(deployed.kube.get(_DEPLOYMENT) or {})

    with stacks.own(deployed, tmp_path, _NAME) as made:
        scaled_servers.deploy(made, {"server": {**scaling, "max": 2}})
        scaled_servers.publish(made)
        assert eventually(lambda: server()["status"].get("readyReplicas") == 1)
        with scaled_servers.load(made.url("server")):
            assert eventually(lambda: server()["spec"]["replicas"] == 2)
            before = _written_by(server(), "pulumi")
            scaled_servers.deploy(made, {"server": {**scaling, "max": 3}})
            assert _written_by(server(), "pulumi") == before, "the update has not written the number of pods"
            assert server()["spec"]["replicas"] >= 2


def _written_by(deployment: dict[str, Any], manager: str) -> list[bool]:
    """Whether the managers of this name have written the number of pods, through the Deployment itself."""
    fields = deployment["metadata"]["managedFields"]
    of_manager = [one for one in fields if manager in one["manager"] and not one.get("subresource")]
    return ["f:replicas" in one["fieldsV1"].get("f:spec", {}) for one in of_manager]
