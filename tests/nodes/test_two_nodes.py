"""Two real nodes are one cluster: one network, the same volumes, and either can be drained or be lost."""

from __future__ import annotations

import math
import os
from typing import Any

from tensorplane.components.base import quantities
from tensorplane.core.kube import Kube
from tensorplane.embedded import cluster
from tensorplane.embedded.instance import Instance
from tests.nodes.pods import Pods, claim, deployment, pod, service
from tests.support.device_plugin import DevicePlugin
from tests.support.nodes import RealNode
from tests.support.waiting import eventually

FIRST, SECOND = "tensorplane", "tensorplane-2"
_DEVICE = "tensorplane.dev/test-device"
_BOTH = {"one": FIRST, "other": SECOND}


def test_the_nodes_divide_the_machine(instance: Instance, kube: Kube) -> None:
    assert cluster.node_names(instance) == [FIRST, SECOND]
    found = {node["metadata"]["name"]: node["status"]["allocatable"] for node in kube.items("/api/v1/nodes")}
    assert sorted(found) == [FIRST, SECOND]
    cores = {name: quantities.exact(size["cpu"]) for name, size in found.items()}
    assert math.isclose(sum(cores.values()), os.cpu_count() or 1, abs_tol=0.01)
    assert cores[FIRST] == cores[SECOND]
    machine = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    assert 0.9 * machine < sum(quantities.exact(size["memory"]) for size in found.values()) < machine
    labels = [node["metadata"]["labels"]["tensorplane.dev/flavor"] for node in kube.items("/api/v1/nodes")]
    assert labels == ["cpu", "cpu"]


def test_pods_of_both_nodes_reach_each_other_by_address_by_service_and_by_name(pods: Pods) -> None:
    pods.apply(service("web"), *(pod(name, node, app="web") for name, node in _BOTH.items()))
    pods.until("condition=Ready", "pod", "-l", "app=web")
    for asker in _BOTH:
        for asked in _BOTH:
            assert pods.page(asker, pods.field(f"pod {asked}", ".status.podIP")) == asked
        for host in ("web", f"web.{pods.namespace}.svc.cluster.local", pods.field("service web", ".spec.clusterIP")):
            came: set[str] = set()
            while came != _BOTH.keys():
                came.add(pods.page(asker, host, 80))


def test_kubectl_reads_logs_and_runs_commands_on_both_nodes(pods: Pods) -> None:
    pods.apply(*(pod(name, node) for name, node in _BOTH.items()))
    for name, node in _BOTH.items():
        pods.until("condition=Ready", f"pod/{name}")
        assert pods.kubectl("logs", name) == f"{name} serves\n"
        assert pods.run(name, "busybox hostname") == f"{name}\n"
        assert pods.field(f"pod {name}", ".spec.nodeName") == node


def test_a_volume_written_on_one_node_is_read_on_the_other(pods: Pods) -> None:
    pods.apply(claim("shared", "ReadWriteMany"), *(pod(name, node, claim="shared") for name, node in _BOTH.items()))
    for name in _BOTH:
        pods.until("condition=Ready", f"pod/{name}")
    for writer, reader in (("one", "other"), ("other", "one")):
        pods.run(writer, f"echo by {writer} > /data/{writer}")
        assert pods.run(reader, f"busybox cat /data/{writer}") == f"by {writer}\n"


def test_a_device_plugin_gives_its_devices_to_the_pods_of_its_node_alone(
    kube: Kube, pods: Pods, second: RealNode
) -> None:
    def devices(node: str) -> Any:
        return (kube.get(f"/api/v1/nodes/{node}") or {})["status"]["allocatable"].get(_DEVICE)

    has_one = pod("has-one", SECOND)
    has_one["spec"]["containers"][0]["resources"] = {"limits": {_DEVICE: "1"}}
    with DevicePlugin.on(second, _DEVICE, ["d0"]) as plugin:
        eventually(lambda: devices(SECOND) == "1")
        assert devices(FIRST) is None
        pods.apply(has_one)
        pods.until("condition=Ready", "pod/has-one")
        plugin.set_health("d0", healthy=False)
        eventually(lambda: devices(SECOND) == "0")


def test_a_drain_moves_a_pod_with_its_volume(kube: Kube, pods: Pods, second: RealNode) -> None:
    pods.apply(claim("kept", "ReadWriteOnce"), deployment("moved", SECOND, claim="kept"))
    pods.until("condition=Available", "deployment/moved")
    assert pods.field("pod -l app=moved", ".items[*].spec.nodeName") == SECOND
    pods.run("deployment/moved", "echo kept > /data/kept")
    try:
        pods.kubectl("drain", SECOND, "--pod-selector=app=moved", "--delete-emptydir-data")
        pods.until("condition=Available", "deployment/moved")
        assert pods.field("pod -l app=moved", ".items[*].spec.nodeName") == FIRST
        assert pods.run("deployment/moved", "busybox cat /data/kept") == "kept\n"
    finally:
        pods.kubectl("uncordon", SECOND)
    second.until(kube, ready=True)


def test_a_closed_node_takes_no_pods_until_it_is_open(kube: Kube, pods: Pods, second: RealNode) -> None:
    with second.closed(kube):
        pods.apply(deployment("meanwhile", SECOND))
        pods.until("condition=Available", "deployment/meanwhile")
        assert pods.field("pod -l app=meanwhile", ".items[*].spec.nodeName") == FIRST
    pods.apply(pod("afterwards", SECOND))
    pods.until("condition=Ready", "pod/afterwards")


def test_a_stopped_kubelet_is_a_lost_node_until_it_goes_on(kube: Kube, pods: Pods, second: RealNode) -> None:
    pods.apply(pod("there", SECOND), pod("here", FIRST))
    pods.until("condition=Ready", "pod/there", "pod/here")
    address = pods.field("pod there", ".status.podIP")
    second.stop()
    second.until(kube, ready=False)
    # Its containers do not know.
    assert pods.page("here", address) == "there"
    second.cont()
    second.until(kube, ready=True)
    assert pods.field("pod there", ".status.containerStatuses[0].restartCount") == "0"
