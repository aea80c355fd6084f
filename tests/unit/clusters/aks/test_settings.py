"""Bad settings of an AKS cluster: each is one line that names the key and what would do."""

from __future__ import annotations

import copy
import importlib.util
from typing import Any

import pytest

from tensorplane.components import catalog
from tests.support.problems import problems_of, put
from tests.support.rendering import PROJECT

GOOD: dict[str, Any] = {
    "cluster": {"kind": "aks", "region": "westeurope", "endpoint": {"deployFromInside": True}, "inheritedAdmins": True},
    "nodeGroups": {
        "cpu": {"machine": "Standard_D8s_v5", "min": 2, "max": 4},
        "gpu-t4": {"accelerator": "t4", "max": 4},
        "gpu-a100": {"accelerator": "a100-80gb", "max": 4, "sharing": {"kind": "mig", "profile": "2g.20gb"}},
    },
}
SUBNET = "/subscriptions/s/resourceGroups/g/providers/Microsoft.Network/virtualNetworks/v/subnets/n"
SUBNET_SHAPE = "/subscriptions/…/resourceGroups/…/providers/Microsoft.Network/virtualNetworks/…/subnets/…"
GROUP = "/subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/capacityReservationGroups/c"
GROUP_SHAPE = "/subscriptions/…/resourceGroups/…/providers/Microsoft.Compute/capacityReservationGroups/…"

