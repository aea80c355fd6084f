"""Ways around the quotas of GPUs, drawn: whoever makes a pod, wherever, however it asks, it gets none without a queue.

Pods are made as controllers make them, so that a way ends where the API server decides.
"""

from __future__ import annotations

import copy
import random
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

from tensorplane.cli.commands.check import guarded_pods
from tensorplane.components.admission import gpu_guard
from tensorplane.components.admission.namespaces import Spaces
from tensorplane.core.errors import ApiError
from tensorplane.core.gvk import GVK
from tensorplane.core.kube_objects import Objects
from tensorplane.stack.gpu_guard import spaces_of
from tests.queues import in_force
from tests.queues.docs_job import TEAM, example, makers, pod, template_of
from tests.queues.jobs import POD, Jobs, Object
from tests.support import counts
from tests.support.accelerator_names import HARMLESS, SIMILAR, SOURCES
from tests.support.impersonated import impersonated
from tests.support.simulated import Simulated
from tests.support.waiting import eventually

COUNT = counts.of(quick=60, nightly=600)
MASTERS = "system:masters"
AskedBy = Callable[..., Objects]
OTHER, ALLOWED, RUNTIME = "other", "allowed", "takes-gpus"
CONTROLLER = "system:serviceaccount:kube-system:{}-controller"
RESOURCES = sorted((SOURCES.keys() | SIMILAR) - {"deviceclass.resource.kubernetes.io/gpu.nvidia.com"})
OVERHEAD = {"nvidia.com/gpu": "8"}
GATE = {"schedulingGates": [{"name": "kueue.x-k8s.io/admission"}]}


_OWNER = {"apiVersion": "batch/v1", "kind": "JobSet", "name": "a", "uid": "a", "controller": True}


@pytest.fixture(scope="module")
def others(jobs: Jobs) -> Iterator[None]:
    """Namespaces that no stack manages, one of which may have GPUs, and a RuntimeClass whose pods take some."""
    made: list[Object] = [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": OTHER}},
        {
            "apiVersion": "v1",
            "kind": "Namespace",
            "metadata": {"name": ALLOWED, "labels": {gpu_guard.ALLOWED: "allowed"}},
        },
        {
            "apiVersion": "node.k8s.io/v1",
            "kind": "RuntimeClass",
            "metadata": {"name": RUNTIME},
            "handler": "runc",
            "overhead": {"podFixed": OVERHEAD},
        },
    ]
    for each in made:
        jobs.api.apply(each, manager="test")
    # Every namespace has this account a moment later.
    eventually(lambda: jobs.refusal(plain(OTHER)) == jobs.refusal(plain(ALLOWED)) == "")
    eventually(lambda: "no queue or quota gives them" in jobs.refusal(pod(example(), OTHER)))
    yield
    for each in reversed(made):
        jobs.api.delete(GVK.parse(each["apiVersion"], each["kind"]), each["metadata"]["name"])


@pytest.fixture(scope="module")
def asked_by(fleet: Simulated) -> AskedBy:
    """The API server for a user, and for groups beside those that it adds."""
    return lambda user, *groups: Objects(impersonated(fleet.instance, user, *groups))


def plain(namespace: str) -> Object:
    """A pod without GPUs."""
    found = pod(example(labels={}), namespace)
    found["spec"]["containers"][0]["resources"] = {}
    return found


