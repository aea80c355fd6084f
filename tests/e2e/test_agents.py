"""The agents of the dev stack: `status` says that they work, and of two pods of one agent only one does."""

from __future__ import annotations

import datetime

import pytest

from tensorplane.driver import agent_states
from tensorplane.driver.agent_states import WORKING, State
from tests.e2e.conftest import Deployed
from tests.support.waiting import eventually


def _states(deployed: Deployed) -> list[State]:
    now = datetime.datetime.now(datetime.UTC)
    ours = deployed.outputs.namespace
    return [one for one in agent_states.states(agent_states.gather(deployed.kube), now) if one.namespace == ours]


def test_the_agents_of_the_stack_work(deployed: Deployed) -> None:
    eventually(lambda: _states(deployed) and {one.state for one in _states(deployed)} == {WORKING})


@pytest.mark.nightly("a pod that starts and waits; unit/agents/test_turns.py has two processes")
def test_a_second_pod_waits_and_takes_over_from_one_that_is_killed(deployed: Deployed) -> None:
    kube, name = deployed.kube, _states(deployed)[0].name
    deployments = f"/apis/apps/v1/namespaces/{deployed.outputs.namespace}/deployments/{name}"
    leases = f"/apis/coordination.k8s.io/v1/namespaces/{deployed.outputs.namespace}/leases/agent.{name}"
    pods = f"/api/v1/namespaces/{deployed.outputs.namespace}/pods"

    def holder() -> str:
        return str((kube.get(leases) or {})["spec"].get("holderIdentity", ""))

    def running() -> set[str]:
        found = kube.items(pods, labelSelector=f"app.kubernetes.io/name={name}")
        return {one["metadata"]["name"] for one in found if one["status"]["phase"] == "Running"}

    def scale(replicas: int) -> None:
        about = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name}}
        kube.apply(deployments, {**about, "spec": {"replicas": replicas}}, "test")

    first = eventually(holder)
    scale(2)
    try:
        second = eventually(lambda: running() - {first}).pop()
        path = f"{pods}/{second}/log"
        said = f"waits for Lease {deployed.outputs.namespace}/agent.{name}, which is held by {first}"
        eventually(lambda: said in kube.text(path), about=lambda: kube.text(path))
        assert holder() == first
        kube.delete(f"{pods}/{first}", gracePeriodSeconds="0")
        eventually(lambda: holder() not in ("", first))
    finally:
        scale(1)
    eventually(lambda: {one.state for one in _states(deployed)} == {WORKING})
