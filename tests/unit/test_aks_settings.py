"""Bad settings of an AKS cluster: each is one line that names the key and what would do."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from components import catalog
from tests.unit.test_bad_settings import faults_of, put

GOOD: dict[str, Any] = {
    "cluster": {"kind": "aks", "region": "westeurope", "endpoint": {"deployFromInside": True}},
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
    ("cluster/name", "a" * 60, f"cluster.name: got '{'a' * 60}'; need lower-case letters, digits and dashes, "
     "beginning with a letter, at most 54 characters"),
    ("cluster/version", "1.9", "cluster.version: got '1.9', need a Kubernetes version, such as 1.35 or 1.35.2"),
    ("cluster/version", "1.20", "cluster.version: 1.20 is no longer offered by AKS, which has 1.31 to 1.36; set a "
     "newer one"),
    ("cluster/version", "1.99", "cluster.version: 1.99 is not offered by AKS, whose newest was 1.36 in August 2026; "
     "set 1.36"),
    ("cluster/nodeVersion", "1.30", "cluster.nodeVersion: 1.30 is no longer offered by AKS, which has 1.31 to 1.36; "
     "set a newer one"),
    ("cluster/tags", {"k" * 129: "a"}, f"cluster.tags.{'k' * 129}: the key has 129 characters; Azure takes at most "
     "128"),
    ("cluster/tags", {"team": "v" * 257}, "cluster.tags.team: the value has 257 characters; Azure takes at most 256"),
    ("cluster/tags", {f"k{index}": "v" for index in range(41)}, "cluster.tags: 41 of them, and Azure takes 50, some of "
     "which are tensorplane's and AKS'; leave at most 40"),
    ("cluster/network/cidr", "127.0.0.0/16", "cluster.network.cidr: 127.0.0.0/16 has loopback addresses (127.0.0.0/8), "
     "which no machine can have; take others"),
    ("cluster/nodeVersion", "1.34.2", "cluster.nodeVersion: got 1.34.2, and upgrades is patch, which would leave it: "
     "need 1.34, or upgrades: none"),
    ("cluster/systemGroup", "cpus", "cluster.systemGroup: cpus is no node group: need cpu (did you mean cpu?)"),
    ("cluster/systemGroup", "gpu-t4", "cluster.systemGroup: gpu-t4 has an accelerator, taints or min 0: need cpu"),
    ("nodeGroups/big", {"machine": "Standard_D16s_v5", "min": 1, "max": 2}, "cluster.systemGroup: missing, and the "
     "cluster's own pods could run on big, cpu: need one of them, for as long as it lives"),
    ("nodeGroups/cpu/machine", "Standard_D2s_v5", "nodeGroups.cpu.machine: Standard_D2s_v5 is too small for the "
     "cluster's own pods, which AKS puts on this group: need at least 4 vCPUs and 4 GiB (nearest: Standard_D4s_v5)"),
    ("nodeGroups/cpu/machine", "Standard_B8s_v2", "nodeGroups.cpu.machine: AKS does not put the cluster's own pods on "
     "burstable machines such as Standard_B8s_v2: need another family, such as Standard_D4s_v5"),
    ("cluster/subscription", "mine", "cluster.subscription: got 'mine', need a subscription's id, such as "
     "3f2504e0-4f89-41d3-9a0c-0305e82c3301 (az account list)"),
    ("cluster/maintenance", {"start": "2:00"}, "cluster.maintenance.start: got '2:00', need a time of day as HH:MM, "
     "such as 02:00 (did you mean 02:00?)"),
    ("cluster/version", "1.35.2", "cluster.version: got 1.35.2, and upgrades is patch, which would leave it: need "
     "1.35, or upgrades: none"),
    ("cluster/nodeVersion", "1.36", "cluster.nodeVersion: got 1.36 with version 1.35, need 1.32 to 1.35"),
    ("cluster/nodeVersion", "1.31", "cluster.nodeVersion: got 1.31 with version 1.35, need 1.32 to 1.35"),
    ("cluster/nodeVersion", "latest", "cluster.nodeVersion: got 'latest', need a Kubernetes version, such as 1.35 or "
     "1.35.2"),
    ("cluster/zones", ["1", "westeurope-2"], "cluster.zones: got 'westeurope-2', need 1, 2, 3"),
    ("cluster/zones", ["1", "1"], "cluster.zones: got 1, 1, need each zone once"),
    ("cluster/admins", {"me": "me@example.com"}, "cluster.admins.me: got 'me@example.com', need the object id of an "
     "Entra group, such as 3f2504e0-4f89-41d3-9a0c-0305e82c3301"),
    ("cluster/tags", {"Microsoft-owner": "me"}, "cluster.tags.Microsoft-owner: a tag that Azure sets: need another "
     "key"),
    ("cluster/tags", {"team/name": "me"}, "cluster.tags.team/name: not a tag in Azure: need a key without "
     "< > % & \\ ? /"),
    ("cluster/network/cidr", "10.0.0.1/16", "cluster.network.cidr: got '10.0.0.1/16', need IPv4 addresses as a CIDR, "
     "such as 10.0.0.0/16 (did you mean 10.0.0.0/16?)"),
    ("cluster/network/cidr", "10.0.0.0/28", "cluster.network.cidr: got 10.0.0.0/28, need /8 to /24"),
    ("cluster/network/podCidr", "pods", "cluster.network.podCidr: got 'pods', need IPv4 addresses as a CIDR, such as "
     "10.0.0.0/16"),
    ("cluster/network/podCidr", "10.0.0.0/12", "cluster.network.podCidr: got 10.0.0.0/12, which overlaps cidr "
     "(10.0.0.0/16): need addresses apart from them"),
    ("cluster/network/serviceCidr", "10.240.0.0/16", "cluster.network.serviceCidr: got 10.240.0.0/16, which overlaps "
     "podCidr (10.240.0.0/12): need addresses apart from them"),
    ("cluster/network/serviceCidr", "172.30.0.0/16", "cluster.network.serviceCidr: got 172.30.0.0/16, which overlaps "
     "172.30.0.0/16, which AKS uses itself: need others"),
    ("cluster/network/podCidr", "10.240.0.0/21", "cluster.network.podCidr: got 10.240.0.0/21, which is enough for 8 "
     "nodes (256 addresses each), and the groups may have 12: need a larger one"),
    ("cluster/network/cidr", "10.0.0.0/26", "cluster.network.cidr: got 10.0.0.0/26, need /8 to /24"),
    ("cluster/network", {"subnet": "nodes"}, f"cluster.network.subnet: got 'nodes', need the resource id of a subnet: "
     f"{SUBNET_SHAPE}"),
    ("cluster/network", {"subnet": SUBNET, "cidr": "10.0.0.0/16"}, "cluster.network.cidr: belongs to a new VNet, and "
     "subnet is one of yours: leave out one of them"),
    ("cluster/network", {"outbound": "routeTable"}, "cluster.network.outbound: got routeTable with a new VNet, which "
     "has no routes of yours: need natGateway or loadBalancer"),
    ("cluster/endpoint", {}, "cluster.endpoint: the API server is private and the VNet is new, so pulumi up cannot "
     "reach it to create objects; let your address in (public: true, allowedCidrs: [203.0.113.0/24]), name an existing "
     "network (network.subnet), or set deployFromInside: true where a VPN or a peering leads into this VNet already"),
    ("cluster/endpoint", {"public": True}, "cluster.endpoint.allowedCidrs: missing: who is let in from outside, such "
     "as your office's 203.0.113.0/24"),
    ("cluster/endpoint", {"allowedCidrs": ["203.0.113.0/24"]}, "cluster.endpoint.allowedCidrs: given, and "
     "endpoint.public is false: leave it out, or set public to true"),
    ("cluster/endpoint", {"public": True, "allowedCidrs": ["0.0.0.0/1", "128.0.0.0/1"]},
     "cluster.endpoint.allowedCidrs: lets the whole world in: need the addresses of your office, VPN or CI"),
    ("cluster/endpoint", {"public": True, "allowedCidrs": ["10.1.0.0/16"]}, "cluster.endpoint.allowedCidrs.0: got "
     "10.1.0.0/16, addresses that never come from outside: need public ones"),
    ("cluster/endpoint", {"public": True, "allowedCidrs": ["office"]}, "cluster.endpoint.allowedCidrs.0: got "
     "'office', need IPv4 addresses as a CIDR, such as 10.0.0.0/16"),
    ("nodeGroups/gput4", {"accelerator": "t4", "max": 1, "spot": True}, "nodeGroups.gput4: becomes agent pool gput4 "
     "in AKS, as gpu-t4 does: need a name that differs without dashes"),
    ("nodeGroups/gpu-t4/max", 1001, "nodeGroups.gpu-t4.max: got 1001, need at most 1000: AKS has no larger pools, use "
     "several groups"),
    ("nodeGroups/gpu-a100/sharing/profile", "1g.20gb", "nodeGroups.gpu-a100.sharing.profile: got 1g.20gb, and AKS "
     "divides a100-80gb into 1g.10gb, 2g.20gb, 3g.40gb, 4g.40gb, 7g.80gb only (did you mean 1g.10gb, 2g.20gb?)"),
    ("nodeGroups/gpu-t4/reserved", {"id": "mine"}, "nodeGroups.gpu-t4.reserved.id: got 'mine', need the id of a "
     f"capacity reservation group: {GROUP_SHAPE}"),
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
    assert faults_of(spoiled(path, value)) == []


@pytest.mark.parametrize(("path", "value", "says"), FAULTS, ids=lambda part: str(part)[:60])
def test_one_fault_is_one_line(path: str, value: Any, says: str) -> None:
    assert faults_of(spoiled(path, value)) == [f"tensorplane:{says}"]


def test_a_patch_release_stays_where_azure_does_not_upgrade() -> None:
    tree = spoiled("cluster/upgrades", "none")
    put(tree, "cluster/version", "1.35.2")
    assert faults_of(tree) == []


def test_nodes_are_not_newer_than_the_control_plane() -> None:
    tree = spoiled("cluster/upgrades", "none")
    put(tree, "cluster/version", "1.35.2")
    put(tree, "cluster/nodeVersion", "1.35.4")
    says = "cluster.nodeVersion: got 1.35.4, and the control plane's version is 1.35.2: need 1.35.2"
    assert faults_of(tree) == [f"tensorplane:{says}"]


def test_of_several_groups_one_is_named_for_the_clusters_own_pods() -> None:
    tree = spoiled("nodeGroups/big", {"machine": "Standard_D16s_v5", "min": 1, "max": 2})
    put(tree, "cluster/systemGroup", "big")
    assert faults_of(tree) == []


def test_every_node_needs_an_address() -> None:
    tree = spoiled("cluster/network/cidr", "10.0.0.0/24")
    assert faults_of(tree) == []
    put(tree, "nodeGroups/gpu-t4/max", 60)
    says = "got 10.0.0.0/24, a quarter of which is enough for 59 nodes, and the groups may have 68: need a larger one"
    assert faults_of(tree) == [f"tensorplane:cluster.network.cidr: {says}"]


def test_more_nodes_than_a_cluster_takes() -> None:
    tree = copy.deepcopy(GOOD)
    for number in range(6):
        put(
            tree,
            f"nodeGroups/spare-{number}",
            {"machine": "Standard_D8s_v5", "max": 1000, "labels": {"n": str(number)}},
        )
    put(tree, "cluster/network/podCidr", "11.0.0.0/8")
    assert faults_of(tree) == ["tensorplane:nodeGroups: up to 6012 nodes, AKS takes 5000 in one cluster"]


def test_the_first_group_is_large_enough_for_the_clusters_own_pods(monkeypatch: pytest.MonkeyPatch) -> None:
    small = catalog.Machine(
        "aks", "Standard_A1_v2", 1, 2, "amd64", None, 0, None, False, "Ubuntu", 0, None, None, "made up"
    )
    monkeypatch.setattr(catalog, "machine", lambda cloud, name: small)
    tree = {"cluster": GOOD["cluster"], "nodeGroups": {"cpu": {"machine": "Standard_A1_v2", "min": 1, "max": 2}}}
    (line,) = faults_of(tree)
    assert line.startswith("tensorplane:nodeGroups.cpu.machine: Standard_A1_v2 is too small")
    assert line.endswith("need at least 4 vCPUs and 4 GiB")


def test_a_location_that_the_catalog_knows_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catalog, "regions", lambda cloud: ("northeurope", "westeurope"))
    says = "cluster.region: no location 'West Europ', have northeurope, westeurope (did you mean westeurope?)"
    assert f"tensorplane:{says}" in faults_of(spoiled("cluster/region", "West Europ"))


def test_zones_are_numbers_where_the_catalog_knows_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catalog, "zones", lambda cloud, region: ())
    says = "nodeGroups.gpu-t4.zones: got 'westeurope-2', need 1, 2, 3: AKS numbers its zones (did you mean 2?)"
    assert faults_of(spoiled("nodeGroups/gpu-t4/zones", ["westeurope-2"])) == [f"tensorplane:{says}"]


def test_a_zone_of_the_cluster_that_does_not_sell_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catalog, "sold", lambda cloud, machine, region: ("1", "3"))
    tree = spoiled("cluster/zones", ["1", "2", "3"])
    del tree["nodeGroups"]["gpu-t4"], tree["nodeGroups"]["gpu-a100"]
    says = "Standard_D8s_v5 is not sold in zone 2, which cluster.zones has: need 1, 3 here"
    assert faults_of(tree) == [f"tensorplane:nodeGroups.cpu.zones: {says}"]
    put(tree, "nodeGroups/cpu/zones", ["1", "3"])
    assert faults_of(tree) == []


def test_a_stacks_name_may_be_no_clusters_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("components.aks.check_cluster.pulumi.get_stack", lambda: "Prod_1")
    found = [line for line in faults_of(copy.deepcopy(GOOD)) if "cluster.name" in line]
    assert len(found) == 1
    assert "missing, and stack 'Prod_1' would make it tensorplane-Prod_1; need lower-case letters" in found[0]
