"""Every check of a GKE cluster's settings: one line that names the key, what was found and what is needed."""

from __future__ import annotations

from typing import Any

import pulumi
import pytest

import stack
from components.settings import Settings
from tests.unit.gke import CPU, faults

ZONES = ["us-central1-a"]
SUBNET = {"network": "n", "subnetwork": "s", "podsRange": "p", "servicesRange": "v"}

CLUSTER: list[tuple[dict[str, Any], str]] = [
    ({"project": "ACME"}, "project: got 'ACME', need a project's id: 6 to 30 lower-case letters"),
    ({"name": "a" * 41}, f"name: got '{'a' * 41}'; need lower-case letters, digits and dashes"),
    ({"name": "Staging"}, "name: got 'Staging'; need lower-case"),
    ({"region": "us-central"}, "region: no region 'us-central', have "),
    (
        {"region": "us-central1-a"},
        "region: no region 'us-central1-a': us-central1-a is a zone, need its region us-central1",
    ),
    ({"zones": ["us-central1-z"]}, "zones: no zone 'us-central1-z' in us-central1, it has us-central1-a, "),
    ({"version": "v1.35"}, "version: got 'v1.35', need one such as 1.35 or 1.35.2-gke.1485000"),
    ({"version": "1.99"}, "version: 1.99 is not offered by GKE, whose newest was 1.36 in August 2026; set 1.36"),
    ({"version": "1.39.1-gke.1"}, "version: 1.39.1-gke.1 is not offered by GKE, whose newest was 1.36 in"),
    ({"labels": {f"k{index}": "v" for index in range(49)}}, "labels: 49 of them, and Google Cloud takes 64, some of"),
    ({"network": {"podCidr": "224.0.0.0/14"}}, "network.podCidr: 224.0.0.0/14 has multicast addresses (224.0.0.0/4)"),
    ({"network": {"cidr": "169.254.0.0/20"}}, "network.cidr: 169.254.0.0/20 has link-local addresses"),
    ({"endpoint": {"allowedCidrs": ["0.0.0.0/1"]}}, "endpoint.allowedCidrs: lets 2,147,483,648 addresses, 50 % of the"),
    ({"endpoint": {"allowedCidrs": ["127.0.0.0/8"]}}, "endpoint.allowedCidrs: 127.0.0.0/8 has loopback addresses"),
    ({"version": "1.29"}, "version: got 1.29, need at least 1.32"),
    ({"labels": {"Team": "x"}}, "labels.Team: not a key of a Google Cloud label"),
    ({"labels": {"team": "X"}}, "labels.team: got 'X', need lower-case letters"),
    ({"network": {"cidr": "10.0.0.1/20"}}, "network.cidr: got '10.0.0.1/20', need IPv4"),
    ({"network": {"podCidr": "10.4.0.0/8"}}, "network.podCidr: got '10.4.0.0/8', need IPv4"),
    ({"network": {"serviceCidr": "10.8.0.0/30"}}, "network.serviceCidr: got 10.8.0.0/30, need /16 to /27"),
    ({"network": {"controlPlaneCidr": "172.16.0.0/24"}}, "network.controlPlaneCidr: got 172.16.0.0/24, need /28"),
    ({"network": {"serviceCidr": "10.4.0.0/20"}}, "network.serviceCidr: 10.4.0.0/20 overlaps podCidr (10.4.0.0/14)"),
    (
        {"network": {"controlPlaneCidr": "10.0.0.0/28"}},
        "network.controlPlaneCidr: 10.0.0.0/28 overlaps cidr (10.0.0.0/20)",
    ),
    (
        {"network": {"podCidr": "10.4.0.0/23"}},
        "network.podCidr: room for 2 nodes (256 addresses of 10.4.0.0/23 each), ",
    ),
    (
        {"network": {"cidr": "10.0.0.0/29"}},
        "network.cidr: 10.0.0.0/29 has room for 3 nodes, the groups may have 4: need",
    ),
    ({"network": {"existing": {**SUBNET, "network": "My VPC"}}}, "network.existing.network: got 'My VPC', which names"),
    ({"network": {"existing": {**SUBNET, "subnetwork": "a/b"}}}, "network.existing.subnetwork: got 'a/b', which names"),
    ({"network": {"existing": {**SUBNET, "podsRange": "10.0.0.0/8"}}}, "network.existing.podsRange: got '10.0.0.0/8'"),
    ({"network": {"existing": SUBNET, "cidr": "10.0.0.0/20"}}, "network.cidr: given with existing"),
    ({"endpoint": {"public": True}}, "endpoint.allowedCidrs: missing with public: true"),
    ({"endpoint": {"allowedCidrs": ["0.0.0.0/0"]}}, "endpoint.allowedCidrs: lets the whole world in"),
    ({"endpoint": {"allowedCidrs": ["0.0.0.0/1", "128.0.0.0/1"]}}, "endpoint.allowedCidrs: lets the whole world in"),
    ({"endpoint": {"allowedCidrs": ["office"]}}, "endpoint.allowedCidrs: got 'office', need IPv4"),
    ({"maintenance": {"days": ["SU"]}}, "maintenance: 24 hours in 32 days, GKE needs 48: need 12 hours, or more days"),
    ({"encryptionKey": "mine"}, "encryptionKey: got 'mine', need projects/PROJECT/"),
    (
        {"encryptionKey": "projects/p/locations/europe-west4/keyRings/r/cryptoKeys/k"},
        "encryptionKey: a key of europe-west4, need one of the cluster's region us-central1",
    ),
]

