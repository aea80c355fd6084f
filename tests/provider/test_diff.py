"""What Diff calls a change, and what it calls a replacement.

Source of the semantics: Diff and convertPatchToDiff in provider/pkg/provider/provider.go, and the forceNew table in
provider/pkg/provider/diff.go, of pulumi-kubernetes v4.32.
"""

from __future__ import annotations

import copy
from typing import Any

import pytest
from pulumi.runtime.proto import provider_pb2

from tensorplane.core.gvk import GVK
from tensorplane.core.kube_objects import Objects
from tensorplane.plugins.kubernetes import paths
from tensorplane.plugins.kubernetes.values import UNKNOWN, Properties
from tests.provider.driver import CONFIG_MAP, Driver

KIND = provider_pb2.PropertyDiff.Kind

POD_SPEC = {"containers": [{"name": "main", "image": "a:1"}]}
TEMPLATE = {"metadata": {"labels": {"app": "x"}}, "spec": POD_SPEC}
SELECTOR = {"matchLabels": {"app": "x"}}


def obj(api_version: str, kind: str, **fields: Any) -> Properties:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": "x", "namespace": "ns"}, **fields}


DEPLOYMENT = obj("apps/v1", "Deployment", spec={"replicas": 1, "selector": SELECTOR, "template": TEMPLATE})
STATEFUL_SET = obj("apps/v1", "StatefulSet", spec={"serviceName": "a", "selector": SELECTOR, "template": TEMPLATE})
JOB = obj("batch/v1", "Job", spec={"parallelism": 1, "completions": 1, "backoffLimit": 1, "template": TEMPLATE})
CLAIM = obj(
    "v1",
    "PersistentVolumeClaim",
    spec={"accessModes": ["ReadWriteOnce"], "storageClassName": "a", "resources": {"requests": {"storage": "1Gi"}}},
)
CLASS = obj("storage.k8s.io/v1", "StorageClass", provisioner="a", parameters={"t": "1"}, reclaimPolicy="Delete")
VOLUME = obj("v1", "PersistentVolume", spec={"local": {"path": "/a"}, "capacity": {"storage": "1Gi"}})
SERVICE = obj("v1", "Service", spec={"clusterIP": "10.96.0.9", "ports": [{"port": 80}]})
BINDING = obj("rbac.authorization.k8s.io/v1", "RoleBinding", roleRef={"name": "a"}, subjects=[{"name": "a"}])
SETTINGS = obj("v1", "ConfigMap", data={"a": "1"})
PASSWORD = obj("v1", "Secret", type="Opaque", data={"a": "MQ=="})
POD = obj("v1", "Pod", spec=POD_SPEC)
CUSTOM = obj("jobset.x-k8s.io/v1alpha2", "JobSet", spec={"replicatedJobs": [{"name": "a", "template": TEMPLATE}]})


def state_of(inputs: Properties, **live: Any) -> Properties:
    """The state after `inputs` were applied and the server added `live`."""
    return {**copy.deepcopy(inputs), **live, "__inputs": inputs, "__initialApiVersion": inputs["apiVersion"]}


def token(inputs: Properties) -> str:
    group = inputs["apiVersion"] if "/" in inputs["apiVersion"] else f"core/{inputs['apiVersion']}"
    return f"kubernetes:{group}:{inputs['kind']}"


def changed(inputs: Properties, path: str, value: Any) -> Properties:
    news = copy.deepcopy(inputs)
    paths.put(news, paths.parse(path), value)
    return news


def kinds(difference: Any) -> dict[str, str]:
    return {path: KIND.Name(found.kind) for path, found in difference.detailedDiff.items()}


