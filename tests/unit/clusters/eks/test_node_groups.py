"""Node groups on EKS: each GPU family plain, spot, shared and reserved, as the managed group that it comes to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pulumi
import pytest

from tensorplane.components import catalog
from tensorplane.components.clusters.eks import Eks
from tensorplane.components.node_groups import fleet
from tensorplane.components.node_groups.settings import NodeGroupArgs
from tests.support import rendering
from tests.support.rendering import Rendered

RESERVED = {"reserved": {"id": "cr-0123456789abcdef0"}, "zones": ["us-west-2a"]}
BLOCK = {"reserved": {"id": "cr-0123456789abcdef0", "capacityBlock": True}, "zones": ["us-west-2a"]}
CASES: dict[str, dict[str, Any]] = {
    "plain": {},
    "spot": {"spot": True},
    "shared": {"sharing": {"kind": "timeSlicing", "replicas": 4}},
    "reserved": RESERVED,
    "block": BLOCK,
}
CARDS = sorted(
    name for name, card in catalog.ACCELERATORS.items() if card.kind == "gpu" and catalog.counts("eks", name)
)


def built(groups: Mapping[str, Mapping[str, Any]], **cluster: Any) -> Rendered:
    """What the node groups of a cluster register, wherever their machines may be sold."""
    settings = {
        name: NodeGroupArgs.model_validate({"max": 4, **group}, by_alias=True, by_name=False)
        for name, group in groups.items()
    }
    made, _ = fleet.of(settings, replace(Eks(region="us-west-2").cluster_properties, region=None))
    assert set(made.groups) == set(groups)

    def program() -> None:
        Eks(region="us-west-2", **cluster).connect("cluster", made.groups, pulumi.ResourceOptions())

    return rendering.run(program)


@pytest.fixture(scope="module")
def families() -> Rendered:
    """Every GPU that EKS offers, each in every case."""
    return built(
        {
            f"{card}-{case}": {"accelerator": card, "perNode": catalog.counts("eks", card)[0], "min": 1, **settings}
            for card in CARDS
            for case, settings in CASES.items()
        }
    )


def group(made: Rendered, name: str) -> Mapping[str, Any]:
    """A managed group's inputs."""
    return made.one("eks/nodeGroup:NodeGroup", name).inputs


def template(made: Rendered, name: str) -> Mapping[str, Any]:
    """A launch template's inputs."""
    return made.one("ec2/launchTemplate:LaunchTemplate", name).inputs


@pytest.mark.parametrize("card", CARDS)
def test_every_gpu_family_has_an_nvidia_image_labels_and_taints(families: Rendered, card: str) -> None:
    for case in CASES:
        found = group(families, f"{card}-{case}")
        assert found["amiType"].endswith("_NVIDIA")
        assert found["labels"]["tensorplane.dev/accelerator"] == card
        assert found["labels"]["nvidia.com/gpu.present"] == "true"
        assert found["labels"]["k8s.amazonaws.com/accelerator"].startswith("nvidia-")
        assert {"key": "nvidia.com/gpu", "value": "present", "effect": "NO_SCHEDULE"} in found["taints"]
        assert found["nodeRepairConfig"] == {"enabled": True}


@pytest.mark.parametrize("card", CARDS)
def test_the_capacity_type_follows_from_spot_and_reservation(families: Rendered, card: str) -> None:
    types = {case: group(families, f"{card}-{case}")["capacityType"] for case in CASES}
    assert types == {
        "plain": "ON_DEMAND",
        "spot": "SPOT",
        "shared": "ON_DEMAND",
        "reserved": "ON_DEMAND",
        "block": "CAPACITY_BLOCK",
    }


@pytest.mark.parametrize("card", CARDS)
def test_spot_and_sharing_are_told_by_labels_and_taints(families: Rendered, card: str) -> None:
    spot, shared = group(families, f"{card}-spot"), group(families, f"{card}-shared")
    assert spot["labels"]["tensorplane.dev/spot"] == "true"
    assert {"key": "tensorplane.dev/spot", "value": "true", "effect": "NO_SCHEDULE"} in spot["taints"]
    assert shared["labels"]["nvidia.com/device-plugin.config"] == "time-slicing-4"
    assert len(shared["taints"]) == 1