FAULTS: list[tuple[str, Any, str]] = [
    ("cluster/name", "a" * 60, f"cluster.name: '{'a' * 60}' is not a valid name; use lower-case letters, digits "
     f"and dashes, "
     "beginning with a letter, at most 54 characters"),
    ("cluster/version", "1.9", "cluster.version: '1.9' is not a Kubernetes version; use one such as 1.35 or 1.35.2"),
    ("cluster/version", "1.20", "cluster.version: 1.20 is no longer offered by AKS; set 1.31 to 1.36"),
    ("cluster/version", "1.99", "cluster.version: 1.99 is not offered by AKS (newest in August 2026: 1.36); set 1.36"),
    ("cluster/nodeVersion", "1.30", "cluster.nodeVersion: 1.30 is no longer offered by AKS; set 1.31 to 1.36"),
    ("cluster/tags", {"k" * 129: "a"}, f"cluster.tags.{'k' * 129}: the key has 129 characters; shorten it to "
     "128, the limit of Azure"),
    ("cluster/tags", {"team": "v" * 257}, "cluster.tags.team: the value has 257 characters; shorten it to 256, the "
     "limit of Azure"),
    ("cluster/tags", {f"k{index}": "v" for index in range(41)},
     "cluster.tags: 41 tags are set; Azure allows 50, and tensorplane's and AKS' use some of them; set at most "
     "40"),
    ("cluster/network/cidr", "127.0.0.0/16", "cluster.network.cidr: 127.0.0.0/16 has loopback addresses "
     "(127.0.0.0/8), which no machine can have; use another range"),
    ("cluster/nodeVersion", "1.34.2", "cluster.nodeVersion: 1.34.2 names a patch version, but upgrades: patch moves "
     "the cluster off it; use 1.34, or upgrades: none"),
    ("cluster/systemGroup", "cpus", "cluster.systemGroup: cpus is not a node group; choose one of cpu (did you mean "
     "cpu?)"),
    ("cluster/systemGroup", "gpu-t4", "cluster.systemGroup: gpu-t4 cannot be the system node pool (accelerator, "
     "taints or min 0); choose one of cpu"),
    ("nodeGroups/big", {"machine": "Standard_D16s_v5", "min": 1, "max": 2},
     "cluster.systemGroup: missing, and several groups can be the system node pool; choose one of big, cpu (it "
     "cannot change later)"),
    ("nodeGroups/cpu/machine", "Standard_D2s_v5", "nodeGroups.cpu.machine: Standard_D2s_v5 is too small for the "
     "system node pool; use one with at least 4 vCPUs and 4 GiB "
     "(nearest: Standard_D4s_v5)"),
    ("nodeGroups/cpu/machine", "Standard_B8s_v2", "nodeGroups.cpu.machine: AKS does not allow burstable machines "
     "such as Standard_B8s_v2 in the system node pool; use another "
     "family, such as Standard_D4s_v5"),
    ("cluster/subscription", "mine", "cluster.subscription: 'mine' is not a subscription id; use an id such as "
     "3f2504e0-4f89-41d3-9a0c-0305e82c3301 (az account list)"),
    ("cluster/maintenance", {"start": "2:00"}, "cluster.maintenance.start: invalid value '2:00'; use a time of "
     "day as HH:MM, "
     "00:00 to 23:59 (did you mean 02:00?)"),
    ("cluster/version", "1.35.2", "cluster.version: 1.35.2 names a patch version, but upgrades: patch moves the "
     "cluster off it; use 1.35, or upgrades: none"),
    ("cluster/nodeVersion", "1.36", "cluster.nodeVersion: 1.36 does not work with control plane 1.35; use 1.32 to "
     "1.35"),
    ("cluster/nodeVersion", "1.31", "cluster.nodeVersion: 1.31 does not work with control plane 1.35; use 1.32 to "
     "1.35"),
    ("cluster/nodeVersion", "latest", "cluster.nodeVersion: 'latest' is not a Kubernetes version; use one such as "
     "1.35 or 1.35.2"),
    ("cluster/zones", ["1", "westeurope-2"], "cluster.zones: unknown zone 'westeurope-2'; choose one of 1, 2, 3"),
    ("cluster/admins", {"me": "me@example.com"}, "cluster.admins.me: 'me@example.com' is not an object id; use the "
     "object id of an Entra group, such as "
     "3f2504e0-4f89-41d3-9a0c-0305e82c3301"),
    ("cluster/inheritedAdmins", False, "cluster.admins: missing; without the role Azure Kubernetes Service RBAC "
     "Cluster Admin, the API server refuses pulumi up with 403; name an Entra "
     "group that includes everyone who deploys ({platform: "
     "3f2504e0-4f89-41d3-9a0c-0305e82c3301}), or set inheritedAdmins: true if the "
     "subscription already grants the role"),
    ("cluster/tags", {"Microsoft-owner": "me"}, "cluster.tags.Microsoft-owner: Azure reserves tags that begin with "
     "microsoft; use another key"),
    ("cluster/tags", {"team/name": "me"}, "cluster.tags.team/name: the key 'team/name' has characters that Azure "
     "does not allow; use none of < > % & \\ ? /"),
    ("cluster/network/cidr", "10.0.0.1/16", "cluster.network.cidr: invalid value '10.0.0.1/16'; use IPv4 "
     "addresses as a CIDR, "
     "such as 10.0.0.0/16 (did you mean 10.0.0.0/16?)"),
    ("cluster/network/cidr", "10.0.0.0/28", "cluster.network.cidr: invalid size of 10.0.0.0/28; use /8 to /24"),
    ("cluster/network/podCidr", "pods", "cluster.network.podCidr: invalid value 'pods'; use IPv4 addresses as a "
     "CIDR, such as "
     "10.0.0.0/16"),
    ("cluster/network/podCidr", "10.0.0.0/12", "cluster.network.podCidr: 10.0.0.0/12 overlaps cidr (10.0.0.0/16); "
     "use a range that does not overlap"),
    ("cluster/network/serviceCidr", "10.240.0.0/16", "cluster.network.serviceCidr: 10.240.0.0/16 overlaps podCidr "
     "(10.240.0.0/12); use a range that does not overlap"),
    ("cluster/network/serviceCidr", "172.30.0.0/16", "cluster.network.serviceCidr: 172.30.0.0/16 overlaps "
     "172.30.0.0/16, which AKS reserves; use another range"),
    ("cluster/network/podCidr", "10.240.0.0/21", "cluster.network.podCidr: 10.240.0.0/21 has addresses for 8 nodes "
     "(256 each), but the groups have up to 12; use a larger range"),
    ("cluster/network/cidr", "10.0.0.0/26", "cluster.network.cidr: invalid size of 10.0.0.0/26; use /8 to /24"),
    ("cluster/network", {"subnet": "nodes"}, f"cluster.network.subnet: 'nodes' is not the resource id of a subnet; use "
     f"{SUBNET_SHAPE}"),
    ("cluster/network", {"subnet": SUBNET, "cidr": "10.0.0.0/16"},
     "cluster.network.cidr: applies to a new VNet, but subnet names an existing one; remove one of them"),
    ("cluster/network", {"outbound": "routeTable"}, "cluster.network.outbound: routeTable needs a VNet with your own "
     "routes, but this stack creates the VNet; use natGateway or "
     "loadBalancer"),
    ("cluster/endpoint", {}, "cluster.endpoint: the API server is private and this stack creates its VNet, so pulumi "
     "up cannot reach the API server; allow your address (public: true, allowedCidrs: "
     "[203.0.113.0/24]), use an existing network (network.subnet), or set deployFromInside: "
     "true if a VPN or peering already connects you to this VNet"),
    ("cluster/endpoint", {"public": True}, "cluster.endpoint.allowedCidrs: missing, but endpoint.public is true; "
     "list the networks that may reach the API server, such as 203.0.113.0/24"),
    ("cluster/endpoint", {"allowedCidrs": ["203.0.113.0/24"]},
     "cluster.endpoint.allowedCidrs: is set but endpoint.public is false; remove it, or set public: true"),
    ("cluster/endpoint", {"public": True, "allowedCidrs": ["0.0.0.0/1", "128.0.0.0/1"]},
     "cluster.endpoint.allowedCidrs: allows the whole internet; list only the addresses of your office, VPN or CI"),
    ("cluster/endpoint", {"public": True, "allowedCidrs": ["10.1.0.0/16"]},
     "cluster.endpoint.allowedCidrs.0: 10.1.0.0/16 is not a public address range; use the public addresses of "
     "your network"),
    ("cluster/endpoint", {"public": True, "allowedCidrs": ["office"]},
     "cluster.endpoint.allowedCidrs.0: invalid value 'office'; use IPv4 addresses as a CIDR, such as 10.0.0.0/16"),
    ("nodeGroups/gput4", {"accelerator": "t4", "max": 1, "spot": True},
     "nodeGroups.gput4: has the same agent pool name as gpu-t4, gput4; use a name that differs without dashes"),
    ("nodeGroups/gpu-t4/max", 1001, "nodeGroups.gpu-t4.max: 1001 exceeds the 1000 nodes of an AKS node pool; use "
     "several groups"),
    ("nodeGroups/gpu-a100/sharing/profile", "1g.20gb", "nodeGroups.gpu-a100.sharing.profile: AKS does not offer MIG "
     "profile 1g.20gb on a100-80gb; choose one of 1g.10gb, "
     "2g.20gb, 3g.40gb, 4g.40gb, 7g.80gb (did you mean 1g.10gb, "
     "2g.20gb?)"),
    ("nodeGroups/gpu-a100", {"accelerator": "rtx-pro-6000", "max": 1, "sharing": {"kind": "mig", "profile": "1g.24gb"}},
     "nodeGroups.gpu-a100.sharing: AKS does not support MIG on rtx-pro-6000; use a100-40gb, a100-80gb, "
     "h100-80gb, h100-nvl, h200, or sharing kind timeSlicing"),
    ("nodeGroups/gpu-t4/reserved", {"id": "mine"}, "nodeGroups.gpu-t4.reserved.id: 'mine' is not the id of a "
     f"capacity reservation group; use {GROUP_SHAPE}"),
]  # fmt: skip