@pytest.mark.parametrize(
    ("inputs", "path", "value", "replaces"),
    [
        (DEPLOYMENT, "spec.selector.matchLabels.app", "y", True),
        (DEPLOYMENT, "spec.template.spec.containers[0].image", "a:2", False),
        (STATEFUL_SET, "spec.serviceName", "b", True),
        (STATEFUL_SET, "spec.template.metadata.labels.app", "y", False),
        (JOB, "spec.template.spec.containers[0].image", "a:2", True),
        (JOB, "spec.parallelism", 2, True),
        (JOB, "spec.completions", 2, True),
        (JOB, "spec.backoffLimit", 2, False),
        (CLAIM, "spec.storageClassName", "b", True),
        (CLAIM, "spec.accessModes[0]", "ReadWriteMany", True),
        (CLAIM, "spec.resources.requests.storage", "2Gi", False),
        (CLASS, "parameters.t", "2", True),
        (CLASS, "provisioner", "b", True),
        (CLASS, "reclaimPolicy", "Retain", False),
        (VOLUME, "spec.local.path", "/b", True),
        (VOLUME, "spec.capacity.storage", "2Gi", False),
        (SERVICE, "spec.clusterIP", "10.96.0.8", True),
        (SERVICE, "spec.ports[0].port", 81, False),
        (BINDING, "roleRef.name", "b", True),
        (BINDING, "subjects[0].name", "b", False),
        (SETTINGS, "data.a", "2", True),
        (SETTINGS, "metadata.labels.b", "c", False),
        (PASSWORD, "data.a", "Mg==", True),
        (PASSWORD, "type", "tls", True),
        (POD, "spec.containers[0].image", "a:2", True),
        (POD, "spec.nodeSelector.a", "b", True),
        (POD, "spec.activeDeadlineSeconds", 5, False),
        (CUSTOM, "spec.replicatedJobs[0].template.spec.containers[0].image", "a:2", False),
        (DEPLOYMENT, "metadata.name", "y", True),
        (CUSTOM, "metadata.namespace", "elsewhere", True),
    ],
)
def test_what_replaces(provider: Driver, inputs: Properties, path: str, value: Any, replaces: bool) -> None:
    difference = provider.diff(token(inputs), state_of(inputs), changed(inputs, path, value))
    assert difference.changes == provider_pb2.DiffResponse.DIFF_SOME
    assert bool(difference.replaces) == replaces, kinds(difference)


def test_a_replacement_of_the_same_name_deletes_first(provider: Driver) -> None:
    """Source: the comment on deleteBeforeReplace in Diff."""
    news = changed(JOB, "spec.parallelism", 2)
    assert provider.diff(token(JOB), state_of(JOB), news).deleteBeforeReplace
    renamed = changed(news, "metadata.name", "y")
    assert not provider.diff(token(JOB), state_of(JOB), renamed).deleteBeforeReplace
    autonamed = changed(JOB, 'metadata.annotations["pulumi.com/autonamed"]', "true")
    difference = provider.diff(token(JOB), state_of(autonamed), changed(autonamed, "spec.parallelism", 2))
    assert difference.replaces == ["spec.parallelism"]
    assert not difference.deleteBeforeReplace, "the engine gives it another name"


def test_what_the_cluster_fills_in_is_no_change(provider: Driver) -> None:
    live = copy.deepcopy(DEPLOYMENT["spec"])
    live["strategy"] = {"type": "RollingUpdate"}
    live["template"]["spec"]["containers"][0]["imagePullPolicy"] = "IfNotPresent"
    state = state_of(DEPLOYMENT, spec=live, status={"replicas": 1})
    assert provider.diff(token(DEPLOYMENT), state, DEPLOYMENT).changes == provider_pb2.DiffResponse.DIFF_NONE


def test_another_spelling_of_the_same_is_no_change(provider: Driver) -> None:
    """The server stores quantities in a form of its own and drops empty values.

    Source: normalizeInputs in provider.go, which sends inputs through the Go types for this.
    """
    container = {
        "name": "main",
        "resources": {"requests": {"cpu": "1000m", "memory": "1024Mi"}},
        "env": [],
        "tty": False,
    }
    stored = {"name": "main", "resources": {"requests": {"cpu": "1", "memory": "1Gi"}}}
    inputs = obj("v1", "Pod", spec={"containers": [container], "hostNetwork": False})
    state = state_of(inputs, spec={"containers": [stored]})
    assert kinds(provider.diff(token(inputs), state, inputs)) == {}
    more = changed(inputs, "spec.containers[0].resources.requests.memory", "2048Mi")
    assert list(kinds(provider.diff(token(inputs), state, more))) == ["spec.containers[0].resources.requests.memory"]


def test_an_empty_value_that_is_new_is_a_change(provider: Driver) -> None:
    news = changed(POD, "spec.automountServiceAccountToken", False)
    assert kinds(provider.diff(token(POD), state_of(POD), news)) == {"spec.automountServiceAccountToken": "ADD_REPLACE"}


def live_job(provider: Driver, namespace: str, **fields: Any) -> tuple[Properties, str, Properties]:
    """A Job of the cluster with more `fields` in its pods, its id and its state."""
    inputs = copy.deepcopy(JOB)
    inputs["metadata"] = {"name": "x", "namespace": namespace, "annotations": {"pulumi.com/skipAwait": "true"}}
    inputs["spec"]["template"]["spec"] |= {"restartPolicy": "Never", **fields}
    return inputs, *provider.create(token(JOB), inputs)


EMPTY: Properties = {
    "volumes": [],
    "hostNetwork": False,
    "nodeSelector": {},
    "serviceAccountName": "",
    "schedulerName": "",
    "containers": [{"name": "main", "image": "a:1", "env": [], "tty": False, "resources": {"limits": {}}}],
}