def asking(draw: random.Random, namespace: str) -> Object:
    """A pod that asks for GPUs in one of the ways that Kubernetes has."""
    found = plain(namespace)
    spec = found["spec"]
    (container,) = spec["containers"]
    taken = {draw.choice(RESOURCES): draw.choice(["1", "8"])}
    resources = {"limits": taken, "requests": dict(taken)} if draw.random() < 0.5 else {"limits": taken}
    way = draw.choice(["container", "second", "init", "sidecar", "class", "claim", "template", "overhead"])
    if way == "container":
        container["resources"] = resources
    elif way == "second":
        spec["containers"].append({**container, "name": "second", "resources": resources})
    elif way == "init":
        spec["initContainers"] = [{**container, "name": "first", "resources": resources}]
    elif way == "sidecar":
        spec["initContainers"] = [{**container, "name": "first", "restartPolicy": "Always", "resources": resources}]
    elif way == "class":
        container["resources"] = {"limits": {"deviceclass.resource.kubernetes.io/gpu.nvidia.com": "1"}}
    elif way == "overhead":
        spec["runtimeClassName"] = RUNTIME
    else:
        spec["resourceClaims"] = [{"name": "a", f"resourceClaim{'Template' if way == 'template' else ''}Name": "eight"}]
        container["resources"] = {"claims": [{"name": "a"}]}
    return found


def disguised(draw: random.Random, found: Object) -> Object:
    """The same as if it were something that may have GPUs."""
    metadata, spec = found["metadata"], found["spec"]
    for what in draw.sample(["label", "owner", "gate", "account", "queue", "allowed", "hidden"], draw.randint(0, 3)):
        if what == "label":
            metadata.setdefault("labels", {})[gpu_guard.ADMITTED] = "worker"
        elif what == "owner":
            api, kind = draw.choice(["batch/v1", "apps/v1", "batch.volcano.sh/v1"]), draw.choice(["Job", "ReplicaSet"])
            owner = {"apiVersion": api, "kind": kind, "name": "a", "uid": "a", "controller": True}
            metadata["ownerReferences"] = [owner]
        elif what == "gate":
            spec |= copy.deepcopy(GATE)
        elif what == "account":
            spec["serviceAccountName"] = "default"
        elif what == "queue":
            metadata.setdefault("labels", {})["kueue.x-k8s.io/queue-name"] = "research"
        elif what == "allowed":
            metadata.setdefault("labels", {})[gpu_guard.ALLOWED] = "allowed"
        else:
            spec["priorityClassName"] = "system-node-critical"
    return found


def is_of_admitted_job(found: Object, user: str, own: list[str]) -> bool:
    """Whether a pod is what a controller makes of a template to which Kueue, and nobody else, can add its label."""
    metadata = found["metadata"]
    owners = [(owner["apiVersion"], owner["kind"]) for owner in metadata.get("ownerReferences", ())]
    labelled = gpu_guard.ADMITTED in metadata.get("labels", {})
    by_job = ("batch/v1", "Job") in owners and user == CONTROLLER.format("job")
    return metadata["namespace"] in own and labelled and by_job


def is_refused_again(jobs: Jobs, found: Object) -> bool:
    """What `check --cluster` says of such a pod if it runs."""
    overhead = OVERHEAD if "runtimeClassName" in found["spec"] else {}
    return guarded_pods.is_refused({**found, "spec": {**found["spec"], "overhead": overhead}}, spaces_of(jobs.resolved))


@pytest.mark.counted
def test_no_way_around_the_queues_gets_gpus(jobs: Jobs, asked_by: AskedBy, others: None) -> None:
    draw, let_in = random.Random(counts.seed()), []
    own = [jobs.stack, TEAM]
    for _ in range(COUNT):
        namespace = draw.choice([*own, OTHER, "default", "kube-system"])
        controllers = [CONTROLLER.format(name) for name in ("job", "job", "replicaset", "daemon-set", "statefulset")]
        controllers.append("system:serviceaccount:kueue-system:kueue-controller-manager")
        user = draw.choice(["admin", f"system:serviceaccount:{namespace}:default", *controllers])
        found = disguised(draw, asking(draw, namespace))
        try:
            asked_by(user, MASTERS).create(found, manager="test", dry_run=True)
        except ApiError as error:
            assert "GPUs and resourceClaims" in str(error) or "exceeded quota" in str(error), (user, found, str(error))
            by_controller = user == CONTROLLER.format("job")
            if namespace in own and by_controller and "Kueue did not admit this pod" in str(error):
                assert is_refused_again(jobs, found), found
            continue
        assert namespace not in own or not is_refused_again(jobs, found), found
        if not is_of_admitted_job(found, user, own):
            let_in.append((user, found))
    assert let_in == []


