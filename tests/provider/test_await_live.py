"""Waiting against a real API server; the tests play the kubelet by writing pods' statuses.

Source of the semantics: provider/pkg/await/await.go and await/condition/deleted.go of pulumi-kubernetes v4.32, and its
CHANGELOG for `pulumi.com/waitFor`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from tensorplane.core.errors import ApiError
from tensorplane.core.gvk import GVK
from tensorplane.core.kube_objects import Objects
from tensorplane.plugins.kubernetes.await_ready import AwaitError, unready_reasons, wait_deleted, wait_ready
from tests.provider.await_support import LONG_SECONDS, MANAGER, Waiting, create, set_status
from tests.provider.objects import NO_AWAIT, config_map, never_ready
from tests.support.waiting import eventually

pytest_plugins = ["tests.provider.await_fixtures"]

Object = dict[str, Any]


def awaited_map(namespace: str, wait_for: str, **data: str) -> Object:
    """A ConfigMap that is waited for."""
    return config_map(namespace, data, annotations={"pulumi.com/waitFor": wait_for})


def test_config_map_is_not_awaited(api: Objects, namespace: str) -> None:
    made = create(api, config_map(namespace))
    assert wait_ready(api, made, timeout=None, cancelled=threading.Event(), log=print) is made


def test_skip_await_returns_at_once(api: Objects, namespace: str) -> None:
    made = create(api, never_ready(namespace, **NO_AWAIT))
    assert wait_ready(api, made, timeout=None, cancelled=threading.Event(), log=print) is made


def test_wait_for_returns_the_live_object_once_the_path_has_the_value(
    api: Objects, namespace: str, wait: Callable[..., Waiting]
) -> None:
    waiting = wait(create(api, awaited_map(namespace, "jsonpath={.data.state}=done", state="new")))
    waiting.says("found 'new'")
    api.apply(config_map(namespace, {"state": "half"}), manager=MANAGER, force=True)
    waiting.says("found 'half'")
    api.apply(config_map(namespace, {"state": "done"}), manager=MANAGER, force=True)
    live = waiting.end().result
    assert live is not None
    assert live["data"] == {"state": "done"}


def test_malformed_wait_for_is_an_error_of_the_made_object(
    api: Objects, namespace: str, wait: Callable[..., Waiting]
) -> None:
    error = wait(create(api, awaited_map(namespace, "state=done"))).end().error
    assert error is not None
    assert "pulumi.com/waitFor" in error.message


def test_timeout_carries_the_pods_reason_and_the_object(
    api: Objects, namespace: str, wait: Callable[..., Waiting]
) -> None:
    pod = create(api, never_ready(namespace, **{"pulumi.com/timeoutSeconds": "1"}))
    trouble = {"reason": "ImagePullBackOff", "message": 'Back-off pulling image "none:1"'}
    status = {"name": "main", "image": "none:1", "imageID": "", "ready": False, "restartCount": 0}
    # The wait begins with the whole evidence, and so has it when its time is up.
    pod = set_status(api, pod, phase="Pending", containerStatuses=[status | {"state": {"waiting": trouble}}])
    error = wait(pod, None).end().error
    assert error is not None
    assert "timed out waiting to be Ready (after 1 s)" in error.message
    assert error.reasons == ["container 'main': [ImagePullBackOff] Back-off pulling image \"none:1\""]
    assert error.obj["status"]["containerStatuses"]


def test_warning_events_become_reasons(api: Objects, namespace: str, wait: Callable[..., Waiting]) -> None:
    pod = create(api, never_ready(namespace))
    meta = pod["metadata"]
    about = {"apiVersion": "v1", "kind": "Pod", "name": "never", "namespace": namespace, "uid": meta["uid"]}
    event = {"apiVersion": "v1", "kind": "Event", "metadata": {"name": "e", "namespace": namespace}}
    words = {"type": "Warning", "reason": "FailedMount", "message": 'configmap "code" not found'}
    create(api, event | words | {"involvedObject": about})
    error = wait(pod, 0.1).end().error
    assert error is not None
    assert error.reasons == ['[FailedMount] configmap "code" not found (never)']


def test_failed_pod_fails_without_waiting(api: Objects, namespace: str, wait: Callable[..., Waiting]) -> None:
    pod = create(api, never_ready(namespace))
    waiting = wait(pod)
    waiting.says("to be scheduled")
    set_status(api, pod, phase="Failed", reason="Evicted", message="low on memory")
    error = waiting.end().error
    assert error is not None
    assert "failed to initialize" in error.message
    assert error.reasons == ["[Evicted] low on memory"]


def test_cancellation_ends_the_wait(api: Objects, namespace: str, wait: Callable[..., Waiting]) -> None:
    waiting = wait(create(api, never_ready(namespace)))
    waiting.says("to be scheduled")
    waiting.cancelled.set()
    error = waiting.end().error
    assert error is not None
    assert "cancelled" in error.message


def test_deletion_ends_the_wait(api: Objects, namespace: str, wait: Callable[..., Waiting]) -> None:
    pod = create(api, never_ready(namespace))
    waiting = wait(pod)
    waiting.says("to be scheduled")
    api.delete(GVK.of(pod), "never", namespace)
    error = waiting.end().error
    assert error is not None
    assert "was deleted" in error.message


def test_refresh_reports_what_is_not_ready(api: Objects, namespace: str) -> None:
    """await.go: Read returns the initialization error of the kinds that have `awaitRead`."""
    pod = create(api, never_ready(namespace))
    assert unready_reasons(api, pod) == [f"Waiting for Pod '{namespace}/never' to be scheduled"]
    assert unready_reasons(api, create(api, config_map(namespace))) == []
    skipped = {**pod, "metadata": pod["metadata"] | {"annotations": NO_AWAIT}}
    assert unready_reasons(api, skipped) == []


def delete(
    api: Objects,
    obj: Object,
    timeout: float,
    cancelled: threading.Event | None = None,
    log: Callable[[str], None] = lambda line: None,
) -> list[str]:
    lines: list[str] = []

    def keep(line: str) -> None:
        lines.append(line)
        log(line)

    wait_deleted(api, obj, timeout=timeout, cancelled=cancelled or threading.Event(), log=keep)
    return lines


def test_deletion_of_what_is_gone_returns_at_once(api: Objects, namespace: str) -> None:
    made = create(api, config_map(namespace))
    api.delete(GVK.of(made), "settings", namespace)
    delete(api, made, LONG_SECONDS)


def test_another_object_of_the_same_name_is_not_waited_for(api: Objects, namespace: str) -> None:
    made = create(api, config_map(namespace))
    api.delete(GVK.of(made), "settings", namespace)
    create(api, config_map(namespace))
    delete(api, made, LONG_SECONDS)


def test_finalizers_are_named_when_deletion_hangs(api: Objects, namespace: str) -> None:
    """deleted.go warns: "finalizers might be preventing deletion (…)" (issue 1418)."""
    made = create(api, config_map(namespace, finalizers=["example.org/hold"]))
    gvk = GVK.of(made)
    api.delete(gvk, "settings", namespace)
    with pytest.raises(AwaitError, match=r"still there after 0\.1 s") as failure:
        delete(api, made, 0.1)
    assert failure.value.reasons == ["finalizers might be preventing deletion (example.org/hold)"]

    def release(line: str) -> None:
        if "example.org/hold" in line:
            api.patch(gvk, "settings", namespace, {"metadata": {"finalizers": None}}, manager=MANAGER)

    assert "example.org/hold" in delete(api, made, LONG_SECONDS, log=release)[0]


def test_cancellation_ends_the_wait_for_deletion(api: Objects, namespace: str) -> None:
    made = create(api, config_map(namespace))
    cancelled = threading.Event()
    with pytest.raises(AwaitError, match="cancelled"):
        delete(api, made, LONG_SECONDS, cancelled, log=lambda line: cancelled.set())


def create_patiently(api: Objects, obj: Object) -> Object:
    """As the provider does: the server serves a kind a moment after it calls its CRD established."""

    def created() -> Object | None:
        try:
            return create(api, obj)
        except ApiError as error:
            assert error.not_found
            return None

    return eventually(created) or {}


def test_crd_is_established_and_its_objects_are_awaited_by_condition(
    api: Objects, namespace: str, wait: Callable[..., Waiting]
) -> None:
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    names = {"plural": "runs", "singular": "run", "kind": "Run"}
    spec = {"group": f"{namespace}.example.org", "scope": "Namespaced", "names": names, "versions": [version]}
    crd = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "spec": spec}
    made = create(api, crd | {"metadata": {"name": f"runs.{namespace}.example.org"}})
    try:
        assert wait(made).end().result is not None
        annotations = {"pulumi.com/waitFor": '["condition=Done", "jsonpath={.spec.size}=3"]'}
        metadata = {"name": "one", "namespace": namespace, "annotations": annotations}
        run = {"apiVersion": f"{namespace}.example.org/v1", "kind": "Run", "metadata": metadata, "spec": {"size": 3}}
        live = create_patiently(api, run)
        waiting = wait(live)
        waiting.says("condition Done=True")
        done = {"status": {"conditions": [{"type": "Done", "status": "True"}]}}
        api.patch(GVK.of(live), "one", namespace, done, manager=MANAGER)
        assert waiting.end().result is not None
    finally:
        api.delete(GVK.of(made), made["metadata"]["name"])
        delete(api, made, LONG_SECONDS)