TPU: dict[str, Any] = {"accelerator": "tpu-v5e", "perNode": 4, "zones": ZONES}
L4: dict[str, Any] = {"accelerator": "l4", "provisioner": "automatic"}

GROUPS: list[tuple[str, dict[str, Any], str]] = [
    ("g" * 33, {"accelerator": "t4"}, "the name has 33 characters, at most 32 leave room"),
    (
        "g",
        {"accelerator": "a100-40gb", "sharing": {"kind": "mig", "profile": "1g.10gb"}},
        "g.sharing.profile: GKE makes no 1g.10gb of a100-40gb, it makes 1g.5gb, 2g.10gb, 3g.20gb, 4g.20gb, 7g.40gb "
        "(did you mean 2g.10gb?)",
    ),
    (
        "g",
        {"accelerator": "tpu-v3", "perNode": 4, "topology": "4x4", "max": 4, "zones": ZONES},
        "g.topology: got 4x4, but tpu-v3 machines are not wired to each other: need 2x2",
    ),
    (
        "g",
        {"accelerator": "t4", "reserved": {"id": "ours"}},
        "g.zones: missing: a reservation is in one zone, need one of ",
    ),
    (
        "g",
        {"machine": "a3-ultragpu-8g", "zones": ["us-central1-a", "us-central1-b"], "spot": True},
        "g.zones: got us-central1-a, us-central1-b: GPUDirect joins a3-ultragpu-8g machines of one zone, need one",
    ),
    (
        "g",
        {"accelerator": "t4", "zones": ZONES, "reserved": {"id": "Ours!"}},
        "g.reserved.id: got 'Ours!', need a reservation's name",
    ),
    (
        "g",
        {"accelerator": "t4", "sharing": {"kind": "timeSlicing", "replicas": 64}},
        "g.sharing.replicas: got 64, GKE shares a GPU between 48 pods at most",
    ),
    ("g", {"accelerator": "t4", "topology": "4x4", "zones": ZONES}, "g.topology: got 4x4 on a group without TPUs"),
    ("g", {**TPU, "topology": "4x5"}, "g.topology: tpu-v5e has no topology '4x5', but 1x1, 2x2, 2x4, 4x4, 4x8"),
    ("g", {**TPU, "topology": "4x4", "max": 3}, "g.max: got 3, a slice of 4x4 has 4 machines: need 4"),
    ("g", {**TPU, "topology": "4x4", "min": 1}, "g.min: got 1, a slice starts and stops as one: need 0 or 4"),
    (
        "g",
        {**TPU, "topology": "4x4", "zones": [*ZONES, "us-central1-b"]},
        "g.zones: got us-central1-a, us-central1-b: a TPU",
    ),
    (
        "g",
        {**TPU, "perNode": 8, "topology": "4x4", "max": 2},
        "g.perNode: got 8, slices of several machines (4x4) have 4",
    ),
    ("g", {**TPU, "perNode": 8, "topology": "2x2", "max": 1}, "g.topology: 2x2 has fewer chips than a machine"),
    ("g", {**L4, "min": 1}, "g.min: got 1 with provisioner automatic, which keeps no nodes: need 0"),
    ("g", {**L4, "zones": ZONES, "reserved": {"id": "ours"}}, "g.reserved: given with provisioner automatic"),
    ("g", {**L4, "sharing": {"kind": "mps", "replicas": 2}}, "g.sharing: given with provisioner automatic"),
    ("g", {**TPU, "topology": "4x4", "provisioner": "automatic"}, "g.topology: given with provisioner automatic"),
]


