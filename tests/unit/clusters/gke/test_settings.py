"""Every check of a GKE cluster's settings: one line that names the key, what was found and what is needed."""

from __future__ import annotations

from typing import Any

import pytest

from tensorplane import stack
from tensorplane.components.base.settings import Settings
from tensorplane.core.errors import UserError
from tests.unit.clusters.gke.built import CPU, problems

ZONES = ["us-central1-a"]
SUBNET = {"network": "n", "subnetwork": "s", "podsRange": "p", "servicesRange": "v"}

CLUSTER: list[tuple[dict[str, Any], str]] = [
    ({"project": "ACME"}, "project: 'ACME' is not a project id; use 6 to 30 lower-case letters, digits and dashes,"),
    ({"name": "a" * 41}, f"name: '{'a' * 41}' is not a valid name; use lower-case letters, digits and dashes"),
    ({"name": "Staging"}, "name: 'Staging' is not a valid name; use lower-case letters, digits and dashes,"),
    ({"region": "us-central"}, "region: unknown region 'us-central'; choose one of africa-south1, asia-east1,"),
    (
        {"region": "us-central1-a"},
        "region: 'us-central1-a' is a zone, not a region; use its region us-central1",
    ),
    ({"zones": ["us-central1-z"]}, "zones: unknown zone 'us-central1-z' in us-central1; choose one of"),
    ({"version": "v1.35"}, "version: 'v1.35' is not a GKE version; use one such as 1.35 or 1.35.2-gke.1485000"),
    ({"version": "1.99"}, "version: 1.99 is not offered by GKE (newest in August 2026: 1.36); set 1.36"),
    ({"version": "1.39.1-gke.1"}, "version: 1.39.1-gke.1 is not offered by GKE (newest in August 2026: 1.36); set"),
    (
        {"labels": {f"k{index}": "v" for index in range(49)}},
        "labels: 49 labels are set; Google Cloud allows 64, and tensorplane and GKE use some of them; set at most",
    ),
    ({"network": {"podCidr": "224.0.0.0/14"}}, "network.podCidr: 224.0.0.0/14 has multicast addresses (224.0.0.0/4)"),
    ({"network": {"cidr": "169.254.0.0/20"}}, "network.cidr: 169.254.0.0/20 has link-local addresses"),
    ({"endpoint": {"allowedCidrs": ["0.0.0.0/1"]}}, "endpoint.allowedCidrs: allows 2,147,483,648 addresses (50% of"),
    ({"endpoint": {"allowedCidrs": ["127.0.0.0/8"]}}, "endpoint.allowedCidrs: 127.0.0.0/8 has loopback addresses"),
    ({"version": "1.29"}, "version: 1.29 has no JobSet metrics; use 1.32 or newer"),
    ({"labels": {"Team": "x"}}, "labels.Team: not a valid key of a Google Cloud label; use lower-case letters,"),
    ({"labels": {"team": "X"}}, "labels.team: invalid value 'X'; use lower-case letters, digits, dashes and"),
    ({"network": {"cidr": "10.0.0.1/20"}}, "network.cidr: invalid value '10.0.0.1/20'; use IPv4"),
    ({"network": {"podCidr": "10.4.0.0/8"}}, "network.podCidr: invalid value '10.4.0.0/8'; use IPv4"),
    ({"network": {"serviceCidr": "10.8.0.0/30"}}, "network.serviceCidr: invalid size of 10.8.0.0/30; use /16 to /27"),
    (
        {"network": {"controlPlaneCidr": "172.16.0.0/24"}},
        "network.controlPlaneCidr: invalid size of 172.16.0.0/24; use /28",
    ),
    ({"network": {"serviceCidr": "10.4.0.0/20"}}, "network.serviceCidr: 10.4.0.0/20 overlaps podCidr (10.4.0.0/14)"),
    (
        {"network": {"controlPlaneCidr": "10.0.0.0/28"}},
        "network.controlPlaneCidr: 10.0.0.0/28 overlaps cidr (10.0.0.0/20)",
    ),
    (
        {"network": {"podCidr": "10.4.0.0/23"}},
        "network.podCidr: the range has addresses for 2 nodes (256 addresses of 10.4.0.0/23 each), but the groups",
    ),
    (
        {"network": {"cidr": "10.0.0.0/29"}},
        "network.cidr: 10.0.0.0/29 has addresses for 3 nodes, but the groups have up to 4; use a /28 or larger",
    ),
    (
        {"network": {"existing": {**SUBNET, "network": "My VPC"}}},
        "network.existing.network: 'My VPC' is not a valid name; use its name, or",
    ),
    (
        {"network": {"existing": {**SUBNET, "subnetwork": "a/b"}}},
        "network.existing.subnetwork: 'a/b' is not a valid name; use its name, or",
    ),
    (
        {"network": {"existing": {**SUBNET, "podsRange": "10.0.0.0/8"}}},
        "network.existing.podsRange: '10.0.0.0/8' is not a valid name; use the name of a secondary range, such as",
    ),
    (
        {"network": {"existing": SUBNET, "cidr": "10.0.0.0/20"}},
        "network.cidr: conflicts with existing, whose subnetwork has its own range; remove one of them",
    ),
    ({"endpoint": {"public": True}}, "endpoint.allowedCidrs: missing, but endpoint.public is true; list the"),
    ({"endpoint": {"allowedCidrs": ["0.0.0.0/0"]}}, "endpoint.allowedCidrs: allows the whole internet; list only"),
    (
        {"endpoint": {"allowedCidrs": ["0.0.0.0/1", "128.0.0.0/1"]}},
        "endpoint.allowedCidrs: allows the whole internet; list only the networks of your organisation",
    ),
    ({"endpoint": {"allowedCidrs": ["office"]}}, "endpoint.allowedCidrs: invalid value 'office'; use IPv4"),
    ({"maintenance": {"days": ["SU"]}}, "maintenance: the window has 24 hours in 32 days, but GKE requires 48; set"),
    ({"encryptionKey": "mine"}, "encryptionKey: 'mine' is not the id of a Cloud KMS key; use"),
    (
        {"encryptionKey": "projects/p/locations/europe-west4/keyRings/r/cryptoKeys/k"},
        "encryptionKey: the key is in europe-west4, but the cluster is in us-central1; use a key of us-central1",
    ),
]

