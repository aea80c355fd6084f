"""Waiting for what Kubernetes' own controllers do; the tests play only the kubelet, by writing pods' statuses.

Source of the semantics: the "waits until" docs of the SDK's classes (provider/pkg/gen/additionalComments.go) and
provider/pkg/await/*.go of pulumi-kubernetes v4.32.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import yaml

from tensorplane.core.gvk import GVK
from tensorplane.core.kube_objects import Objects
from tensorplane.plugins.kubernetes import await_network
from tensorplane.plugins.kubernetes.await_ready import unready_reasons
from tests.provider import control_plane
from tests.provider.await_support import LONG_SECONDS, MANAGER, Waiting, create, set_status
from tests.provider.objects import workload
from tests.support.waiting import eventually

pytest_plugins = ["tests.provider.await_fixtures"]

Object = dict[str, Any]
Wait = Callable[..., Waiting]

POD = GVK("", "v1", "Pod")
NOW = 0.1
"""A wait that looks once more and is over."""

CONTROLLERS = (
    "daemonset",
    "deployment",
    "endpointslice",
    "job",
    "replicaset",
    "replicationcontroller",
    "resourcequota",
    "statefulset",
)


@pytest.fixture(scope="module", autouse=True)
def controllers(kubeconfig: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The controllers of these tests, beside the few that the session's control plane has."""
    folder = tmp_path_factory.mktemp("controllers")
    (folder / "kubeconfig").write_text(yaml.safe_dump(kubeconfig))
    with control_plane.controllers(folder, *CONTROLLERS):
        yield


def a_job(namespace: str, **spec: Any) -> Object:
    pod = {"spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "none:1"}]}}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "train", "namespace": namespace},
        "spec": {"template": pod, "backoffLimit": 0} | spec,
    }


def pods(api: Objects, namespace: str, count: int) -> list[Object]:
    """The pods that controllers made, once there are so many."""

    def found() -> list[Object]:
        made = [pod for pod in api.list(POD, namespace) if "deletionTimestamp" not in pod["metadata"]]
        return made if len(made) == count else []

    return eventually(found)


def image_of(pod: Object) -> str:
    return str(pod["spec"]["containers"][0]["image"])


def run_pod(api: Objects, pod: Object) -> None:
    """What a kubelet reports of a pod that became ready. One without an address is in no Service."""
    ready = [{"type": kind, "status": "True"} for kind in ("PodScheduled", "Initialized", "ContainersReady", "Ready")]
    addresses = {"podIP": "10.1.2.3", "podIPs": [{"ip": "10.1.2.3"}]}
    set_status(api, pod, phase="Running", conditions=ready, **addresses)


def end_pod(api: Objects, pod: Object, exit_code: int, message: str = "") -> None:
    ended = {"exitCode": exit_code, "reason": "Error" if exit_code else "Completed", "message": message}
    status = {"name": "main", "image": "none:1", "imageID": "", "ready": False, "restartCount": 0}
    phase = "Failed" if exit_code else "Succeeded"
    set_status(api, pod, phase=phase, containerStatuses=[status | {"state": {"terminated": ended}}])


@pytest.mark.parametrize("kind", ["Deployment", "StatefulSet"])
def test_workload_is_ready_when_its_last_pod_is(api: Objects, namespace: str, wait: Wait, kind: str) -> None:
    parallel = {"podManagementPolicy": "Parallel", "serviceName": "web"} if kind == "StatefulSet" else {}
    waiting = wait(create(api, workload(kind, namespace, **parallel)))
    first, second = pods(api, namespace, 2)
    run_pod(api, first)
    waiting.says("(1/2 Pods ready)")
    run_pod(api, second)
    live = waiting.end().result
    assert live is not None
    assert live["status"]["readyReplicas"] == 2
    assert unready_reasons(api, live) == []


def test_deployment_update_is_awaited_until_the_new_pods_are_ready(api: Objects, namespace: str, wait: Wait) -> None:
    deployment = workload("Deployment", namespace, replicas=1, strategy={"type": "Recreate"})
    waiting = wait(create(api, deployment))
    run_pod(api, pods(api, namespace, 1)[0])
    assert waiting.end().result is not None
    deployment["spec"]["template"]["spec"]["containers"][0]["image"] = "none:2"
    waiting = wait(api.apply(deployment, manager=MANAGER, force=True))
    waiting.says("(0/1 Pods ready)")
    # The controller deletes the old pod, at once because it is on no node.
    (updated,) = eventually(lambda: [pod for pod in api.list(POD, namespace) if image_of(pod) == "none:2"])
    run_pod(api, updated)
    live = waiting.end().result
    assert live is not None
    assert live["metadata"]["annotations"]["deployment.kubernetes.io/revision"] == "2"