def test_only_kueue_says_that_a_job_is_admitted_in_every_namespace_of_the_stack(jobs: Jobs) -> None:
    for namespace in (jobs.stack, TEAM):
        for thing in (example(), *makers(example())):
            forged = {**thing, "metadata": {**thing["metadata"], "namespace": namespace}}
            template = template_of(thing) if thing["kind"] == "JobSet" else _template(thing)
            template["metadata"] = {"labels": {"a": "b", gpu_guard.ADMITTED: "worker"}}
            assert "only Kueue sets this label" in jobs.refusal(forged), (namespace, thing["kind"])


def _template(thing: Object) -> Object:
    found: Object = (
        thing["spec"]["jobTemplate"]["spec"]["template"] if thing["kind"] == "CronJob" else thing["spec"]["template"]
    )
    return found


def test_a_pod_that_waits_for_kueue_starts_by_kueue_alone(jobs: Jobs) -> None:
    """And is created only where Kueue admits pods: elsewhere anything that takes the gate away would start it."""

    def waiting(namespace: str) -> Object:
        found = pod(example(), namespace)
        found["spec"] |= GATE
        found["metadata"]["name"] = "waiting"
        return found

    for namespace in (TEAM, jobs.stack):
        assert "Kueue did not admit this pod" in jobs.refusal(waiting(namespace))
    with in_force.policy(jobs, "gated", gpu_guard.own_pods, {"research": []}, only_job_sets=False):
        eventually(lambda: "Kueue did not admit this pod" in jobs.refusal(pod(example(), "gated")))
        jobs.api.create(waiting("gated"), manager="test")
        with pytest.raises(ApiError, match="Kueue did not admit this pod"):
            jobs.api.patch(POD, "waiting", "gated", {"spec": {"schedulingGates": None}}, manager="test")


def test_accounts_that_deploy_to_a_namespace_are_no_controllers(jobs: Jobs, asked_by: AskedBy) -> None:
    """Those of other namespaces, unlike the controllers, may not write the status of Jobs."""
    about = {"name": "deploys", "namespace": TEAM}
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "admin"}
    account = {"kind": "ServiceAccount", "name": "default", "namespace": "default"}
    binding = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": about}
    jobs.api.apply({**binding, "roleRef": role, "subjects": [account]}, manager="test")
    found = pod(example(), TEAM)
    found["metadata"] |= {"labels": {gpu_guard.ADMITTED: "worker"}, "ownerReferences": [{**_OWNER, "kind": "Job"}]}

    def refusal() -> str:
        try:
            asked_by("system:serviceaccount:default:default").create(found, manager="test", dry_run=True)
        except ApiError as error:
            return str(error)
        return ""

    try:
        eventually(lambda: 'cannot create resource "pods"' not in refusal())
        assert "Kueue did not admit this pod" in refusal()
    finally:
        jobs.api.delete(GVK("rbac.authorization.k8s.io", "v1", "RoleBinding"), "deploys", TEAM)


@pytest.mark.parametrize(
    "added",
    [
        {"runtimeClassName": RUNTIME},
        # Of a template without devices, which Kueue admits.
        {"resourceClaims": [{"name": "a", "resourceClaimTemplateName": "changed"}]},
    ],
    ids=["by a RuntimeClass", "by a claim's template"],
)
def test_an_admitted_job_gains_no_gpus(jobs: Jobs, asked_by: AskedBy, others: None, added: Object) -> None:
    """What names them may have changed since Kueue counted it."""
    found = plain(TEAM)
    found["metadata"] |= {"labels": {gpu_guard.ADMITTED: "worker"}, "ownerReferences": [{**_OWNER, "kind": "Job"}]}
    api = asked_by(CONTROLLER.format("job"), MASTERS)
    api.create(found, manager="test", dry_run=True)
    found["spec"] |= added
    with pytest.raises(ApiError, match="Kueue did not admit this pod"):
        api.create(found, manager="test", dry_run=True)


