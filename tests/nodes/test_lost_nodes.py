"""A real node that is killed or cut off is lost until it comes back, and leaves nothing behind."""

from __future__ import annotations

import os
import re
import signal
from datetime import UTC, datetime, timedelta

import pytest

from tensorplane.cli.commands.why import nodes
from tensorplane.cli.kueue.objects import JobObjects
from tensorplane.core.kube import Kube
from tensorplane.core.step import Step
from tensorplane.embedded import cluster
from tensorplane.embedded.cluster import processes
from tensorplane.embedded.instance import Instance
from tests.cluster import shell
from tests.cluster.remains import remains
from tests.nodes.pods import Pods, deployment, pod
from tests.support.nodes import Direction, RealNode
from tests.support.waiting import eventually

FIRST, SECOND = "tensorplane", "tensorplane-2"
_LATER = datetime.now(UTC) + timedelta(hours=1)

pytestmark = pytest.mark.nightly("a minute for each lost node; test_two_nodes.py loses one")


@pytest.fixture
def page(pods: Pods) -> str:
    """The address of a pod on the second node, which another one on the first asks."""
    pods.apply(pod("there", SECOND), pod("here", FIRST))
    pods.until("condition=Ready", "pod/there", "pod/here")
    return pods.field("pod there", ".status.podIP")


@pytest.mark.parametrize("direction", ["in", "out", "both"])
def test_a_node_that_is_cut_off_is_lost_until_the_cut_is_mended(
    kube: Kube, pods: Pods, page: str, second: RealNode, direction: Direction
) -> None:
    second.cut(direction)
    assert pods.fails("here", f"busybox wget -q -T 2 -O - http://{page}:8080/")
    second.until(kube, ready=False)
    second.mend()
    second.until(kube, ready=True)
    assert pods.page("here", page) == "there"


def test_a_killed_containerd_comes_back_and_its_pods_run_on(pods: Pods, page: str, second: RealNode) -> None:
    former = second.pid("containerd")
    second.kill("containerd")
    assert pods.page("here", page) == "there"
    eventually(lambda: second.runs("containerd") and second.pid("containerd") != former)
    eventually(lambda: not pods.fails("there", "true"))
    assert pods.field("pod there", ".status.containerStatuses[0].restartCount") == "0"


def test_a_program_that_is_to_stay_dead_is_not_started_until_it_is_revived(second: RealNode) -> None:
    former = second.pid("containerd")
    second.kill("containerd", stays_dead=True)
    assert not second.runs("containerd")
    second.revive("containerd")
    eventually(lambda: second.runs("containerd") and second.pid("containerd") != former)


def test_a_killed_node_ends_at_once_and_starts_again_with_its_pods(
    instance: Instance, pods: Pods, page: str, second: RealNode
) -> None:
    before = second.pids
    second.kill()
    assert not before & second.pids
    eventually(lambda: pods.field("pod there", ".status.containerStatuses[0].restartCount") == "1")
    pods.until("condition=Ready", "pod/there")
    again = pods.field("pod there", ".status.podIP")
    assert pods.page("here", again) == "there"


def test_a_node_that_is_to_stay_dead_is_lost_until_it_is_revived(kube: Kube, second: RealNode) -> None:
    second.kill(stays_dead=True)
    second.until(kube, ready=False)
    assert second.pids == set()
    second.revive()
    second.until(kube, ready=True)


def test_one_node_is_what_it_was_before_a_second_one(
    instance: Instance, kube: Kube, capfd: pytest.CaptureFixture[str]
) -> None:
    def names() -> list[str]:
        return [node["metadata"]["name"] for node in kube.items("/api/v1/nodes")]

    cluster.start(instance, Step("cluster"), nodes=1)
    assert "its number of real nodes changes from 2 to 1" in capfd.readouterr().err
    assert names() == [FIRST]
    assert [path for name in ("node-2*", "kubelet*-2.pem") for path in instance.home.rglob(name)] == []
    cluster.start(instance, Step("cluster"))
    assert capfd.readouterr().err == ""
    assert names() == [FIRST]
    cluster.start(instance, Step("cluster"), nodes=2)
    assert "its number of real nodes changes from 1 to 2" in capfd.readouterr().err
    assert names() == cluster.node_names(instance) == [FIRST, SECOND]
    shell.load_image(instance, Step("shell image"))


def test_nothing_remains_of_a_second_node_after_a_kill_of_the_first_process(instance: Instance, page: str) -> None:
    pids = RealNode(instance, 2).pids
    assert pids
    alive = processes.find(instance)
    assert alive
    os.kill(alive.pid, signal.SIGKILL)
    eventually(lambda: not [line for line in remains(instance) if line.startswith("process")])
    cluster.stop(instance)
    assert remains(instance) == []
    cluster.start(instance, Step("cluster"))
    assert cluster.node_names(instance) == [FIRST, SECOND]


def test_the_command_of_why_ends_what_nothing_ends_by_force(kube: Kube, pods: Pods, second: RealNode) -> None:
    """As a JobSet's Jobs, this one replaces pods once they have failed, which a dead node does not report."""
    job = deployment("trains", SECOND)
    template = {"metadata": {}, "spec": {**job["spec"]["template"]["spec"], "restartPolicy": "Never"}}
    spec = {"template": template, "podReplacementPolicy": "Failed"}
    pods.apply({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "trains"}, "spec": spec})
    of_job = "pods -l job-name=trains"
    eventually(lambda: pods.field(of_job, ".items[*].status.phase") == "Running")
    assert pods.field(of_job, ".items[*].spec.nodeName") == SECOND
    second.kill(stays_dead=True)
    second.until(kube, ready=False)
    pods.kubectl("delete", *of_job.split(), "--force", "--grace-period=0", "--wait=false")
    (line,) = nodes.lines(JobObjects(kube.items(f"/api/v1/namespaces/{pods.namespace}/pods")), _LATER)
    off, back = re.findall(r": kubectl (taint [^;]+)", line)
    pods.kubectl(*off.split())
    try:
        eventually(lambda: pods.field(of_job, ".items[*].spec.nodeName") == FIRST)
    finally:
        second.revive()
        pods.kubectl(*back.split())
