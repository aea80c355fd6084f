"""What `check --cluster` says of the guard of GPUs, from recorded answers of an API server."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from tensorplane import stack
from tensorplane.cli.commands.check import guard
from tensorplane.components.base.settings import Settings
from tensorplane.stack.gpu_guard import policies
from tests.unit.admission.test_job_policies import TREE

GPUS = {"containers": [{"name": "main", "resources": {"limits": {"amd.com/gpu": "2"}}}]}
OVERHEAD = {"containers": [{"name": "main"}], "overhead": {"nvidia.com/gpu": "1"}}
CLAIM = {"containers": [{"name": "main"}], "resourceClaims": [{"name": "eight"}]}
PLAIN = {"containers": [{"name": "main", "resources": {"limits": {"cpu": "1", "nvidia.com/gpu": "0"}}}]}
COUNTED = {"containers": [{"name": "main", "resources": {"limits": {"nvidia.com/gpu": "1"}}}]}
ADMITTED = {"kueue.x-k8s.io/podset": "worker"}
JOB = [{"apiVersion": "batch/v1", "kind": "Job", "name": "a", "controller": True}]
REPLICA_SET = [{**JOB[0], "apiVersion": "apps/v1", "kind": "ReplicaSet"}]
NAMESPACES = {
    "lab": {"app.kubernetes.io/part-of": "tensorplane"},
    "vision": {},
    "talk": {},
    "kueue": {"app.kubernetes.io/part-of": "tensorplane"},
    "free": {"tensorplane.dev/gpus": "allowed"},
}
REPAIR = "make up REFRESH=1"
_REGISTRATION = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolic"


class Cluster:
    """Answers as the API server does. `pods`: their specs, by namespace and name. `lacks`: objects that are missing."""

    def __init__(
        self,
        resolved: stack.ResolvedStack,
        pods: Mapping[str, Any],
        *,
        lacks: tuple[str, ...] = (),
        actions: Mapping[str, str | None] | None = None,
        metadata: Mapping[str, Any] | None = None,
        limits: Any = None,
    ) -> None:
        self._names = [policy.name for policy in policies(resolved)]
        self._pods, self._lacks, self._about, self._limits = pods, lacks, metadata or {}, limits
        self._actions = {f"{_REGISTRATION}ybindings/lab-{name}": action for name, action in (actions or {}).items()}

    def items(self, path: str) -> list[dict[str, Any]]:
        if path == "/api/v1/limitranges":
            spec = {"limits": [{"type": "Container", **(self._limits or {})}]}
            return [{"metadata": {"namespace": space, "name": "a"}, "spec": spec} for space in ("lab", "default")]
        assert path == "/api/v1/pods"
        found = [(*key.split("/"), spec) for key, spec in self._pods.items()]
        return [
            {"metadata": {"namespace": space, "name": name, **self._about}, "spec": spec} for space, name, spec in found
        ]

    def metadata(self, path: str, **query: str) -> list[dict[str, Any]]:
        if path == "/api/v1/namespaces":
            return [{"metadata": {"name": name, "labels": each}} for name, each in NAMESPACES.items()]
        if path == "/api/v1/resourcequotas":
            assert query == {"fieldSelector": "metadata.name=gpus"}
            spaces = [name for name in NAMESPACES if f"{name}/gpus" not in self._lacks]
            return [{"metadata": {"namespace": name, "name": "gpus"}} for name in spaces]
        kind = {f"{_REGISTRATION}ies": "policy", f"{_REGISTRATION}ybindings": "binding"}[path]
        return [{"metadata": {"name": name}} for name in self._names if f"{kind} {name}" not in self._lacks]

    def get(self, path: str) -> dict[str, Any] | None:
        if path == "/apis/networking.k8s.io/v1/namespaces/lab/networkpolicies/default-deny":
            return None if "stack" in self._lacks else {}
        action = self._actions[path]
        return {"spec": {"validationActions": [action]}} if action else None


def notes_of(
    tree: Mapping[str, Any],
    pods: Mapping[str, Any],
    *,
    own: str | None = None,
    other: str | None = None,
    **cluster: Any,
) -> list[str]:
    resolved = stack.load(Settings(dict(tree)))
    actions = {"pods-with-gpus": own, "gpus-in-other-namespaces": other}
    answers: Any = Cluster(resolved, pods, actions=actions, **cluster)
    return [str(note).removeprefix("tensorplane:") for note in guard.notes(resolved, answers, REPAIR)]


def lines_of(pods: Mapping[str, Any], action: str | None = None, asked: str | None = None) -> list[str]:
    """Of a stack without queues."""
    tree = {"namespace": "lab", **({"gpusInOtherNamespaces": asked} if asked else {})}
    found = notes_of(tree, pods, own="Deny", other=action)
    return [line.removeprefix("gpusInOtherNamespaces: ") for line in found]


@pytest.mark.parametrize("spec", [GPUS, OVERHEAD, CLAIM])
def test_pods_that_would_be_refused_are_listed(spec: Any) -> None:
    pods = {"default/a": spec, "kueue/other": spec, "free/allowed": spec, "default/plain": PLAIN}
    remedy = "run them in a queue, or label their namespaces tensorplane.dev/gpus=allowed"
    expected = [f"deny refuses pods that run now when they start again: 1 pod with GPUs there (default/a); {remedy}"]
    assert lines_of(pods, "Deny") == lines_of(pods, "Warn", "deny") == lines_of(pods, None, "deny") == expected


def test_where_nothing_is_refused_is_said() -> None:
    remedy = "set it to deny, warn or allow"
    many = {f"default/{index}": GPUS for index in range(7)}
    listed = ": 7 pods with GPUs there (default/0, default/1, default/2, default/3, default/4 and 2 more)"
    assert lines_of({}, "Warn") == [
        f"pods with GPUs in namespaces that no stack manages are only warned about; {remedy}"
    ]
    assert lines_of(many) == [f"pods with GPUs in namespaces that no stack manages are let in{listed}; {remedy}"]


@pytest.mark.parametrize(("action", "asked"), [("Deny", None), (None, "allow"), ("Warn", "deny")])
def test_what_was_decided_is_not_told(action: str | None, asked: str | None) -> None:
    assert lines_of({"default/plain": PLAIN}, action, asked) == []


@pytest.mark.parametrize("spec", [GPUS, OVERHEAD, CLAIM, COUNTED])
def test_without_queues_pods_of_the_stack_that_no_setting_declares_are_listed(spec: Any) -> None:
    held, pods = "1 pod with GPUs (lab/own) that no setting declares", {"lab/own": spec, "lab/plain": PLAIN}
    refused = "workloads: the GPU guard refuses pods that run now when they start again"
    assert lines_of(pods, "Deny") == [f"{refused}: {held}; declare them"]
    # Before the first deployment of this version, and while it only warns.
    once = "once set, pods that run now in lab are refused when they start again"
    expected = [f"gpusInOtherNamespaces: {once}: {held}; declare them in workloads before"]
    for own in (None, "Warn"):
        assert notes_of({"namespace": "lab"}, pods, own=own, other="Deny") == expected
    assert notes_of({"namespace": "lab", "gpusInOtherNamespaces": "allow"}, pods, own="Warn") == [
        f"{refused}: {held}; declare them"
    ]


def test_with_queues_pods_that_no_admitted_job_owns_are_listed() -> None:
    def of(spec: Any, **about: Any) -> list[str]:
        pods = {f"{space}/a": {**spec, "serviceAccountName": "server"} for space in ("lab", "vision")}
        return notes_of({**TREE, "gpusInOtherNamespaces": "allow"}, pods, metadata=about)

    def listed(*names: str) -> list[str]:
        held = f"{len(names)} pod{'s' if len(names) > 1 else ''} with GPUs ({', '.join(names)}) of no admitted job"
        problem = f"queues: the GPU guard refuses pods that run now when they start again: {held}"
        return [f"{problem}; run them with tensorplane run, or declare them in workloads"]

    # The settings declare `server` without a queue, in the stack's namespace.
    assert of(COUNTED, ownerReferences=JOB) == of(COUNTED, ownerReferences=REPLICA_SET) == listed("vision/a")
    others = [{**JOB[0], "apiVersion": "batch.volcano.sh/v1alpha1"}]
    for about in ({}, {"labels": ADMITTED}, {"labels": ADMITTED, "ownerReferences": others}):
        assert of(COUNTED, **about) == listed("lab/a", "vision/a"), "created by hand, with the account's name"
    assert of(GPUS) == of(CLAIM) == listed("lab/a", "vision/a")
    assert of(COUNTED, labels=ADMITTED, ownerReferences=JOB) == []
    # Nobody but Kueue opens the gate of pods, which this one does not admit.
    assert of({**COUNTED, "schedulingGates": [{"name": "kueue.x-k8s.io/admission"}]}) == listed("lab/a", "vision/a")
    for uncounted in (OVERHEAD, CLAIM):
        assert of(uncounted, labels=ADMITTED, ownerReferences=JOB) == listed("lab/a", "vision/a")


def test_missing_parts_of_the_guard_are_named_with_the_command_that_creates_them() -> None:
    tree = {**TREE, "gpusInOtherNamespaces": "deny"}
    assert notes_of(tree, {}, other="Deny") == []
    lacks = ("policy lab-jobs-of-teams", "binding lab-gpus-in-other-namespaces", "talk/gpus")
    named = (
        "ValidatingAdmissionPolicy lab-jobs-of-teams, ValidatingAdmissionPolicyBinding lab-gpus-in-other-namespaces,"
        " ResourceQuota talk/gpus"
    )
    assert notes_of(tree, {}, other="Deny", lacks=lacks) == [
        f"namespace: parts of the GPU guard are missing in the cluster: {named}; create them with: {REPAIR}"
    ]
    assert notes_of(tree, {}, other="Deny", lacks=(*lacks, "stack")) == [], "the stack is not deployed"


def test_limit_ranges_that_give_gpus_are_named() -> None:
    tree = {**TREE, "gpusInOtherNamespaces": "allow"}
    assert notes_of(tree, {}, limits={"default": {"nvidia.com/gpu": "4"}}) == [
        "namespace: containers that request no GPUs get some by 1 LimitRange (lab/a);"
        ' set default and defaultRequest of these resources to "0"'
    ]
    assert notes_of(tree, {}, limits={"default": {"nvidia.com/gpu": "0"}, "max": {"nvidia.com/gpu": "4"}}) == []
