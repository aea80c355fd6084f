"""Pods that are larger than any node: told before anything is touched, and only where the nodes' size is known."""

from __future__ import annotations

from typing import Any

import pytest

from tensorplane.components.base.model import Resources
from tensorplane.components.clusters.eks import Eks
from tensorplane.components.clusters.embedded import Embedded
from tensorplane.components.node_groups import fleet
from tensorplane.components.node_groups.checks import pods
from tensorplane.components.node_groups.cluster_properties import ClusterProperties
from tensorplane.components.node_groups.settings import NodeGroupArgs

EKS = Eks(region="us-west-2").cluster_properties
GROUPS: dict[str, Any] = {
    "cpu": {"machine": "m7i.2xlarge", "min": 2, "max": 4},  # 8 CPUs, 32 GiB
    "old": {"accelerator": "t4", "max": 4},  # 4 CPUs, 16 GiB
    "wide": {"accelerator": "t4", "machine": "g4dn.2xlarge", "max": 4},  # 8 CPUs, 32 GiB
}


def problems_of(site: ClusterProperties = EKS, groups: dict[str, Any] = GROUPS, **asked: Any) -> list[str]:
    parsed = {name: NodeGroupArgs.model_validate(each, by_alias=True, by_name=False) for name, each in groups.items()}
    found, wrong = fleet.of(parsed, site)
    assert not wrong
    return [
        str(fault)
        for fault in pods.find_problems(
            found, Resources(**asked), ("workloads", "job", "resources"), interruptible=True
        )
    ]


@pytest.mark.parametrize(
    "asked",
    [
        {"cpus": 8, "memory_gib": 32},
        {"cpus": 8, "memory_gib": 32, "gpus": 1},
        {"cpus": 4, "memory_gib": 16, "gpus": 1, "node_group": "old"},
    ],
)
def test_what_a_node_has_is_accepted(asked: dict[str, Any]) -> None:
    assert problems_of(**asked) == []


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ({"cpus": 9}, ["cpus: 9 CPUs do not fit on any node: the largest, of cpu, has 8"]),
        ({"memory_gib": 33}, ["memoryGib: 33 GiB do not fit on any node: the largest, of cpu, has 32"]),
        ({"cpus": 9, "memory_gib": 99, "gpus": 1}, ["cpus: 9 CPUs do not fit on any node",
            "memoryGib: 99 GiB do not fit on any node"]),
        ({"cpus": 5, "gpus": 1, "node_group": "old"}, ["cpus: 5 CPUs do not fit on any node"]),
    ],
)  # fmt: skip
def test_what_no_node_has_is_a_line_each(asked: dict[str, Any], says: list[str]) -> None:
    found = problems_of(**asked)
    assert len(found) == len(says)
    for line, start in zip(found, says, strict=True):
        assert line.startswith(f"tensorplane:workloads.job.resources.{start}")


@pytest.mark.parametrize(
    "groups",
    [
        {"new": {"machine": "m7i.4xlarge", "max": 4, "provisioner": "automatic"}, "cpu": GROUPS["cpu"]},
        {"spot": {"accelerator": "t4", "max": 4, "spot": True}, "cpu": GROUPS["cpu"]},
    ],
    ids=["automatic", "spot"],
)
def test_where_the_cloud_chooses_nothing_is_said(groups: dict[str, Any]) -> None:
    assert problems_of(groups=groups, cpus=20, gpus=int("spot" in groups)) == []


def test_the_embedded_clusters_own_node_is_not_a_simulated_one() -> None:
    groups = {"cpu": {"max": 1}, "old": {"accelerator": "t4", "max": 1}}
    assert problems_of(Embedded().cluster_properties, groups, cpus=64) == []
    (line,) = problems_of(Embedded().cluster_properties, groups, cpus=64, gpus=1)
    assert "of old, has" in line


def test_of_nodes_that_are_there_already_nothing_is_known() -> None:
    groups = {"cpu": {"max": 1}, "old": {"accelerator": "t4", "max": 1}}
    assert problems_of(ClusterProperties("existing", None, None), groups, cpus=640, gpus=1) == []