@pytest.mark.parametrize("card", CARDS)
def test_a_reservation_is_in_the_launch_template_and_of_one_zone(families: Rendered, card: str) -> None:
    for case in ("reserved", "block"):
        target = template(families, f"{card}-{case}")["capacityReservationSpecification"]
        assert target == {"capacityReservationTarget": {"capacityReservationId": "cr-0123456789abcdef0"}}
        assert group(families, f"{card}-{case}")["subnetIds"] == ["cluster-private-us-west-2a-id"]
    block = template(families, f"{card}-block")
    assert block["instanceMarketOptions"] == {"marketType": "capacity-block"}
    # Either the template or the group names the machine, never both.
    assert "instanceType" in block
    assert "instanceTypes" not in group(families, f"{card}-block")
    assert "instanceType" not in template(families, f"{card}-reserved")


def test_no_pod_reaches_the_nodes_credentials_and_every_disk_is_encrypted(families: Rendered) -> None:
    templates = families.all("ec2/launchTemplate:LaunchTemplate")
    assert len(templates) == len(CARDS) * len(CASES)
    for made in templates:
        assert made.inputs["metadataOptions"]["httpTokens"] == "required"
        assert made.inputs["metadataOptions"]["httpPutResponseHopLimit"] == 1
        (disk,) = made.inputs["blockDeviceMappings"]
        assert disk["ebs"] == {
            "volumeSize": 100,
            "volumeType": "gp3",
            "encrypted": "true",
            "deleteOnTermination": "true",
        }


def test_the_least_settings_of_a_cpu_group() -> None:
    made = group(built({"cpu": {"machine": "m7i.2xlarge", "min": 1}}), "cpu")
    assert made["amiType"] == "AL2023_x86_64_STANDARD"
    assert made["instanceTypes"] == ["m7i.2xlarge"]
    assert made["scalingConfig"] == {"minSize": 1, "maxSize": 4, "desiredSize": 1}
    assert made["version"] == "1.35"
    assert "taints" not in made or made["taints"] == []


def test_how_many_nodes_there_are_is_the_autoscalers_to_say() -> None:
    made = built({"cpu": {"machine": "m7i.2xlarge", "min": 1}}).one("eks/nodeGroup:NodeGroup", "cpu")
    assert "scalingConfig.desiredSize" in made.options["ignoreChanges"]


def test_an_empty_group_tells_the_autoscaler_what_its_nodes_will_be() -> None:
    made = built({"gpu": {"accelerator": "t4", "spot": True, "sharing": {"kind": "timeSlicing", "replicas": 4}}})
    tags = {r.inputs["tag"]["key"]: r.inputs["tag"] for r in made.all("autoscaling/tag:Tag")}
    template = "k8s.io/cluster-autoscaler/node-template"
    wanted = {
        f"{template}/label/tensorplane.dev/accelerator": "t4",
        f"{template}/label/k8s.amazonaws.com/accelerator": "nvidia-tesla-t4",
        f"{template}/taint/nvidia.com/gpu": "present:NoSchedule",
        f"{template}/taint/tensorplane.dev/spot": "true:NoSchedule",
        f"{template}/resources/nvidia.com/gpu": "4",
        f"{template}/resources/ephemeral-storage": "100Gi",
    }
    assert {key: tags[key]["value"] for key in wanted} == wanted
    assert not any(tag["propagateAtLaunch"] for tag in tags.values())
    assert {r.inputs["autoscalingGroupName"] for r in made.all("autoscaling/tag:Tag")} == {"eks-gpu"}


def test_another_tag_reaches_new_machines_without_replacing_the_old_ones() -> None:
    made = built({"gpu": {"accelerator": "t4", "min": 1}}, tags={"cost": "research"})
    # Of another version of its launch template, EKS replaces every node of the group.
    assert made.one("ec2/launchTemplate:LaunchTemplate", "gpu").options["ignoreChanges"] == ["tagSpecifications"]
    (tag,) = made.all("autoscaling/tag:Tag")
    assert tag.inputs["tag"] == {"key": "cost", "value": "research", "propagateAtLaunch": True}
    assert tag.inputs["autoscalingGroupName"] == "eks-gpu"


