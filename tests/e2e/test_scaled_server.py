"""A server under load gets another pod, which an update of the stack leaves to it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from embedded.step import Step
from tests.e2e import scaled_servers
from tests.e2e.conftest import Deployed
from tests.e2e.small_jobs import Running
from tests.support import controllers
from tests.support.waiting import eventually

_NAMESPACE = "tensorplane-scaled"
_DEPLOYMENT = f"/apis/apps/v1/namespaces/{_NAMESPACE}/deployments/server"


def test_load_starts_a_pod_that_an_update_keeps(deployed: Deployed, tmp_path: Path) -> None:
    controllers.provide(deployed.instance, "metrics-server")
    named = replace(deployed.stack, settings=replace(deployed.stack.settings, name="scaled"))
    scaling = {"min": 1, "cpu": 80}
    try:
        made = scaled_servers.deploy(named, tmp_path, _NAMESPACE, {"server": {**scaling, "max": 2}})
        assert Running(deployed.kube, made).ended("maker").succeeded
        kube, url = deployed.kube, made.outputs()["workloads"]["server"]["models"]["half"]

        def server() -> dict[str, Any]:
            return dict(kube.get(_DEPLOYMENT) or {})

        assert eventually(lambda: server()["status"].get("readyReplicas") == 1)
        with scaled_servers.asked(url):
            assert eventually(lambda: server()["spec"]["replicas"] == 2)
            scaled_servers.deploy(named, tmp_path, _NAMESPACE, {"server": {**scaling, "max": 3}})
            assert server()["spec"]["replicas"] >= 2
    finally:
        named.destroy(Step("destroy"))