def test_running_pods_gain_no_gpus(jobs: Jobs, others: None) -> None:
    """By an ephemeral container, or by a resize."""
    running = plain(OTHER)
    running["metadata"]["name"] = "running"
    jobs.api.create(running, manager="test")
    gpus = {"limits": {"nvidia.com/gpu": "1"}}
    added = {"ephemeralContainers": [{"name": "added", "image": "a", "resources": gpus}]}
    resized = {"containers": [{"name": running["spec"]["containers"][0]["name"], "resources": gpus}]}
    try:
        for way, spec in (("ephemeralcontainers", added), ("resize", resized)):
            with pytest.raises(ApiError, match=r"Forbidden|forbidden|Invalid|not allowed"):
                jobs.api.patch(POD, f"running/{way}", OTHER, {"spec": spec}, manager="test")
    finally:
        jobs.api.delete(POD, "running", OTHER)


def test_messages_name_the_queues_of_the_namespace_and_what_helps(jobs: Jobs, others: None) -> None:
    assert "(queues here: research), as tensorplane run does" in jobs.refusal(pod(example(), TEAM))
    assert "(queues here: batch, production, research, serving)" in jobs.refusal(pod(example(), jobs.stack))
    told = jobs.refusal(pod(example(), OTHER))
    assert "run it in a queue (batch, production, research, serving) of tensorplane-dev with tensorplane run" in told
    assert "or label the namespace tensorplane.dev/gpus=allowed" in told


def test_without_queues_declared_workloads_alone_get_gpus_and_those_of_the_catalog(
    jobs: Jobs, asked_by: AskedBy
) -> None:
    namespace = "unqueued"

    def made_for(spaces: Spaces) -> Object:
        return gpu_guard.own_pods(replace(spaces, stack=namespace, teams={}, kinds={}, unqueued=["server"]))

    def told(account: str, resource: str, by: str = "replicaset", owner: str = "apps/v1") -> str:
        found = plain(namespace)
        found["metadata"]["ownerReferences"] = [{**_OWNER, "apiVersion": owner, "kind": "ReplicaSet"}]
        found["spec"] |= {"serviceAccountName": account}
        found["spec"]["containers"][0]["resources"] = {"limits": {resource: "1"}}
        try:
            asked_by(CONTROLLER.format(by), MASTERS).create(found, manager="test", dry_run=True)
        except ApiError as error:
            return str(error)
        return ""

    with in_force.policy(jobs, namespace, made_for, {}):
        for account in ("server", "other"):
            about = {"name": account, "namespace": namespace}
            jobs.api.apply({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": about}, manager="test")
        refused = "this namespace keeps them for workloads of the stack"
        eventually(lambda: refused in told("other", "nvidia.com/gpu"))
        assert told("server", "nvidia.com/gpu") == told("server", "google.com/tpu") == told("other", "cpu") == ""
        assert "declare the workload in the settings" in told("server", "amd.com/gpu")
        # Anyone who may create pods can name an account, and an owner.
        for by, owner in (("statefulset", "apps/v1"), ("replicaset", "apps.example/v1")):
            assert refused in told("server", "nvidia.com/gpu", by, owner)
        assert refused in jobs.refusal(pod(example(), namespace))


def test_pods_without_gpus_and_namespaces_that_may_have_some_are_left_alone(jobs: Jobs, others: None) -> None:
    assert jobs.refusal(pod(example(), ALLOWED)) == ""
    devices = {name: "1" for name in HARMLESS if "/" in name}
    for namespace in (OTHER, "default", TEAM, jobs.stack):
        other = plain(namespace)
        other["spec"]["containers"][0]["resources"] = {"limits": {**devices, "cpu": "1"}}
        assert jobs.refusal(other) == "", namespace
