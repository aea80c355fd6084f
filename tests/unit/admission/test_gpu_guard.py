"""Which namespaces the guard of accelerators covers, what its quotas count, and when it denies."""

from __future__ import annotations

from typing import Any

import pytest

from tensorplane import stack
from tensorplane.components.admission import gpu_guard
from tensorplane.components.base.settings import Settings
from tensorplane.stack.gpu_guard import _of, policies
from tests.support.rendered_files import rendered_tree
from tests.support.rendering import Rendered

EXISTING = {"kind": "existing", "context": "c"}
SERVER: dict[str, Any] = {
    "kind": "modelServer",
    "model": {"volume": "models", "path": "m"},
    "resources": {"cpus": 1, "memoryGib": 1, "gpus": 1},
}
VOLUMES = {"models": {"sizeGib": 1, "accessModes": ["ReadWriteMany"]}}


def built(**tree: Any) -> Rendered:
    return rendered_tree({"namespace": "lab", **tree})


def actions(found: Rendered) -> dict[str, str]:
    """What becomes of pods, by the policy that finds them."""
    bindings = found.all("ValidatingAdmissionPolicyBinding")
    return {
        one.name.removeprefix("lab"): one.inputs["spec"]["validationActions"]
        for one in bindings
        if one.name.endswith((gpu_guard.OWN, gpu_guard.OTHER))
    }


@pytest.mark.parametrize(
    ("tree", "expected"),
    [
        ({}, {gpu_guard.OWN: ["Deny"], gpu_guard.OTHER: ["Deny"]}),
        ({"cluster": EXISTING}, {gpu_guard.OWN: ["Deny"]}),
        ({"cluster": EXISTING, "gpusInOtherNamespaces": "warn"}, {gpu_guard.OWN: ["Deny"], gpu_guard.OTHER: ["Warn"]}),
        ({"gpusInOtherNamespaces": "allow"}, {gpu_guard.OWN: ["Deny"]}),
    ],
    ids=["its own cluster", "another's", "another's, asked", "its own, allowed"],
)
def test_pods_in_other_namespaces_are_denied_on_clusters_of_the_stack_and_where_it_asks(
    tree: dict[str, Any], expected: dict[str, str]
) -> None:
    assert actions(built(**tree)) == expected


@pytest.mark.parametrize("action", [None, "deny", "allow"])
@pytest.mark.parametrize("cluster", [{"kind": "embedded"}, EXISTING], ids=["its own cluster", "another's"])
def test_check_looks_for_what_a_stack_creates(cluster: dict[str, Any], action: str | None) -> None:
    asked = {"gpusInOtherNamespaces": action} if action else {}
    tree = {"namespace": "lab", "cluster": cluster, **asked}
    created = {one.name for one in built(**tree).all("ValidatingAdmissionPolicy")}
    assert {policy.name for policy in policies(stack.load(Settings(tree)))} == created


@pytest.mark.parametrize(
    ("workloads", "recorded", "action"),
    [(None, None, "deny"), ({}, None, "warn"), ({}, "warn", "warn"), ({}, "deny", "deny")],
    ids=["new", "deployed by an earlier version", "which warns since", "which denies"],
)
def test_a_stack_that_an_earlier_version_deployed_warns(
    workloads: dict[str, Any] | None, recorded: str | None, action: str
) -> None:
    assert _of(workloads, recorded) == action


def test_without_queues_a_namespace_holds_what_its_workloads_declare() -> None:
    def hard(**tree: Any) -> Any:
        return built(**tree).one("ResourceQuota", "lab-gpus").inputs["spec"]["hard"]

    assert hard() == {"requests.nvidia.com/gpu": "0", "requests.google.com/tpu": "0"}
    # A rolling update starts one more.
    assert hard(cluster=EXISTING, volumes=VOLUMES, workloads={"server": SERVER})["requests.nvidia.com/gpu"] == "2"


def test_namespaces_of_other_stacks_and_those_that_are_allowed_are_left_alone() -> None:
    (binding,) = (one for one in built().all("ValidatingAdmissionPolicyBinding") if gpu_guard.OTHER in one.name)
    spared = binding.inputs["spec"]["matchResources"]["namespaceSelector"]["matchExpressions"]
    assert {one["key"]: one["values"] for one in spared} == {
        "kubernetes.io/metadata.name": ["lab"],
        "app.kubernetes.io/part-of": ["tensorplane"],
        "tensorplane.dev/gpus": ["allowed"],
    }
    assert {one["operator"] for one in spared} == {"NotIn"}