def test_deployment_error_carries_its_pods_reason_once(api: Objects, namespace: str, wait: Wait) -> None:
    deployment = create(api, workload("Deployment", namespace))
    trouble = {"reason": "ErrImagePull", "message": "none:1: not found"}
    status = {"name": "main", "image": "none:1", "imageID": "", "ready": False, "restartCount": 0}
    for pod in pods(api, namespace, 2):
        set_status(api, pod, containerStatuses=[status | {"state": {"waiting": trouble}}])
    gvk = GVK.of(deployment)

    def settled() -> Object | None:
        """The Deployment, once its controller has seen the pods: what is waited for has all from the beginning."""
        live = api.get(gvk, "web", namespace)
        return live if live.get("status", {}).get("unavailableReplicas") == 2 else None

    error = wait(eventually(settled), NOW).end().error
    assert error is not None
    assert "timed out" in error.message
    assert error.reasons[0].endswith("and 1 more] container 'main': [ErrImagePull] none:1: not found")
    assert sum("ErrImagePull" in reason for reason in error.reasons) == 1
    assert any("0 of 2 Pods" in reason for reason in error.reasons)


def test_deployment_that_quota_forbids_says_so(api: Objects, namespace: str, wait: Wait) -> None:
    quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "none", "namespace": namespace}}
    made = create(api, quota | {"spec": {"hard": {"pods": "0"}}})
    assert wait(made).end().result is not None
    deployment = create(api, workload("Deployment", namespace))
    gvk = GVK.of(deployment)

    def forbidden() -> Object | None:
        live = api.get(gvk, "web", namespace)
        return live if "exceeded quota" in str(live.get("status")) else None

    error = wait(eventually(forbidden), NOW).end().error
    assert error is not None
    assert any("exceeded quota" in reason for reason in error.reasons)


def test_daemon_set_without_nodes_is_ready(api: Objects, namespace: str, wait: Wait) -> None:
    daemon_set = workload("DaemonSet", namespace, replicas=None)
    daemon_set["spec"]["template"]["spec"]["nodeSelector"] = {"no": "such-node"}
    assert wait(create(api, daemon_set)).end().result is not None


def test_job_is_awaited_until_it_completes(api: Objects, namespace: str, wait: Wait) -> None:
    waiting = wait(create(api, a_job(namespace)))
    pod = pods(api, namespace, 1)[0]
    waiting.says("active: 1")
    end_pod(api, pod, 0)
    live = waiting.end().result
    assert live is not None
    assert live["status"]["succeeded"] == 1


def test_failed_job_fails_at_once_with_its_pods_last_words(api: Objects, namespace: str, wait: Wait) -> None:
    waiting = wait(create(api, a_job(namespace)))
    end_pod(api, pods(api, namespace, 1)[0], 3, "no such dataset")
    error = waiting.end().error
    assert error is not None
    assert "failed to initialize" in error.message
    assert "exit code 3: no such dataset" in error.reasons[0]
    assert any("BackoffLimitExceeded" in reason for reason in error.reasons)


def test_suspended_job_is_waited_for_until_the_time_is_up(api: Objects, namespace: str, wait: Wait) -> None:
    error = wait(create(api, a_job(namespace, suspend=True)), NOW).end().error
    assert error is not None
    assert "timed out" in error.message
    assert "suspended" in error.reasons[0]


@pytest.mark.parametrize(("mode", "ready"), [("WaitForFirstConsumer", True), ("Immediate", False)])
def test_pending_claim_is_ready_only_where_it_waits_for_its_first_consumer(
    api: Objects, namespace: str, wait: Wait, mode: str, ready: bool
) -> None:
    storage = {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": namespace}}
    made = create(api, storage | {"provisioner": "example.org/none", "volumeBindingMode": mode})
    metadata = {"name": "data", "namespace": namespace}
    spec: Object = {"storageClassName": namespace, "accessModes": ["ReadWriteOnce"]}
    spec |= {"resources": {"requests": {"storage": "1Mi"}}}
    claim = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata, "spec": spec}
    try:
        waiting = wait(create(api, claim), LONG_SECONDS if ready else NOW).end()
        assert (waiting.result is not None) == ready
        if waiting.error:
            assert "the claim is Pending" in waiting.error.reasons[0]
    finally:
        api.delete(GVK.of(made), namespace)


def test_service_waits_for_its_pods_and_then_until_they_settle(
    api: Objects, namespace: str, wait: Wait, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(await_network, "SETTLE_SECONDS", LONG_SECONDS)
    # Endpoints exist for pods on nodes only.
    node = create(api, {"apiVersion": "v1", "kind": "Node", "metadata": {"name": namespace}})
    deployment = workload("Deployment", namespace, replicas=1)
    deployment["spec"]["template"]["spec"] |= {"nodeName": namespace, "terminationGracePeriodSeconds": 0}
    create(api, deployment)
    pod = pods(api, namespace, 1)[0]
    not_ready = [{"type": "Ready", "status": "False"}]
    set_status(api, pod, phase="Running", conditions=not_ready, podIP="10.1.2.3", podIPs=[{"ip": "10.1.2.3"}])
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web", "namespace": namespace}}
    waiting = wait(create(api, service | {"spec": {"selector": {"app": "web"}, "ports": [{"port": 80}]}}))
    waiting.says("1 of 1 endpoints are not ready")
    run_pod(api, pod)
    waiting.says("is ready")
    # It goes on waiting: it hears of a change that comes now.
    waiting.lines.clear()
    set_status(api, pod, conditions=not_ready)
    waiting.says("1 of 1 endpoints are not ready")
    monkeypatch.setattr(await_network, "SETTLE_SECONDS", 0.0)
    run_pod(api, pod)
    assert waiting.end().result is not None
    api.delete(GVK.of(node), namespace)