def test_a_group_that_always_has_nodes_needs_no_such_tags() -> None:
    assert not built({"gpu": {"accelerator": "t4", "min": 1}}).all("autoscaling/tag:Tag")


def test_training_nodes_stand_close_together_with_efa_between_them() -> None:
    made = built({"new": {"accelerator": "h100-80gb", "perNode": 8}})
    found = template(made, "new")
    assert found["placement"] == {"groupName": "new"}
    assert made.one("ec2/placementGroup:PlacementGroup", "new").inputs["strategy"] == "cluster"
    cards = found["networkInterfaces"]
    assert [card["networkCardIndex"] for card in cards] == list(range(32))
    assert [card["interfaceType"] for card in cards] == ["efa", *["efa-only"] * 31]
    assert {card["deviceIndex"] for card in cards} == {0}
    # EKS adds its own group only where a template names none.
    assert cards[0]["securityGroups"] == ["sg-cluster", "cluster-efa-id"]
    assert len(group(made, "new")["subnetIds"]) == 1


@pytest.mark.parametrize("reserved", [RESERVED, BLOCK], ids=["reservation", "block"])
def test_reserved_machines_stand_where_their_reservation_is(reserved: dict[str, Any]) -> None:
    made = built({"new": {"accelerator": "h100-80gb", "perNode": 8, **reserved}})
    assert not made.all("ec2/placementGroup:PlacementGroup")
    assert "placement" not in template(made, "new")
    assert len(template(made, "new")["networkInterfaces"]) == 32


def test_the_first_card_of_a_machine_may_be_without_efa() -> None:
    cards = template(built({"new": {"accelerator": "b300", "perNode": 8}}), "new")["networkInterfaces"]
    assert [card["interfaceType"] for card in cards] == ["interface", *["efa-only"] * 16]


def test_efa_goes_both_ways_and_its_plugin_runs_on_its_nodes() -> None:
    made = built({"new": {"accelerator": "h100-80gb", "perNode": 8}})
    for rule in ("SecurityGroupIngressRule", "SecurityGroupEgressRule"):
        found = made.one(f"vpc/{rule[0].lower()}{rule[1:]}:{rule}", "cluster-efa").inputs
        assert found["referencedSecurityGroupId"] == found["securityGroupId"] == "cluster-efa-id"
    values = made.one("Release", "cluster-aws-efa-k8s-device-plugin").inputs["values"]
    assert values["supportedInstanceLabels"]["values"] == ["p5.48xlarge"]
    assert {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"} in values["tolerations"]


@pytest.mark.parametrize("case", [{"spot": True}, {"max": 1}], ids=str)
def test_no_efa_where_it_is_of_no_use(case: dict[str, Any]) -> None:
    made = built({"new": {"accelerator": "h100-80gb", "perNode": 8, **case}})
    assert "networkInterfaces" not in template(made, "new")
    assert not made.all("ec2/placementGroup:PlacementGroup")
    assert len(group(made, "new")["subnetIds"]) == 3


def test_a_group_that_begins_to_have_efa_moves_into_one_zone_and_others_stay_in_theirs() -> None:
    one, several = (
        built({"new": {"accelerator": "h100-80gb", "perNode": 8, "max": nodes}}).one("eks/nodeGroup:NodeGroup", "new")
        for nodes in (1, 2)
    )
    assert "subnetIds" in one.options["ignoreChanges"]
    assert "subnetIds" not in several.options["ignoreChanges"]


def test_taints_are_spelled_as_eks_does() -> None:
    taints = [{"key": "team", "value": "a", "effect": "NoExecute"}, {"key": "slow", "effect": "PreferNoSchedule"}]
    made = group(built({"cpu": {"machine": "m7i.2xlarge", "taints": taints}}), "cpu")
    assert made["taints"] == [
        {"key": "team", "value": "a", "effect": "NO_EXECUTE"},
        {"key": "slow", "effect": "PREFER_NO_SCHEDULE"},
    ]
