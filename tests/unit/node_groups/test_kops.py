"""Node groups as kops' InstanceGroups: every field is one that kops knows."""

from __future__ import annotations

from typing import Any

import pytest

from tensorplane.components import catalog
from tensorplane.components.node_groups import kops
from tensorplane.components.node_groups.cluster_properties import ClusterProperties
from tensorplane.components.node_groups.resolve import resolve
from tensorplane.components.node_groups.settings import NodeGroupArgs
from tensorplane.components.node_groups.shape import Shape
from tests.support import kops_schema

SITE = ClusterProperties("existing", "eks", "us-east-1")
GROUPS: dict[str, dict[str, Any]] = {
    "cpu": {"machine": "m7i.2xlarge", "min": 2, "max": 4},
    "spot": {"accelerator": "t4", "max": 4, "spot": True},
    "zones": {"accelerator": "t4", "max": 4, "zones": ["us-east-1a", "us-east-1b"], "diskGib": 300},
    "shared": {"accelerator": "t4", "max": 4, "sharing": {"kind": "timeSlicing", "replicas": 4}},
    "taints": {"accelerator": "t4", "max": 4, "taints": [{"key": "team", "effect": "PreferNoSchedule"}]},
    "labels": {"accelerator": "l4", "max": 4, "labels": {"team": "vision", "example.com/tier": "1"}},
}


def shape_of(group: dict[str, Any]) -> Shape:
    """The shape of a group on AWS."""
    shape, faults = resolve("group", NodeGroupArgs.model_validate(group), SITE)
    assert shape and not faults
    return shape


def exported(group: dict[str, Any], runtime: str = "present", **choice: str) -> dict[str, Any]:
    """The spec of the InstanceGroup that a group comes to."""
    manifest = kops.instance_group(shape_of(group), "research.example.com", runtime, **choice)
    assert kops_schema.find_problems(manifest) == []
    spec: dict[str, Any] = manifest["spec"]
    return spec


@pytest.mark.parametrize("runtime", ["present", "operator"])
@pytest.mark.parametrize("name", GROUPS)
def test_every_field_is_one_that_kops_knows(name: str, runtime: str) -> None:
    exported(GROUPS[name], runtime, image="ubuntu", driver="nvidia-driver-570-server")


@pytest.mark.parametrize("accelerator", sorted(a for a in catalog.ACCELERATORS if catalog.counts("eks", a)))
def test_every_accelerator_of_aws_can_be_exported(accelerator: str) -> None:
    count = catalog.counts("eks", accelerator)[0]
    shape, _ = resolve(
        "group",
        NodeGroupArgs(accelerator=accelerator, per_node=count, max=1),
        ClusterProperties("existing", "eks", None),
    )
    assert shape and shape.machine
    manifest = kops.instance_group(shape, "research.example.com", "present")
    assert kops_schema.find_problems(manifest) == []
    assert manifest["spec"]["machineType"] == shape.machine.name
    assert manifest["spec"]["containerd"] == {"nvidiaGPU": {"enabled": True}}


@pytest.mark.parametrize(
    ("path", "value", "says"),
    [
        ("spec/rootVolume", {"size": 100}, "spec.rootVolume: unknown field"),
        ("spec/containerd/nvidiaGPU/enable", True, "spec.containerd.nvidiaGPU.enable: unknown field"),
        ("spec/rootVolumeSize", "4", "spec.rootVolumeSize: '4' is no int"),
        ("spec/maxSize", -1, "minSize is greater than maxSize"),
        ("spec/role", "Nodes", "spec.role: 'Nodes' is none of ['Node']"),
        ("spec/taints", ["team"], "taint team"),
        ("spec/cloudLabels", {"Name": "me"}, "tag Name"),
        ("spec/nodeLabels", {"tier": 1}, "spec.nodeLabels.tier: 1 is no str"),
    ],
)
def test_the_check_itself_finds_what_kops_would_refuse(path: str, value: Any, says: str) -> None:
    manifest = kops.instance_group(shape_of(GROUPS["zones"]), "research.example.com", "present")
    *parents, last = path.split("/")
    inside: Any = manifest
    for key in parents:
        inside = inside.setdefault(key, {})
    inside[last] = value
    assert kops_schema.find_problems(manifest) == [says]


def test_a_gpu_group() -> None:
    spec = exported(GROUPS["zones"])
    assert spec["machineType"] == "g4dn.xlarge"
    assert (spec["minSize"], spec["maxSize"], spec["rootVolumeSize"]) == (0, 4, 300)
    assert spec["subnets"] == ["us-east-1a", "us-east-1b"]
    assert spec["taints"] == ["nvidia.com/gpu=present:NoSchedule"]
    assert spec["nodeLabels"]["tensorplane.dev/accelerator"] == "t4"
    assert spec["nodeLabels"]["k8s.amazonaws.com/accelerator"] == "t4"
    assert spec["containerd"] == {"nvidiaGPU": {"enabled": True}}
    assert spec["instanceMetadata"] == {"httpTokens": "required", "httpPutResponseHopLimit": 1}
    assert spec["rootVolumeEncryption"] is True


def test_the_autoscaler_knows_what_an_empty_group_would_have() -> None:
    tags = exported(GROUPS["shared"])["cloudLabels"]
    assert tags["k8s.io/cluster-autoscaler/research.example.com"] == "owned"
    assert tags["k8s.io/cluster-autoscaler/node-template/resources/nvidia.com/gpu"] == "4"
    assert tags["k8s.io/cluster-autoscaler/node-template/resources/ephemeral-storage"] == "100Gi"


def test_a_cpu_group_has_nothing_of_gpus() -> None:
    spec = exported(GROUPS["cpu"])
    assert "containerd" not in spec
    assert "subnets" not in spec
    assert "image" not in spec
    assert spec["taints"] == []
    assert not any("gpu" in key for key in (*spec["nodeLabels"], *spec["cloudLabels"]))


def test_a_spot_group_takes_what_is_to_be_had() -> None:
    spec = exported(GROUPS["spot"], "operator")
    assert spec["capacityRebalance"] is True
    assert spec["mixedInstancesPolicy"] == {
        "instances": ["g4dn.xlarge", "g4dn.2xlarge", "g4dn.4xlarge", "g4dn.8xlarge"],
        "onDemandBase": 0,
        "onDemandAboveBase": 0,
        "spotAllocationStrategy": "price-capacity-optimized",
    }
    assert "mixedInstancesPolicy" not in exported(GROUPS["cpu"])


def test_the_gpu_operator_brings_what_kops_would_install() -> None:
    assert "containerd" not in exported(GROUPS["zones"], "operator")


def test_image_and_driver_are_yours_to_choose() -> None:
    spec = exported(GROUPS["zones"], image="an-ubuntu", driver="nvidia-driver-570-server")
    assert spec["image"] == "an-ubuntu"
    assert spec["containerd"] == {"nvidiaGPU": {"enabled": True, "package": "nvidia-driver-570-server"}}
