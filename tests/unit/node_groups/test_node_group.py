"""A node group's shape: what the catalog makes of a few settings, and every fault in them, a line each."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tensorplane.components import catalog
from tensorplane.components.base.labels import is_label_key, is_label_value
from tensorplane.components.clusters.eks import Eks
from tensorplane.components.clusters.gke import Gke
from tensorplane.components.node_groups.cluster_properties import ClusterProperties
from tensorplane.components.node_groups.resolve import resolve
from tensorplane.components.node_groups.settings import NodeGroupArgs
from tensorplane.components.node_groups.shape import Shape

EKS = Eks(region="us-west-2").cluster_properties
GKE = Gke(project="project", region="us-central1").cluster_properties
OWN = ClusterProperties("existing", None, None)


def args(**settings: Any) -> NodeGroupArgs:
    """Settings as YAML gives them."""
    return NodeGroupArgs.model_validate({"max": 4, **settings}, by_alias=True, by_name=False)


def shape(site: ClusterProperties = EKS, **settings: Any) -> Shape:
    """The shape of settings without a fault."""
    found, faults = resolve("group", args(**settings), site)
    assert not faults, [str(fault) for fault in faults]
    assert found
    return found


def problems(site: ClusterProperties = EKS, **settings: Any) -> list[str]:
    """The lines about faulty settings, without what is the same in each."""
    return [str(fault).removeprefix("tensorplane:nodeGroups.") for fault in resolve("group", args(**settings), site)[1]]


def test_an_accelerator_is_enough() -> None:
    made = shape(accelerator="t4")
    assert made.machine
    assert made.machine.name == "g4dn.xlarge"
    assert made.labels == {
        "tensorplane.dev/node-group": "group",
        "tensorplane.dev/flavor": "t4",
        "tensorplane.dev/accelerator": "t4",
        "tensorplane.dev/product": "Tesla-T4",
        "tensorplane.dev/generation": "turing",
        "tensorplane.dev/tier": "2018",
        "nvidia.com/gpu.present": "true",
    }
    assert [str(taint) for taint in made.declared_taints] == ["nvidia.com/gpu=present:NoSchedule"]
    assert made.resources == {"nvidia.com/gpu": 1}
    assert made.accelerators_max == 4


def test_a_machine_is_enough() -> None:
    made = shape(machine="m7i.2xlarge")
    assert made.labels == {
        "tensorplane.dev/node-group": "group",
        "tensorplane.dev/flavor": "cpu",
        "tensorplane.dev/accelerator": "none",
    }
    assert (made.taints, made.resources, made.accelerators_max) == ((), {}, 0)


def test_a_machine_with_gpus_brings_its_accelerator() -> None:
    made = shape(machine="p5.48xlarge")
    assert made.accelerator
    assert (made.accelerator.name, made.per_node) == ("h100-80gb", 8)
    assert made.resources == {"nvidia.com/gpu": 8}


def test_a_taint_of_the_clouds_own_counts_and_is_not_declared() -> None:
    made = shape(GKE, accelerator="t4", spot=True)
    assert [str(taint) for taint in made.taints] == [
        "nvidia.com/gpu=present:NoSchedule",
        "tensorplane.dev/spot=true:NoSchedule",
    ]
    assert [str(taint) for taint in made.declared_taints] == ["tensorplane.dev/spot=true:NoSchedule"]


def test_a_tpu_is_asked_for_by_its_own_resource() -> None:
    made = shape(GKE, accelerator="tpu-v5e", perNode=4)
    assert made.resources == {"google.com/tpu": 4}
    assert [taint.key for taint in made.taints] == ["google.com/tpu"]
    assert "nvidia.com/gpu.present" not in made.labels


@pytest.mark.parametrize(
    ("accelerator", "per_node", "sharing", "config", "slots"),
    [
        ("t4", 1, {"kind": "timeSlicing", "replicas": 4}, "time-slicing-4", 4),
        ("t4", 1, {"kind": "mps", "replicas": 8}, "mps-8", 8),
        ("h100-80gb", 8, {"kind": "mig", "profile": "1g.10gb"}, "mig-1g.10gb", 56),
        ("h100-80gb", 8, {"kind": "mig", "profile": "3g.40gb"}, "mig-3g.40gb", 16),
    ],
)
def test_a_shared_gpu_takes_several_pods(
    accelerator: str, per_node: int, sharing: dict[str, Any], config: str, slots: int
) -> None:
    made = shape(accelerator=accelerator, perNode=per_node, sharing=sharing)
    assert made.labels["nvidia.com/device-plugin.config"] == config
    assert made.resources == {"nvidia.com/gpu": slots}
    assert made.accelerators_max == 4 * per_node


def test_a_cluster_of_yours_needs_no_machine() -> None:
    made = shape(OWN, accelerator="h100-80gb", perNode=5)
    assert (made.machine, made.per_node, made.hourly_usd) == (None, 5, None)


@pytest.mark.parametrize(
    ("settings", "line"),
    [
        ({}, "group: neither accelerator nor machine is set; set one of them"),
        ({"accelerator": "t44"}, "group.accelerator: unknown accelerator 't44' (did you mean t4?); make catalog lists"),
        ({"accelerator": "k80"}, "group.accelerator: k80 is withdrawn"),
        ({"accelerator": "h100-80gb", "perNode": 3}, "group.perNode: no machine of eks has 3 h100-80gb; choose one of"),
        ({"accelerator": "tpu-v5e"}, "group.accelerator: eks has no machine with tpu-v5e; gke have it"),
        ({"machine": "m7i.2xlrge"}, "group.machine: unknown machine 'm7i.2xlrge' on eks (did you mean m7i.2xlarge?)"),
        ({"machine": "p2.xlarge"}, "group.machine: p2.xlarge is withdrawn"),
        (
            {"accelerator": "t4", "machine": "m7i.2xlarge"},
            "group.machine: m7i.2xlarge does not have 1 t4; choose one of g4dn",
        ),
        ({"accelerator": "t4", "min": 5}, "group.min: min is 5 but max is 4; set min to 4 or less"),
        ({"accelerator": "t4", "spot": True, "reserved": {"id": "cr-1"}}, "group.spot: conflicts with reserved"),
        (
            {"accelerator": "t4", "sharing": {"kind": "mig", "profile": "1g.5gb"}},
            "group.sharing: t4 does not support MIG; use",
        ),
        (
            {"accelerator": "h100-80gb", "perNode": 8, "sharing": {"kind": "mig", "profile": "1g.10g"}},
            "group.sharing.profile: h100-80gb has no profile 1g.10g; choose one of ",
        ),
        (
            {"machine": "m7i.2xlarge", "sharing": {"kind": "mps", "replicas": 2}},
            "group.sharing: only GPUs can be shared; set accelerator to a GPU, or remove sharing",
        ),
        (
            {"accelerator": "t4", "labels": {"a b": "x"}},
            "group.labels.a b: invalid label key; use letters, digits, dash",
        ),
        (
            {"accelerator": "t4", "labels": {"team": "x/y"}},
            "group.labels.team: invalid value 'x/y'; use letters, digits, dash",
        ),
        (
            {"accelerator": "t4", "labels": {"node.kubernetes.io/x": "y"}},
            "group.labels.node.kubernetes.io/x: reserved for labels that",
        ),
        ({"accelerator": "t4", "taints": [{"key": "-"}]}, "group.taints.0.key: invalid taint key '-'; use letters"),
        (
            {"accelerator": "t4", "taints": [{"key": "nvidia.com/gpu", "value": "true"}]},
            "group.taints.0.key: duplicate taint nvidia.com/gpu with effect NoSchedule, the nodes have it by "
            "default; r",
        ),
        (
            {"accelerator": "t4", "taints": [{"key": "a", "value": "x"}, {"key": "a", "value": "y"}]},
            "group.taints.1.key: duplicate taint a with effect NoSchedule, taints.0 sets it; remove one",
        ),
        (
            {"machine": "m7i.2xlarge", "taints": [{"key": "node.kubernetes.io/not-ready"}]},
            "group.taints.0.key: node.kubernetes.io/not-ready is reserved for taints",
        ),
        (
            {"accelerator": "t4", "labels": {"karpenter.sh/x": "y"}},
            "group.labels.karpenter.sh/x: reserved for labels that",
        ),
        (
            {"machine": "m7i.2xlarge", "perNode": 3},
            "group.perNode: perNode is 3 but m7i.2xlarge has no accelerator; remove",
        ),
        (
            {"machine": "p5.48xlarge", "perNode": 4},
            "group.perNode: perNode is 4 but p5.48xlarge has 8 h100-80gb; set it to 8",
        ),
        (
            {"machine": "p5.48xlarge", "accelerator": "h100-80gb"},
            "group.perNode: perNode is 1 but p5.48xlarge has 8 h100-80gb; set it to 8",
        ),
        ({"machine": "p2.xlarge", "accelerator": "t4"}, "group.machine: p2.xlarge is withdrawn"),
        (
            {"accelerator": "v100-32gb", "perNode": 8, "sharing": {"kind": "mps", "replicas": 17}},
            "group.sharing.replicas: by MPS at most 16 pods can share a v100-32gb; set replicas to 16 or less",
        ),
    ],
)
def test_one_fault_is_one_line(settings: dict[str, Any], line: str) -> None:
    (found,) = problems(**settings)
    assert found.startswith(line), found


def test_labels_that_cannot_be_are_told_the_nearest_that_can() -> None:
    found = problems(
        accelerator="t4", labels={"my team": "a b!", "Team.io/x": "y"}, taints=[{"key": "a b", "value": "-c"}]
    )
    assert [line.rsplit(" (", 1)[1] for line in found] == [
        f"did you mean {near}?)" for near in ("my-team", "a-b", "team.io/x", "a-b", "c")
    ]


def test_a_domain_that_only_ends_like_a_reserved_one_is_yours() -> None:
    assert problems(accelerator="t4", labels={"mynvidia.com/x": "y"}, taints=[{"key": "mynvidia.com/x"}]) == []


def test_an_older_card_is_shared_by_fewer_pods() -> None:
    mps = {"accelerator": "v100", "sharing": {"kind": "mps", "replicas": 17}}
    assert problems(GKE, **mps) == []
    assert len(problems(GKE, **{**mps, "accelerator": "p100"})) == 1
    assert problems(GKE, accelerator="p100", sharing={"kind": "mps", "replicas": 16}) == []


def test_the_gpus_of_a_machine_are_shared_too() -> None:
    assert shape(machine="g4dn.xlarge", sharing={"kind": "mps", "replicas": 4}).resources == {"nvidia.com/gpu": 4}
    found = problems(machine="g4dn.xlareg", sharing={"kind": "mps", "replicas": 4})
    assert [line.split(":")[0] for line in found] == ["group.machine"]


def test_no_accelerator_has_no_number() -> None:
    assert problems(OWN, perNode=3) == [
        "group.perNode: perNode is 3 but accelerator is not set; set accelerator, or remove perNode"
    ]


def test_every_fault_is_reported_at_once() -> None:
    found = problems(accelerator="t44", min=9, spot=True, reserved={"id": "x"}, labels={"-": "ok"})
    assert {line.split(": ")[0] for line in found} == {"group.accelerator", "group.min", "group.spot", "group.labels.-"}


@pytest.mark.parametrize("site", [GKE, OWN], ids=lambda site: site.kind)
def test_what_only_eks_has_is_refused_elsewhere(site: ClusterProperties) -> None:
    found = problems(site, accelerator="t4", reserved={"id": "x", "capacityBlock": True})
    assert found == [f"group.reserved.capacityBlock: cluster kind {site.kind} has no capacity blocks; set it to false"]


@given(st.sampled_from(sorted(catalog.ACCELERATORS)), st.integers(1, 16), st.sampled_from(["eks", "gke", "aks"]))
def test_any_accelerator_gives_a_machine_with_it_or_a_reason(accelerator: str, per_node: int, cloud: Any) -> None:
    found, wrong = resolve(
        "group", args(accelerator=accelerator, perNode=per_node), ClusterProperties(cloud, cloud, None)
    )
    assert (found is None) == bool(wrong)
    if found:
        assert found.machine
        assert (found.machine.accelerator, found.machine.count) == (accelerator, per_node)
        assert all(is_label_key(key) and is_label_value(value) for key, value in found.labels.items())
    else:
        assert per_node not in catalog.counts(cloud, accelerator)
