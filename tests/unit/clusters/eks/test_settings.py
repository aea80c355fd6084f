"""Bad settings of an EKS cluster: each is one line that names the key and what would do."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from tensorplane.components import catalog
from tensorplane.components.catalog import Machine
from tests.support.problems import problems_of, put

GOOD: dict[str, Any] = {
    "cluster": {"kind": "eks", "region": "us-west-2", "endpoint": {"deployFromInside": True}},
    "nodeGroups": {"cpu": {"machine": "m7i.2xlarge", "min": 2, "max": 4}, "gpu": {"accelerator": "t4", "max": 4}},
}
SUBNETS = {"us-west-2a": "subnet-a", "us-west-2b": "subnet-b"}
ROLE = "arn:aws:iam::123456789012:role/platform"
ARN = "arn:aws:sts::123456789012:assumed-role/platform/me"
LONG = f"{'a' * 30}.example.com/{'k' * 40}"
PRIVATE = "10.0.0.0/8, 172.16.0.0/12, 192.168.0.0/16"

FAULTS: list[tuple[str, Any, str]] = [
    ("cluster/version", "1.29", "cluster.version: '1.29' is not a Kubernetes version that EKS offers; use 1.31 to "
     "1.36 (did you mean 1.31?)"),
    ("cluster/version", "1.35.2", "cluster.version: '1.35.2' is not a Kubernetes version that EKS offers; use 1.31 "
     "to 1.36 (did you mean 1.35?)"),
    ("cluster/version", "1.33", "cluster.support: Kubernetes 1.33 has left standard support; set support: extended, "
     "or version 1.34 or newer"),
    ("cluster/nodeVersion", "1.36", "cluster.nodeVersion: 1.36 does not work with control plane 1.35; use 1.32 to "
     "1.35"),
    ("cluster/nodeVersion", "1.31", "cluster.nodeVersion: 1.31 does not work with control plane 1.35; use 1.32 to "
     "1.35"),
    ("cluster/nodeVersion", "v1.34", "cluster.nodeVersion: 'v1.34' is not a Kubernetes version that EKS offers; use "
     "1.31 to 1.36 (did you mean 1.34?)"),
    ("cluster/network/cidr", "10.0.0.1/16", "cluster.network.cidr: invalid value '10.0.0.1/16'; use IPv4 "
     "addresses as a CIDR, "
     "such as 10.0.0.0/16 (did you mean 10.0.0.0/16?)"),
    ("cluster/network/cidr", "10.0.0.0/24", "cluster.network.cidr: invalid size of 10.0.0.0/24; use /16 to /22, for "
     "the subnets of three zones and their pods"),
    ("cluster/network/cidr", "0.0.0.0/0", "cluster.network.cidr: 0.0.0.0/0 has unspecified addresses (0.0.0.0/8), "
     "which no machine can have; use another range"),
    ("cluster/network/cidr", "10.0.0.0/8", "cluster.network.cidr: invalid size of 10.0.0.0/8; use /16 to /22, for "
     "the subnets of three zones and their pods"),
    ("cluster/network/cidr", "172.20.0.0/16", "cluster.network.serviceCidr: 172.20.0.0/16 overlaps the VPC's "
     "172.20.0.0/16; use another range, such as 10.100.0.0/16"),
    ("cluster/network/serviceCidr", "10.0.8.0/22", "cluster.network.serviceCidr: 10.0.8.0/22 overlaps the VPC's "
     "10.0.0.0/16; use another range, such as 172.20.0.0/16"),
    ("cluster/network/serviceCidr", "172.20.0.0/28", "cluster.network.serviceCidr: invalid range 172.20.0.0/28; "
     "use a /12 to /24 "
     f"within {PRIVATE}"),
    ("cluster/network/serviceCidr", "8.8.0.0/16", f"cluster.network.serviceCidr: invalid range 8.8.0.0/16; use a "
     "/12 to /24 "
     f"within {PRIVATE}"),
    ("cluster/zones", ["us-west-2a"], "cluster.zones: us-west-2a is one zone, but an EKS control plane spans two; "
     "list at least two"),
    ("cluster/network", {"subnets": {"us-west-2a": "subnet-a"}},
     "cluster.network.subnets: us-west-2a is one zone, but an EKS control plane spans two; list at least two"),
    ("cluster/network", {"subnets": SUBNETS, "cidr": "10.0.0.0/16"},
     "cluster.network.cidr: applies to a new VPC, but subnets names existing ones; remove one of them"),
    ("cluster/network", {"subnets": SUBNETS, "nat": "single"},
     "cluster.network.nat: applies to a new VPC, but subnets names existing ones; remove one of them"),
    ("cluster/network", {"subnets": {**SUBNETS, "us-west-2b": "b"}},
     "cluster.network.subnets.us-west-2b: 'b' is not the id of a subnet; use subnet-…"),
    ("cluster/network", {"subnets": {"us-west-2a": "subnet-a", "us-west-2b": "subnet-a"}},
     "cluster.network.subnets.us-west-2b: the same subnet as us-west-2a; use a subnet of each zone"),
    ("cluster/endpoint", {}, "cluster.endpoint: the API server is private and this stack creates its VPC, so pulumi "
     "up cannot reach the API server; allow your address (public: true, allowedCidrs: "
     "[203.0.113.0/24]), use an existing network (network.subnets), or set deployFromInside: "
     "true if a VPN or peering already connects you to this VPC"),
    ("cluster/endpoint", {"public": True}, "cluster.endpoint.allowedCidrs: missing, but endpoint.public is true; "
     "list the networks that may reach the API server, such as 203.0.113.0/24"),
    ("cluster/endpoint", {"allowedCidrs": ["203.0.113.0/24"]},
     "cluster.endpoint.allowedCidrs: is set but endpoint.public is false; remove it, or set public: true"),
    ("cluster/endpoint", {"public": True, "allowedCidrs": ["0.0.0.0/0"]},
     "cluster.endpoint.allowedCidrs: allows the whole internet; list only the addresses of your office, VPN or "
     "CI"),
    ("cluster/endpoint", {"public": True, "allowedCidrs": ["0.0.0.0/1", "128.0.0.0/1"]},
     "cluster.endpoint.allowedCidrs: allows the whole internet; list only the addresses of your office, VPN or CI"),
    ("cluster/endpoint", {"public": True, "allowedCidrs": ["10.1.0.0/16"]},
     "cluster.endpoint.allowedCidrs.0: 10.1.0.0/16 is not a public address range; use the public addresses of "
     "your network"),
    ("cluster/endpoint", {"public": True, "allowedCidrs": ["0.0.0.0/1"]},
     "cluster.endpoint.allowedCidrs: allows 2,147,483,648 addresses (50% of IPv4); list only the addresses of "
     "your office, VPN or CI"),
    ("cluster/endpoint", {"public": True, "allowedCidrs": [f"{first}.0.0.0/8" for first in range(20, 25)]},
     "cluster.endpoint.allowedCidrs: allows 83,886,080 addresses (2% of IPv4); list only the addresses of "
     "your office, VPN or CI"),
    ("cluster/endpoint", {"public": True, "allowedCidrs": ["224.0.0.0/24"]},
     "cluster.endpoint.allowedCidrs.0: 224.0.0.0/24 is not a public address range; use the public addresses of "
     "your network"),
    ("cluster/endpoint", {"public": True, "allowedCidrs": ["203.0.113.7"]},
     "cluster.endpoint.allowedCidrs.0: invalid value '203.0.113.7'; use IPv4 addresses as a CIDR, such as "
     "10.0.0.0/16 (did you mean 203.0.113.7/32?)"),
    ("cluster/network/cidr", "127.0.0.0/16",
        "cluster.network.cidr: 127.0.0.0/16 has loopback addresses (127.0.0.0/8), which no machine can have; use "
        "another range"),
    ("cluster/network/cidr", "10.0.0.0/255.255.0.0", "cluster.network.cidr: invalid value "
     "'10.0.0.0/255.255.0.0'; use IPv4 "
     "addresses as a CIDR, such as 10.0.0.0/16 (did you mean 10.0.0.0/16?)"),
    ("cluster/admins", {"platform": ARN}, f"cluster.admins.platform: {ARN!r} is not the ARN of an IAM role or user; "
     "use one such as arn:aws:iam::123456789012:role/platform"),
    ("cluster/addons", {"coredns": "latest"}, "cluster.addons.coredns: 'latest' is not a version of an EKS add-on; "
     "use default, or one such as v1.14.3-eksbuild.3"),
    ("cluster/addons", {"kube-proxy": "v1.36.0-eksbuild.2"},
     "cluster.addons.kube-proxy: v1.36.0-eksbuild.2 does not work with Kubernetes 1.35; use v1.32 to v1.35, "
     "such as v1.35.3-eksbuild.18"),
    ("cluster/addons", {"kube-proxy": "v1.31.0-eksbuild.2"},
     "cluster.addons.kube-proxy: v1.31.0-eksbuild.2 does not work with Kubernetes 1.35; use v1.32 to v1.35, "
     "such as v1.35.3-eksbuild.18"),
    ("cluster/admins", {"a": ROLE, "b": ROLE}, "cluster.admins.b: the same principal as a; list each role or user "
     "once"),
    ("cluster/addons", {"coredn": "v1"}, "cluster.addons.coredn: unknown add-on; choose one of vpc-cni, kube-proxy, "
     "eks-pod-identity-agent, coredns, aws-ebs-csi-driver, snapshot-controller, "
     "eks-node-monitoring-agent, aws-efs-csi-driver, aws-fsx-csi-driver, "
     "aws-mountpoint-s3-csi-driver (did you mean coredns?)"),
    ("cluster/tags", {"aws:team": "a"}, "cluster.tags.aws:team: AWS reserves tags that begin with aws:; use another "
     "key"),
    ("cluster/tags", {"AWS:team": "a"}, "cluster.tags.AWS:team: AWS reserves tags that begin with aws:; use another "
     "key"),
    ("cluster/tags", {"k" * 129: "a"}, f"cluster.tags.{'k' * 129}: the key has 129 characters; shorten it to 128, "
     f"the limit of AWS"),
    ("cluster/tags", {"team": "v" * 257}, "cluster.tags.team: the value has 257 characters; shorten it to 256, the "
     "limit of AWS"),
    ("cluster/tags", {"team": "a & b"}, "cluster.tags.team: the value 'a & b' has characters that AWS does not "
     "allow; use letters, digits, spaces and _ . : / = + - @"),
    ("cluster/tags", {f"k{index}": "v" for index in range(41)},
     "cluster.tags: 41 tags are set; AWS allows 50, and tensorplane's use some of them; set at most 40"),
    ("cluster/support", "extend", "cluster.support: invalid value 'extend'; use standard or extended (did you "
     "mean extended?)"),
    ("nodeGroups/gpu/zones", ["us-west-2d"], "nodeGroups.gpu.zones: us-west-2d is not a zone of the cluster; choose "
     "one of us-west-2a, us-west-2b, us-west-2c (did you mean us-west-2a, "
     "us-west-2b, us-west-2c?), or add us-west-2d to cluster.zones"),
    ("nodeGroups/gpu/reserved", {"id": "cr-1"}, "nodeGroups.gpu.zones: a capacity reservation is in one zone; set "
     "zones to that zone alone"),
    ("nodeGroups/gpu", {"accelerator": "t4", "max": 1, "zones": ["us-west-2a"], "reserved": {"id": "mine"}},
     "nodeGroups.gpu.reserved.id: 'mine' is not the id of a capacity reservation; use cr-…"),
    ("nodeGroups/cpu2", {"machine": "m7i.2xlarge", "max": 1, "zones": ["us-west-2a"],
     "reserved": {"id": "cr-1", "capacityBlock": True}},
     "nodeGroups.cpu2.reserved.capacityBlock: is set on a group without accelerator; set it to false"),
    ("nodeGroups/gpu", {"accelerator": "t4", "min": 1, "max": 4, "provisioner": "automatic"},
     "nodeGroups.gpu.min: min is 1, but provisioner automatic starts nodes only for waiting pods; set min: 0"),
    ("nodeGroups/gpu", {"accelerator": "t4", "max": 4, "provisioner": "automatic",
     "sharing": {"kind": "timeSlicing", "replicas": 4}},
      "nodeGroups.gpu.sharing: conflicts with provisioner automatic, because Karpenter schedules whole GPUs "
      "only; set provisioner: group"),
    ("nodeGroups/gpu/maxAgeDays", 30, "nodeGroups.gpu.maxAgeDays: nodes of a group of fixed machines are not replaced "
     "by their age; set provisioner: automatic, or leave it out"),
    ("nodeGroups/gpu/labels", {LONG: "v"}, f"nodeGroups.gpu.labels.{LONG}: "
     "the key has 83 characters; shorten it to 82, so that it fits into an AWS tag"),
    ("nodeGroups/gpu/taints", [{"key": f"example.com/{'k' * 52}"}],
     "nodeGroups.gpu.taints.0.key: the key has 64 characters; shorten it to 63, the limit of EKS"),
    (f"nodeGroups/{'g' * 56}", {"accelerator": "t4", "max": 1, "spot": True}, f"nodeGroups.{'g' * 56}: the name has 56 "
     "characters; shorten it to 55, because EKS resources append a suffix"),
]  # fmt: skip


def spoiled(path: str, value: Any) -> dict[str, Any]:
    """The good settings with one changed."""
    tree = copy.deepcopy(GOOD)
    put(tree, path, value)
    return tree


def test_the_unspoiled_settings_are_accepted() -> None:
    assert problems_of(copy.deepcopy(GOOD)) == []


@pytest.mark.parametrize(("path", "value", "says"), FAULTS, ids=lambda part: str(part)[:60])
def test_one_fault_is_one_line(path: str, value: Any, says: str) -> None:
    assert problems_of(spoiled(path, value)) == [f"tensorplane:{says}"]


@pytest.mark.parametrize(("cidr", "most"), [("10.0.0.0/22", 123), ("10.0.0.0/20", 507), ("10.0.0.0/16", 5000)])
def test_full_groups_need_three_addresses_for_each_node(cidr: str, most: int) -> None:
    tree = spoiled("cluster/network/cidr", cidr)
    del tree["nodeGroups"]["gpu"]
    put(tree, "nodeGroups/cpu/max", most)
    assert problems_of(tree) == []
    if most < 5000:
        put(tree, "nodeGroups/cpu/max", most + 1)
        (line,) = problems_of(tree)
        zones = "us-west-2a, us-west-2b, us-west-2c"
        assert line.startswith(
            f"tensorplane:cluster.network.cidr: up to {most + 1} nodes of cpu in {zones} and their pods take at least "
            f"{3 * (most + 1):,} addresses, but {cidr} has {3 * most:,} there; use a /"
        ), line


def test_a_group_of_one_zone_has_the_addresses_of_that_zone_alone() -> None:
    tree = spoiled("cluster/network/cidr", "10.0.0.0/22")
    put(tree, "nodeGroups/gpu", {"accelerator": "t4", "max": 42, "zones": ["us-west-2a"]})
    assert problems_of(tree) == [
        "tensorplane:cluster.network.cidr: up to 42 nodes of gpu in us-west-2a and their pods take at least "
        "126 addresses, but 10.0.0.0/22 has 123 there; use a /21, or a lower max"
    ]


def test_groups_share_the_addresses_of_their_zones() -> None:
    tree = spoiled("cluster/network/cidr", "10.0.0.0/22")
    put(tree, "nodeGroups/gpu", {"accelerator": "t4", "max": 41, "zones": ["us-west-2a"]})
    put(tree, "nodeGroups/cpu/max", 82)
    assert problems_of(tree) == []
    put(tree, "nodeGroups/cpu/max", 83)
    (line,) = problems_of(tree)
    assert line.startswith("tensorplane:cluster.network.cidr: up to 124 nodes of cpu, gpu in us-west-2a, us-west-2b,")


def test_how_large_subnets_of_yours_are_nobody_knows() -> None:
    tree = spoiled("cluster/network", {"subnets": SUBNETS})
    put(tree, "nodeGroups/cpu/max", 5000)
    assert problems_of(tree) == []


def test_a_region_that_the_catalog_knows_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catalog, "regions", lambda cloud: ("us-east-1", "us-west-2"))
    says = "cluster.region: unknown region 'us-wst-2'; choose one of us-east-1, us-west-2 (did you mean us-west-2?)"
    assert problems_of(spoiled("cluster/region", "us-wst-2")) == [f"tensorplane:{says}"]


def test_a_wrong_region_is_one_line_whatever_zones_are_named() -> None:
    tree = spoiled("cluster/region", "us-wst-2")
    put(tree, "cluster/zones", ["us-west-2a", "us-west-2b"])
    put(tree, "nodeGroups/gpu/zones", ["us-west-2c"])
    (line,) = problems_of(tree)
    assert line.startswith("tensorplane:cluster.region: unknown region 'us-wst-2'; choose one of af-south-1,")


@pytest.mark.parametrize(
    ("region", "why"),
    [
        ("us-east-1", "EKS places no control plane in zone use1-az3, whose name differs between accounts"),
        ("ca-central-1", "EKS places no control plane in zone cac1-az3, whose name differs between accounts"),
        ("us-west-1", "EKS places no control plane in zone usw1-az2, whose name differs between accounts"),
        ("ap-southeast-5", "the catalog has no zones for ap-southeast-5"),
    ],
)
def test_zones_are_named_where_the_first_three_may_not_do(region: str, why: str) -> None:
    tree = spoiled("cluster/region", region)
    del tree["nodeGroups"]["gpu"]
    (line,) = problems_of(tree)
    assert line.startswith(f"tensorplane:cluster.zones: missing, and {why}; name at least two ")
    assert f"aws ec2 describe-availability-zones --region {region}" in line
    put(tree, "cluster/zones", [f"{region}a", f"{region}b"])
    assert problems_of(tree) == []


@pytest.mark.parametrize(
    "way_in",
    [
        {"endpoint": {"public": True, "allowedCidrs": ["203.0.113.0/24"]}},
        {"endpoint": {"deployFromInside": True}},
        {"endpoint": {}, "network": {"subnets": SUBNETS}},
    ],
    ids=str,
)
def test_each_way_to_the_api_server_will_do(way_in: dict[str, Any]) -> None:
    tree = copy.deepcopy(GOOD)
    tree["cluster"] |= way_in
    assert problems_of(tree) == []


def test_extended_support_is_for_old_versions() -> None:
    tree = spoiled("cluster/version", "1.33")
    put(tree, "cluster/support", "extended")
    assert problems_of(tree) == []


def test_an_add_ons_version_may_be_left_to_eks() -> None:
    assert problems_of(spoiled("cluster/addons", {"kube-proxy": "default", "coredns": "default"})) == []


def test_a_zone_that_the_region_has_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catalog, "zones", lambda cloud, region: ("us-west-2a", "us-west-2b", "us-west-2c"))
    found = problems_of(spoiled("cluster/zones", ["us-west-2a", "us-west-2z"]))
    zones = "us-west-2a, us-west-2b, us-west-2c"
    says = f"unknown zone 'us-west-2z' in us-west-2; choose one of {zones} (did you mean {zones}?)"
    assert found == [f"tensorplane:cluster.zones: {says}"]


def test_a_machine_that_no_zone_of_the_cluster_sells(monkeypatch: pytest.MonkeyPatch) -> None:
    def sold(cloud: str, machine: Machine, region: str) -> tuple[str, ...] | None:
        return ("us-west-2d",) if machine.accelerator else None

    monkeypatch.setattr(catalog, "sold", sold)
    says = (
        "nodeGroups.gpu: g4dn.xlarge is not available in any zone of the cluster (us-west-2a, us-west-2b, "
        "us-west-2c); add a zone that has it to cluster.zones"
    )
    assert problems_of(copy.deepcopy(GOOD)) == [f"tensorplane:{says}"]


def test_a_stacks_name_may_be_no_clusters_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tensorplane.components.base.stack_name.current", lambda: "Prod_1")
    found = [line for line in problems_of(copy.deepcopy(GOOD)) if "cluster.name" in line]
    assert len(found) == 1
    assert "tensorplane-Prod_1, is not a valid name; use lower-case letters" in found[0]