TPU: dict[str, Any] = {"accelerator": "tpu-v5e", "perNode": 4, "zones": ZONES}
L4: dict[str, Any] = {"accelerator": "l4", "provisioner": "automatic"}

GROUPS: list[tuple[str, dict[str, Any], str]] = [
    ("g" * 33, {"accelerator": "t4"}, "the name has 33 characters; shorten it to 32"),
    (
        "g",
        {"accelerator": "a100-40gb", "sharing": {"kind": "mig", "profile": "1g.10gb"}},
        "g.sharing.profile: GKE does not offer MIG profile 1g.10gb on a100-40gb; choose one of 1g.5gb, 2g.10gb,",
    ),
    (
        "g",
        {"accelerator": "tpu-v3", "perNode": 4, "topology": "4x4", "max": 4, "zones": ZONES},
        "g.topology: 4x4 spans several machines, but tpu-v3 machines are not interconnected; use 2x2",
    ),
    (
        "g",
        {"accelerator": "t4", "reserved": {"id": "ours"}},
        "g.zones: missing, but a reservation is in one zone; choose one of us-central1-a, us-central1-b,",
    ),
    (
        "g",
        {"machine": "a3-ultragpu-8g", "zones": ["us-central1-a", "us-central1-b"], "spot": True},
        "g.zones: lists 2 zones, but GPUDirect connects a3-ultragpu-8g machines of one zone only; choose one of",
    ),
    (
        "g",
        {"accelerator": "t4", "zones": ZONES, "reserved": {"id": "Ours!"}},
        "g.reserved.id: 'Ours!' is not the id of a reservation; use its name, or projects/PROJECT/reservations/NAME",
    ),
    (
        "g",
        {"accelerator": "t4", "sharing": {"kind": "timeSlicing", "replicas": 64}},
        "g.sharing.replicas: 64 exceeds the 48 pods that can share a GPU on GKE; set 48 or less",
    ),
    (
        "g",
        {"accelerator": "t4", "topology": "4x4", "zones": ZONES},
        "g.topology: is set on a group without TPUs; remove it",
    ),
    ("g", {**TPU, "topology": "4x5"}, "g.topology: tpu-v5e has no topology '4x5'; choose one of 1x1, 2x2, 2x4,"),
    ("g", {**TPU, "topology": "4x4", "max": 3}, "g.max: is 3, but a 4x4 slice has 4 machines; set max: 4"),
    ("g", {**TPU, "topology": "4x4", "min": 1}, "g.min: is 1, but the machines of a slice start and stop together;"),
    (
        "g",
        {**TPU, "topology": "4x4", "zones": [*ZONES, "us-central1-b"]},
        "g.zones: lists 2 zones, but a TPU slice is in one zone; choose one of us-central1-a, us-central1-b",
    ),
    (
        "g",
        {**TPU, "perNode": 8, "topology": "4x4", "max": 2},
        "g.perNode: is 8, but machines of a multi-host slice (4x4) have 4 chips each; set perNode: 4",
    ),
    (
        "g",
        {**TPU, "perNode": 8, "topology": "2x2", "max": 1},
        "g.topology: 2x2 has fewer chips than one machine of the group (8); use a larger topology",
    ),
    ("g", {**L4, "min": 1}, "g.min: min is 1, but provisioner automatic keeps no idle nodes; set min: 0"),
    (
        "g",
        {**L4, "zones": ZONES, "reserved": {"id": "ours"}},
        "g.reserved: is not supported by provisioner automatic; set provisioner: group",
    ),
    (
        "g",
        {**L4, "sharing": {"kind": "mps", "replicas": 2}},
        "g.sharing: is not supported by provisioner automatic; set provisioner: group",
    ),
    (
        "g",
        {**TPU, "topology": "4x4", "provisioner": "automatic"},
        "g.topology: is not supported by provisioner automatic; set provisioner: group",
    ),
]