def test_empty_values_are_no_change_once_the_cluster_was_read(provider: Driver, namespace: str) -> None:
    """`pulumi up --refresh` of an unchanged program must not run a Job again."""
    inputs, resource_id, state = live_job(provider, namespace, **EMPTY)
    assert kinds(provider.diff(token(JOB), state, inputs)) == {}
    _, refreshed, found = provider.read(token(JOB), resource_id, inputs, state)
    assert found["spec"]["template"]["spec"]["hostNetwork"] is False
    assert kinds(provider.diff(token(JOB), refreshed, provider.check(token(JOB), inputs, found))) == {}


def test_empty_values_that_are_new_are_no_change_where_the_server_stores_none(provider: Driver, namespace: str) -> None:
    """A state of Pulumi's plugin holds no empty values; the program may."""
    inputs, _, state = live_job(provider, namespace)
    news = copy.deepcopy(inputs)
    news["spec"]["template"]["spec"] |= EMPTY
    assert kinds(provider.diff(token(JOB), state, news)) == {}


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("spec.template.spec.automountServiceAccountToken", False),
        ("spec.template.spec.terminationGracePeriodSeconds", 0),
        ("spec.template.spec.containers[0].args", [""]),
        ("spec.template.spec.containers[0].image", ""),
    ],
)
def test_an_empty_value_that_the_server_stores_is_a_change(
    provider: Driver, namespace: str, path: str, value: Any
) -> None:
    inputs, _, state = live_job(provider, namespace)
    assert provider.diff(token(JOB), state, changed(inputs, path, value)).replaces == [path]


def test_an_empty_value_instead_of_another_is_a_change(provider: Driver, namespace: str) -> None:
    inputs, resource_id, state = live_job(provider, namespace, hostNetwork=True, nodeSelector={"a": "b"})
    _, refreshed, _ = provider.read(token(JOB), resource_id, inputs, state)
    for known in (state, refreshed):
        news = changed(inputs, "spec.template.spec.hostNetwork", False)
        news["spec"]["template"]["spec"]["nodeSelector"] = {}
        assert set(kinds(provider.diff(token(JOB), known, news))) == {
            "spec.template.spec.hostNetwork",
            "spec.template.spec.nodeSelector.a",
        }


def test_drift_to_nothing_is_found_though_nothing_was_given(provider: Driver, api: Objects, namespace: str) -> None:
    """A server that stored the empty value and has it no more: that is drift, not a value that means nothing."""
    inputs = copy.deepcopy(DEPLOYMENT)
    inputs["metadata"] = {"name": "x", "namespace": namespace, "annotations": {"pulumi.com/skipAwait": "true"}}
    inputs["spec"]["template"]["spec"] = {**POD_SPEC, "automountServiceAccountToken": False}
    resource_id, state = provider.create(token(DEPLOYMENT), inputs)
    removed = {"spec": {"template": {"spec": {"automountServiceAccountToken": None}}}}
    api.patch(GVK("apps", "v1", "Deployment"), "x", namespace, removed, manager="someone")
    _, refreshed, found = provider.read(token(DEPLOYMENT), resource_id, inputs, state)
    assert "automountServiceAccountToken" not in found["spec"]["template"]["spec"]
    assert kinds(provider.diff(token(DEPLOYMENT), refreshed, inputs)) == {
        "spec.template.spec.automountServiceAccountToken": "ADD"
    }


def test_kinds_of_change(provider: Driver) -> None:
    old = obj("v1", "Service", spec={"type": "A", "ports": [{"port": 1}, {"port": 2}], "gone": {"x": 1}})
    new = obj("v1", "Service", spec={"type": UNKNOWN, "ports": [{"port": 1, "name": "n"}], "fresh": {"y": 1}})
    assert kinds(provider.diff(token(old), state_of(old), new)) == {
        "spec.type": "UPDATE",
        "spec.ports[0].name": "ADD",
        "spec.ports[1]": "DELETE",
        "spec.gone": "DELETE",
        "spec.fresh": "ADD",
    }


def test_ignored_changes_are_no_change(provider: Driver) -> None:
    old = changed(SETTINGS, 'metadata.annotations["a.b/c"]', "1")
    new = changed(changed(old, 'metadata.annotations["a.b/c"]', "2"), "data.a", "2")
    ignored = ("data", 'metadata.annotations["a.b/c"]')
    assert provider.diff(CONFIG_MAP, state_of(old), new).changes == provider_pb2.DiffResponse.DIFF_SOME
    assert provider.diff(CONFIG_MAP, state_of(old), new, ignore=ignored).changes == provider_pb2.DiffResponse.DIFF_NONE


def test_the_default_namespace_may_be_left_out(provider: Driver) -> None:
    inputs = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}, "data": {"a": "1"}}
    state = state_of(inputs, metadata={"name": "x", "namespace": "default"})
    named = changed(inputs, "metadata.namespace", "default")
    assert kinds(provider.diff(CONFIG_MAP, state, named)) == {}