@pytest.mark.parametrize(
    ("settings", "line"), CLUSTER, ids=[line.split(":")[0] + str(i) for i, (_, line) in enumerate(CLUSTER)]
)
def test_a_fault_of_the_cluster_is_one_line(settings: dict[str, Any], line: str) -> None:
    (found,) = faults(**settings)
    assert found.startswith(f"tensorplane:cluster.{line}")
    assert "\n" not in found


@pytest.mark.parametrize(("name", "settings", "line"), GROUPS, ids=[line for *_, line in GROUPS])
def test_a_fault_of_a_group_is_one_line(name: str, settings: dict[str, Any], line: str) -> None:
    (found,) = faults({"cpu": CPU, name: settings})
    assert found.startswith("tensorplane:nodeGroups.")
    assert line in found
    assert "\n" not in found


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"project": "example.com:acme-ml"},
        {"version": "1.38"},
        {"version": "1.35.2-gke.1485000"},
        {"zones": ["us-central1-f"]},
        {"network": {"existing": SUBNET}},
        {"network": {"controlPlaneCidr": "172.16.0.32/28"}},
        {"network": {"podCidr": "10.4.0.0/22"}},
        {"network": {"podCidr": "10.4.0.0/24"}, "maxPodsPerNode": 32},
        {"endpoint": {"public": True, "allowedCidrs": ["203.0.113.0/24"]}},
        {"maintenance": {"days": ["MO", "TU", "WE"], "hours": 4}},
        {"encryptionKey": "projects/p/locations/us-central1/keyRings/r/cryptoKeys/k"},
    ],
)
def test_what_works_is_not_refused(settings: dict[str, Any]) -> None:
    assert faults(**settings) == []


@pytest.mark.parametrize(
    "settings",
    [
        {"accelerator": "t4", "sharing": {"kind": "timeSlicing", "replicas": 48}},
        {"accelerator": "t4", "zones": ZONES, "reserved": {"id": "projects/other/reservations/ours"}},
        {"accelerator": "t4", "zones": ZONES, "reserved": {"id": "ours/reservationBlocks/b/reservationSubBlocks/s"}},
        {"accelerator": "h100-80gb", "perNode": 8, "sharing": {"kind": "mig", "profile": "1g.20gb"}},
        {"accelerator": "h200", "perNode": 8, "spot": True},
        {**TPU, "topology": "4x4", "max": 4, "min": 4},
        {**TPU, "topology": "2x2", "max": 1},
        {"accelerator": "tpu-v5p", "perNode": 4, "topology": "4x4x8", "max": 32, "zones": ZONES},
        L4,
    ],
)
def test_groups_that_work_are_not_refused(settings: dict[str, Any]) -> None:
    assert faults({"cpu": CPU, "g": settings}) == []


def lines(cluster: dict[str, Any], groups: dict[str, Any]) -> list[str]:
    """What a user reads who deploys these settings."""
    own = {"kind": "gke", "project": "acme-ml", "region": "us-central1", **cluster}
    tree = Settings({"cluster": own, "nodeGroups": {"cpu": CPU, **groups}})
    try:
        stack.StackConfig.load(tree)
    except pulumi.RunError as error:
        return str(error).splitlines()
    return []


@pytest.mark.parametrize(
    ("cluster", "group", "line"),
    [
        ({}, {"accelerator": "t4", "zones": ["us-east1-c"]}, "nodeGroups.g.zones: no zone 'us-east1-c'"),
        ({"zones": ["us-east1-c"]}, {"accelerator": "t4"}, "cluster.zones: no zone 'us-east1-c' in us-central1"),
        (
            {"zones": ["us-central1-f"]},
            {"accelerator": "h200", "perNode": 8, "spot": True},
            "nodeGroups.g.zones: no zone of the cluster (us-central1-f) sells a3-ultragpu-8g: need one of us-",
        ),
        ({"region": "us-centrall1"}, {"accelerator": "t4", "zones": ZONES}, "cluster.region: no region 'us-centrall1'"),
    ],
)
def test_a_fault_is_told_once(cluster: dict[str, Any], group: dict[str, Any], line: str) -> None:
    (found,) = lines(cluster, {"g": {"max": 4, **group}})
    assert found.startswith(f"tensorplane:{line}")