def spoiled(path: str, value: Any) -> dict[str, Any]:
    """The good settings with one changed."""
    tree = copy.deepcopy(GOOD)
    put(tree, path, value)
    return tree


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("cluster/version", "1.34"),
        ("cluster/version", "1.38"),
        ("cluster/nodeVersion", "1.34"),
        ("cluster/zones", []),
        ("cluster/network", {"subnet": SUBNET, "outbound": "routeTable"}),
        ("cluster/endpoint", {"public": True, "allowedCidrs": ["203.0.113.0/24"]}),
        ("nodeGroups/gpu-t4/reserved", {"id": GROUP}),
        ("nodeGroups/gpu-t4/zones", ["2"]),
    ],
)
def test_good_settings_are_accepted(path: str, value: Any) -> None:
    assert problems_of(spoiled(path, value)) == []


@pytest.mark.parametrize(("path", "value", "says"), FAULTS, ids=lambda part: str(part)[:60])
def test_one_fault_is_one_line(path: str, value: Any, says: str) -> None:
    assert problems_of(spoiled(path, value)) == [f"tensorplane:{says}"]


def test_a_patch_release_stays_where_azure_does_not_upgrade() -> None:
    tree = spoiled("cluster/upgrades", "none")
    put(tree, "cluster/version", "1.35.2")
    assert problems_of(tree) == []


def test_nodes_are_not_newer_than_the_control_plane() -> None:
    tree = spoiled("cluster/upgrades", "none")
    put(tree, "cluster/version", "1.35.2")
    put(tree, "cluster/nodeVersion", "1.35.4")
    says = "cluster.nodeVersion: 1.35.4 is newer than the control plane, 1.35.2; use 1.35.2"
    assert problems_of(tree) == [f"tensorplane:{says}"]


