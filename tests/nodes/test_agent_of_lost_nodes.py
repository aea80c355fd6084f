"""The agent of lost nodes on a real node that dies, with the real API server."""

from __future__ import annotations

import base64
import time
from pathlib import Path

import pytest
import yaml

from tensorplane.agents.api import ApiServer
from tensorplane.agents.lost_nodes import leaving
from tensorplane.agents.lost_nodes.cluster import TAINT, Cluster
from tensorplane.agents.lost_nodes.controller import reconcile
from tensorplane.agents.lost_nodes.evictions import Evictions
from tensorplane.agents.lost_nodes.nodes import Heartbeats
from tensorplane.components.base.labels import FENCED
from tensorplane.core.kube import Kube
from tensorplane.embedded.instance import Instance
from tests.nodes.pods import Pods, budget, pod
from tests.support.nodes import RealNode
from tests.support.waiting import eventually

SECOND = "tensorplane-2"
_SPOT = "aws-node-termination-handler/spot-itn"

pytestmark = pytest.mark.nightly("a minute for the lost node; test_lost_nodes.py of the unit tests has the rest")


@pytest.fixture
def client(instance: Instance, pods: Pods, tmp_path: Path) -> ApiServer:
    """The API server as an agent reaches it, with all rights."""
    about = yaml.safe_load(instance.kubeconfig.read_text())["clusters"][0]["cluster"]
    (tmp_path / "ca.crt").write_bytes(base64.b64decode(about["certificate-authority-data"]))
    pods.kubectl("create", "serviceaccount", "agent")
    account = f"--serviceaccount={pods.namespace}:agent"
    pods.kubectl("create", "clusterrolebinding", pods.namespace, "--clusterrole=cluster-admin", account)
    (tmp_path / "token").write_text(pods.kubectl("create", "token", "agent").strip())
    return ApiServer(about["server"], tmp_path)


def test_a_dead_nodes_fenced_pods_end_the_others_stay_and_it_gets_pods_again_when_it_is_back(
    client: ApiServer, kube: Kube, pods: Pods, second: RealNode
) -> None:
    fenced = pod("fenced", SECOND)
    fenced["metadata"]["annotations"] = {FENCED: "true"}
    pods.apply(fenced, pod("own", SECOND))
    pods.until("condition=Ready", "pod/fenced", "pod/own")
    cluster, heartbeats = Cluster(client, [pods.namespace]), Heartbeats(20)
    evictions = Evictions(cluster)

    def names() -> set[str]:
        reconcile(cluster, heartbeats, evictions, time.monotonic())
        return {one["metadata"]["name"] for one in kube.items(f"/api/v1/namespaces/{pods.namespace}/pods")}

    def taints() -> set[str]:
        reconcile(cluster, heartbeats, evictions, time.monotonic())
        return {each["key"] for each in (kube.get(f"/api/v1/nodes/{SECOND}") or {})["spec"].get("taints", ())}

    assert names() == {"fenced", "own"}
    second.kill(stays_dead=True)
    eventually(lambda: names() == {"own"})
    assert taints() & {TAINT, "node.kubernetes.io/unreachable"}, "it gets no pods"
    second.revive()
    eventually(lambda: not taints())
    second.until(kube, ready=True)
    assert names() == {"own"}
    pods.kubectl("delete", "clusterrolebinding", pods.namespace)


def test_pods_leave_a_node_that_announces_its_end_as_their_budgets_allow(
    client: ApiServer, kube: Kube, pods: Pods, second: RealNode
) -> None:
    pods.apply(pod("plain", SECOND), pod("kept", SECOND), budget("kept"))
    pods.until("condition=Ready", "pod/plain", "pod/kept")
    cluster = Cluster(client, [pods.namespace])
    heartbeats, evictions = Heartbeats(), Evictions(cluster)

    def names() -> set[str]:
        reconcile(cluster, heartbeats, evictions, time.monotonic())
        return {one["metadata"]["name"] for one in kube.items(f"/api/v1/namespaces/{pods.namespace}/pods")}

    def taints() -> set[str]:
        reconcile(cluster, heartbeats, evictions, time.monotonic())
        return {each["key"] for each in (kube.get(f"/api/v1/nodes/{SECOND}") or {})["spec"].get("taints", ())}

    assert names() == {"plain", "kept"}
    pods.kubectl("taint", "node", SECOND, f"{_SPOT}=x:NoSchedule")
    try:
        eventually(lambda: names() == {"kept"})
        assert taints() == {_SPOT, leaving.TAINT}
        pods.kubectl("delete", "poddisruptionbudget", "kept")
        eventually(lambda: names() == set())
    finally:
        pods.kubectl("taint", "node", SECOND, f"{_SPOT}-")
    eventually(lambda: not taints())
    told = pods.field("events", ".items[?(@.reason=='NodeLeaving')].message").split("evicted: ")[1:]
    assert [each.strip() for each in told] == [f"node {SECOND} is a spot instance that EC2 reclaims in two minutes"] * 2
    pods.kubectl("delete", "clusterrolebinding", pods.namespace)


def test_the_agent_tells_of_a_drain_and_evicts_nothing_itself(
    client: ApiServer, kube: Kube, pods: Pods, second: RealNode
) -> None:
    slow = pod("slow", SECOND)
    slow["spec"]["terminationGracePeriodSeconds"] = 60
    slow["spec"]["containers"][0]["args"] = [
        "sh",
        "-c",
        "trap '' TERM; busybox httpd -p 8080; while :; do sleep 1; done",
    ]
    pods.apply(slow)
    pods.until("condition=Ready", "pod/slow")
    cluster = Cluster(client, [pods.namespace])
    pods.kubectl("cordon", SECOND)
    try:
        reconcile(cluster, Heartbeats(), Evictions(cluster), time.monotonic())
        assert pods.field("pod slow", ".metadata.deletionTimestamp") == ""
        pods.evict("slow")
        eventually(lambda: pods.field("pod slow", ".metadata.deletionTimestamp"))
        reconcile(cluster, Heartbeats(), Evictions(cluster), time.monotonic())
    finally:
        pods.kubectl("uncordon", SECOND)
    told = pods.field("events", ".items[?(@.reason=='NodeDrained')].message")
    assert told == f"evicted: node {SECOND} is drained"
    pods.kubectl("delete", "clusterrolebinding", pods.namespace)