@pytest.mark.parametrize(
    ("settings", "line"), CLUSTER, ids=[line.split(":")[0] + str(i) for i, (_, line) in enumerate(CLUSTER)]
)
def test_a_fault_of_the_cluster_is_one_line(settings: dict[str, Any], line: str) -> None:
    (found,) = problems(**settings)
    assert found.startswith(f"tensorplane:cluster.{line}")
    assert "\n" not in found


@pytest.mark.parametrize(("name", "settings", "line"), GROUPS, ids=[line for *_, line in GROUPS])
def test_a_fault_of_a_group_is_one_line(name: str, settings: dict[str, Any], line: str) -> None:
    (found,) = problems({"cpu": CPU, name: settings})
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
    assert problems(**settings) == []


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
    assert problems({"cpu": CPU, "g": settings}) == []


ARM = {"machine": "c4a-standard-8"}
ARM_BURST = {**ARM, "provisioner": "automatic"}


@pytest.mark.parametrize(
    ("version", "groups", "says"),
    [
        ("1.33.4-gke.1000000", {"g": L4}, "1.33.4-gke.1000000 does not support taints in a ComputeClass; set "
         "1.33.4-gke.1350000 or newer for node group g"),
        ("1.34", {"arm": ARM, "g": L4}, "1.34 adds a taint to all Arm nodes; set 1.35.0-gke.2141000 or newer "
         "for node group arm"),
        (None, {"arm": ARM_BURST}, "missing, and the default version adds a taint to all Arm nodes that it "
         "provisions automatically; set 1.36.2-gke.1498000 or newer for node group arm"),
        ("1.33", {"g": L4}, ""),
        ("1.33.4-gke.1350000", {"g": L4}, ""),
        ("1.33.5", {"g": L4}, ""),
        (None, {"g": L4, "arm": ARM}, ""),
        ("1.36", {"arm": ARM_BURST}, ""),
    ],
)  # fmt: skip
def test_a_version_that_drops_what_a_group_asks_for_is_refused(
    version: str | None, groups: dict[str, Any], says: str
) -> None:
    found = problems({"cpu": CPU, **groups}, version=version)
    assert found == ([f"tensorplane:cluster.version: {says}"] if says else [])


def lines(cluster: dict[str, Any], groups: dict[str, Any]) -> list[str]:
    """What a user reads who deploys these settings."""
    own = {"kind": "gke", "project": "acme-ml", "region": "us-central1", **cluster}
    tree = Settings({"cluster": own, "nodeGroups": {"cpu": CPU, **groups}})
    try:
        stack.load(tree)
    except UserError as error:
        return str(error).splitlines()
    return []


@pytest.mark.parametrize(
    ("cluster", "group", "line"),
    [
        (
            {},
            {"accelerator": "t4", "zones": ["us-east1-c"]},
            "nodeGroups.g.zones: us-central1 has no zone 'us-east1-c'; choose one of us-central1-a, us-central1-b,",
        ),
        (
            {"zones": ["us-east1-c"]},
            {"accelerator": "t4"},
            "cluster.zones: unknown zone 'us-east1-c' in us-central1; choose one of us-central1-a, us-central1-b,",
        ),
        (
            {"zones": ["us-central1-f"]},
            {"accelerator": "h200", "perNode": 8, "spot": True},
            "nodeGroups.g.zones: a3-ultragpu-8g is not available in any zone of the cluster (us-central1-f); choose",
        ),
        (
            {"region": "us-centrall1"},
            {"accelerator": "t4", "zones": ZONES},
            "cluster.region: unknown region 'us-centrall1'; choose one of africa-south1, asia-east1, asia-east2,",
        ),
    ],
)
def test_a_fault_is_told_once(cluster: dict[str, Any], group: dict[str, Any], line: str) -> None:
    (found,) = lines(cluster, {"g": {"max": 4, **group}})
    assert found.startswith(f"tensorplane:{line}")