def test_of_several_groups_one_is_named_for_the_clusters_own_pods() -> None:
    tree = spoiled("nodeGroups/big", {"machine": "Standard_D16s_v5", "min": 1, "max": 2})
    put(tree, "cluster/systemGroup", "big")
    assert problems_of(tree) == []


def test_every_node_needs_an_address() -> None:
    tree = spoiled("cluster/network/cidr", "10.0.0.0/24")
    assert problems_of(tree) == []
    put(tree, "nodeGroups/gpu-t4/max", 60)
    says = (
        "the node subnet, a quarter of 10.0.0.0/24, has addresses for 59 nodes, but the groups have up to 68; "
        "use a larger range"
    )
    assert problems_of(tree) == [f"tensorplane:cluster.network.cidr: {says}"]


def test_more_nodes_than_a_cluster_takes() -> None:
    tree = copy.deepcopy(GOOD)
    for number in range(6):
        put(
            tree,
            f"nodeGroups/spare-{number}",
            {"machine": "Standard_D8s_v5", "max": 1000, "labels": {"n": str(number)}},
        )
    put(tree, "cluster/network/podCidr", "11.0.0.0/8")
    assert problems_of(tree) == [
        "tensorplane:nodeGroups: the groups have up to 6012 nodes, but an AKS cluster has at most 5000; lower max"
    ]


def test_the_first_group_is_large_enough_for_the_clusters_own_pods(monkeypatch: pytest.MonkeyPatch) -> None:
    small = catalog.Machine(
        "aks", "Standard_A1_v2", 1, 2, "amd64", None, 0, None, False, "Ubuntu", 0, None, None, "made up"
    )
    monkeypatch.setattr(catalog, "machine", lambda cloud, name: small)
    tree = {"cluster": GOOD["cluster"], "nodeGroups": {"cpu": {"machine": "Standard_A1_v2", "min": 1, "max": 2}}}
    (line,) = problems_of(tree)
    assert line.startswith(
        "tensorplane:nodeGroups.cpu.machine: Standard_A1_v2 is too small for the system node pool; use one with at"
    )
    assert line.endswith("use one with at least 4 vCPUs and 4 GiB")


def test_a_location_that_the_catalog_knows_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catalog, "regions", lambda cloud: ("northeurope", "westeurope"))
    says = (
        "cluster.region: unknown location 'West Europ'; choose one of northeurope, westeurope (did you mean "
        "westeurope?)"
    )
    assert f"tensorplane:{says}" in problems_of(spoiled("cluster/region", "West Europ"))


def test_zones_are_numbers_where_the_catalog_knows_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catalog, "zones", lambda cloud, region: ())
    says = (
        "nodeGroups.gpu-t4.zones: unknown zone 'westeurope-2'; choose one of 1, 2, 3, as AKS numbers its "
        "zones (did you mean 2?)"
    )
    assert problems_of(spoiled("nodeGroups/gpu-t4/zones", ["westeurope-2"])) == [f"tensorplane:{says}"]


def test_a_zone_of_the_cluster_that_does_not_sell_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catalog, "sold", lambda cloud, machine, region: ("1", "3"))
    tree = spoiled("cluster/zones", ["1", "2", "3"])
    del tree["nodeGroups"]["gpu-t4"], tree["nodeGroups"]["gpu-a100"]
    says = "Standard_D8s_v5 is not available in zone 2 of cluster.zones; set zones to 1, 3"
    assert problems_of(tree) == [f"tensorplane:nodeGroups.cpu.zones: {says}"]
    put(tree, "nodeGroups/cpu/zones", ["1", "3"])
    assert problems_of(tree) == []


def test_a_stacks_name_may_be_no_clusters_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tensorplane.components.base.stack_name.current", lambda: "Prod_1")
    found = [line for line in problems_of(copy.deepcopy(GOOD)) if "cluster.name" in line]
    assert len(found) == 1
    assert (
        "missing, and the default from stack 'Prod_1', tensorplane-Prod_1, is not a valid name; use lower-case letters,"
        in found[0]
    )


def test_without_the_sdk_one_line_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    find = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *more: None if name == "pulumi_azure_native" else find(name, *more)
    )
    assert problems_of(GOOD) == [
        "tensorplane:cluster.kind: Azure's SDK for Pulumi is not installed; run python -m pip install -r "
        "requirements-aks.txt"
    ]
    assert (PROJECT / "requirements-aks.txt").exists()
