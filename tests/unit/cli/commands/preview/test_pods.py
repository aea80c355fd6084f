"""The pods that objects declare, and the nodes on which they may run."""

from __future__ import annotations

from typing import Any

import pytest

from tensorplane.cli.commands.preview import pods
from tensorplane.cli.commands.preview.pods import Pods

URN = "urn:pulumi:dev::tensorplane::tensorplane:index:TrainingJob"
JOB_SET = "kubernetes:jobset.x-k8s.io/v1alpha2:JobSet"
T4 = {"tensorplane.dev/accelerator": "t4", "nvidia.com/gpu.present": "true"}
TAINT = "nvidia.com/gpu=present:NoSchedule"


def _template(**spec: Any) -> dict[str, Any]:
    limits = {"nvidia.com/gpu": "2", "memory": "8Gi"}
    return {"template": {"spec": {"containers": [{"resources": {"limits": limits}}], **spec}}}


def _step(op: str, token: str, inputs: dict[str, Any]) -> dict[str, Any]:
    state = {"inputs": inputs, "parent": f"{URN}::digits"}
    return {"op": op, "type": token, "urn": f"{URN}${token}::digits-1", "old": state, "new": state}


JOB = {
    "metadata": {"labels": {"kueue.x-k8s.io/queue-name": "research"}},
    "spec": {"replicatedJobs": [{"replicas": 1, "template": {"spec": {"parallelism": 4, **_template()}}}]},
}


@pytest.mark.parametrize(
    ("op", "sides"),
    [
        ("same", ["old", "new"]),
        ("create", ["new"]),
        ("delete", ["old"]),
        ("replace", ["old", "new"]),
        ("delete-replaced", []),
    ],
)
def test_a_job_set_has_its_pods_before_and_after(op: str, sides: list[str]) -> None:
    found = list(pods.of(_step(op, JOB_SET, JOB)))
    assert [side for side, _ in found] == sides
    assert {(one.title, one.queue, one.count, one.gpus) for _, one in found} <= {
        ("training job digits", "research", 4, 2)
    }


def test_daemon_sets_clouds_and_hidden_values_have_none() -> None:
    assert not list(pods.of(_step("create", "kubernetes:apps/v1:DaemonSet", {"spec": _template()})))
    assert not list(pods.of(_step("create", "aws:eks/nodeGroup:NodeGroup", {"spec": _template()})))
    assert not list(pods.of(_step("create", JOB_SET, {"metadata": "hidden", "spec": "hidden"})))


@pytest.mark.parametrize(
    ("spec", "queue", "fits"),
    [
        ({}, "", False),
        ({"tolerations": "hidden"}, "", False),
        ({}, "research", True),
        ({"tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists"}]}, "", True),
        ({"tolerations": [{"key": "nvidia.com/gpu", "value": "present", "effect": "NoExecute"}]}, "", False),
        ({"nodeSelector": {"tensorplane.dev/accelerator": "l4"}}, "research", False),
        ({"nodeSelector": {"topology.kubernetes.io/zone": "a"}}, "research", True),
    ],
)
def test_nodes_run_pods_whose_selector_and_tolerations_match(spec: dict[str, Any], queue: str, fits: bool) -> None:
    assert Pods("", "a", "a", queue, spec=spec).fits(T4, [TAINT]) is fits


@pytest.mark.parametrize(
    ("operator", "values", "fits"),
    [
        ("In", ["t4", "l4"], True),
        ("In", ["l4"], False),
        ("NotIn", ["t4"], False),
        ("Exists", [], True),
        ("DoesNotExist", [], False),
    ],
)
def test_a_required_affinity_counts_too(operator: str, values: list[str], fits: bool) -> None:
    rule = {"key": "tensorplane.dev/accelerator", "operator": operator, "values": values}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchExpressions": [rule]}]}}
    assert Pods("", "a", "a", "q", spec={"affinity": {"nodeAffinity": required}}).fits(T4, []) is fits


def test_the_volumes_of_pods_are_their_claims() -> None:
    volumes = [{"persistentVolumeClaim": {"claimName": "b"}}, {"emptyDir": {}}, {"persistentVolumeClaim": "hidden"}]
    assert Pods("", "a", "a", spec={"volumes": volumes}).claims == ("b",)
