"""Every accelerator that GKE has becomes the right node pool: plain, spot, shared, reserved."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import pytest

from tensorplane.components import catalog
from tensorplane.components.base.labels import GPU_PRESENT, SPOT
from tensorplane.components.base.model import Resources
from tensorplane.components.clusters.gke.node_pools import RDMA_DRIVER
from tensorplane.components.node_groups import placement
from tensorplane.components.node_groups.fleet import Fleet
from tests.support.rendering import Rendered
from tests.unit.clusters.gke.built import CPU, cluster, rendered, shapes

OFFERED = [name for name in catalog.ACCELERATORS if catalog.counts("gke", name)]
GPUS = [name for name in OFFERED if catalog.ACCELERATORS[name].kind == "gpu"]
TPUS = [name for name in OFFERED if catalog.ACCELERATORS[name].kind == "tpu"]
ZONE = "us-central1-a"

VARIANTS: Mapping[str, Mapping[str, Any]] = {
    "plain": {},
    "spot": {"spot": True},
    "reserved": {"reserved": {"id": "ours"}, "zones": [ZONE]},
    "timeSlicing": {"sharing": {"kind": "timeSlicing", "replicas": 4}},
    "mps": {"sharing": {"kind": "mps", "replicas": 8}},
    "mig": {},
}


def able(accelerator: str, variant: str) -> bool:
    card = catalog.ACCELERATORS[accelerator]
    return {"timeSlicing": card.time_slicing, "mps": card.mps, "mig": bool(card.mig)}.get(variant, True)


def settings(accelerator: str, variant: str) -> dict[str, Any]:
    card = catalog.ACCELERATORS[accelerator]
    found = {"accelerator": accelerator, "perNode": catalog.counts("gke", accelerator)[-1], **VARIANTS[variant]}
    return {**found, "sharing": {"kind": "mig", "profile": card.mig[0]}} if variant == "mig" else found


@cache
def stack(variant: str) -> Rendered:
    """One cluster with a group of every accelerator that can do this."""
    groups = {name: settings(name, variant) for name in OFFERED if able(name, variant)}
    return rendered({**groups, "cpu": CPU})


CASES = [(name, variant) for name in OFFERED for variant in VARIANTS if able(name, variant)]


@pytest.mark.parametrize(("accelerator", "variant"), CASES)
def test_a_pool_has_the_machine_and_what_the_group_asks_for(accelerator: str, variant: str) -> None:
    inputs = stack(variant).one("NodePool", accelerator).inputs
    node = inputs["nodeConfig"]
    machines = catalog.offers("gke", accelerator, catalog.counts("gke", accelerator)[-1])
    assert node["machineType"] in {machine.name for machine in machines}
    assert node["imageType"] == "COS_CONTAINERD"
    assert node["spot"] is (variant == "spot")
    assert ("reservationAffinity" in node) is (variant == "reserved")
    assert inputs["autoscaling"] == {"totalMinNodeCount": 0, "totalMaxNodeCount": 4, "locationPolicy": "ANY"}
    assert "initialNodeCount" in stack(variant).one("NodePool", accelerator).options["ignoreChanges"]


@pytest.mark.parametrize(("accelerator", "variant"), CASES)
def test_what_gke_sets_by_itself_is_never_declared(accelerator: str, variant: str) -> None:
    node = stack(variant).one("NodePool", accelerator).inputs["nodeConfig"]
    declared = [taint["key"] for taint in node.get("taints", [])]
    assert declared == ([SPOT] if variant == "spot" else [])
    assert not any("cloud.google.com" in label for label in node["labels"] if label != RDMA_DRIVER)


@pytest.mark.parametrize("accelerator", GPUS)
def test_gpus_are_declared_with_a_driver(accelerator: str) -> None:
    node = stack("plain").one("NodePool", accelerator).inputs["nodeConfig"]
    machine = next(m for m in catalog.offers("gke", accelerator, catalog.counts("gke", accelerator)[-1]))
    assert node["guestAccelerators"] == [
        {
            "type": machine.cloud_accelerator,
            "count": machine.count,
            "gpuDriverInstallationConfig": {"gpuDriverVersion": "DEFAULT"},
        }
    ]
    assert node["labels"][GPU_PRESENT] == "true"


@pytest.mark.parametrize(("accelerator", "variant"), [c for c in CASES if c[1] in ("timeSlicing", "mps", "mig")])
def test_gpus_are_shared_by_gke(accelerator: str, variant: str) -> None:
    (gpu,) = stack(variant).one("NodePool", accelerator).inputs["nodeConfig"]["guestAccelerators"]
    strategy = {
        "timeSlicing": {"gpuSharingStrategy": "TIME_SHARING", "maxSharedClientsPerGpu": 4},
        "mps": {"gpuSharingStrategy": "MPS", "maxSharedClientsPerGpu": 8},
        "mig": None,
    }
    assert gpu.get("gpuSharingConfig") == strategy[variant]
    profile = catalog.ACCELERATORS[accelerator].mig[0] if variant == "mig" else None
    assert gpu.get("gpuPartitionSize") == profile


@pytest.mark.parametrize("accelerator", TPUS)
def test_tpus_belong_to_the_machine(accelerator: str) -> None:
    inputs = stack("plain").one("NodePool", accelerator).inputs
    assert "guestAccelerators" not in inputs["nodeConfig"]
    assert "placementPolicy" not in inputs
    assert GPU_PRESENT not in inputs["nodeConfig"]["labels"]


def test_a_reservation_is_named() -> None:
    node = stack("reserved").one("NodePool", "t4").inputs["nodeConfig"]
    assert node["reservationAffinity"] == {
        "consumeReservationType": "SPECIFIC_RESERVATION",
        "key": "compute.googleapis.com/reservation-name",
        "values": ["ours"],
    }


def test_every_pool_with_accelerators_waits_for_those_without() -> None:
    made = stack("plain")
    for pool in made.all("NodePool"):
        assert ("NodePool cpu" in pool.options["dependsOn"]) is (pool.name != "cpu")


def test_a_plain_pool_is_spread_and_replaced_with_a_spare_machine() -> None:
    inputs = stack("plain").one("NodePool", "cpu").inputs
    assert inputs["autoscaling"] == {"totalMinNodeCount": 2, "totalMaxNodeCount": 4, "locationPolicy": "BALANCED"}
    assert inputs["initialNodeCount"] == 1, "two nodes over three zones"
    assert inputs["nodeLocations"] == ["us-central1-a", "us-central1-b", "us-central1-c"]
    assert inputs["upgradeSettings"] == {"strategy": "SURGE", "maxSurge": 1, "maxUnavailable": 0}


def test_a_pool_with_accelerators_needs_no_spare_machine() -> None:
    inputs = stack("plain").one("NodePool", "t4").inputs
    assert inputs["upgradeSettings"] == {"strategy": "SURGE", "maxSurge": 0, "maxUnavailable": 1}
    assert inputs["nodeLocations"] == list(catalog.sold("gke", catalog.offers("gke", "t4", 4)[0], "us-central1") or ())


def test_nodes_are_shielded_private_and_without_the_node_s_own_credentials() -> None:
    inputs = stack("plain").one("NodePool", "l4").inputs
    node = inputs["nodeConfig"]
    assert inputs["networkConfig"] == {"enablePrivateNodes": True}
    assert inputs["management"] == {"autoRepair": True, "autoUpgrade": True}
    assert node["shieldedInstanceConfig"] == {"enableSecureBoot": True, "enableIntegrityMonitoring": True}
    assert node["workloadMetadataConfig"] == {"mode": "GKE_METADATA"}
    assert node["metadata"] == {"disable-legacy-endpoints": "true"}
    assert node["serviceAccount"] == "tensorplane-dev-nodes@demo.iam.gserviceaccount.com"


@pytest.mark.parametrize(
    ("machine", "disk"),
    [
        ("n2-standard-8", "pd-balanced"),
        ("n4-standard-8", "hyperdisk-balanced"),
        ("c4a-standard-8", "hyperdisk-balanced"),
    ],
)
def test_a_machine_boots_from_a_disk_that_it_can_have(machine: str, disk: str) -> None:
    node = rendered({"cpu": {"machine": machine, "min": 1}}).one("NodePool", "cpu").inputs["nodeConfig"]
    assert node["diskType"] == disk
    assert ("taintConfig" in node) is machine.startswith("c4a"), "Arm nodes get no taint that no setting names"


def test_h200_machines_boot_from_hyperdisk_and_join_gpudirect_in_one_zone() -> None:
    inputs = stack("plain").one("NodePool", "h200").inputs
    assert inputs["nodeConfig"]["diskType"] == "hyperdisk-balanced"
    assert inputs["nodeLocations"] == ["us-central1-b"]
    assert inputs["networkConfig"] == {"enablePrivateNodes": True, "acceleratorNetworkProfile": "auto"}


@pytest.mark.parametrize(
    ("group", "driver"),
    [
        ({"machine": "a3-ultragpu-8g", "zones": ["us-central1-b"]}, True),
        ({"machine": "a4-highgpu-8g", "zones": ["us-central1-b"]}, True),
        # Its interfaces are no devices of GKE's driver, and two zones have no network in common.
        ({"machine": "a3-megagpu-8g", "zones": ["us-central1-b"]}, False),
        ({"machine": "a3-ultragpu-8g", "zones": ["us-central1-a", "us-central1-b"]}, False),
        ({"machine": "a3-highgpu-8g", "zones": ["us-central1-a"]}, False),
    ],
)
def test_nodes_with_rdma_have_the_driver_that_gives_it_to_pods(group: dict[str, Any], driver: bool) -> None:
    labels = rendered({"cpu": CPU, "g": group}).one("NodePool", "g").inputs["nodeConfig"]["labels"]
    assert labels.get("cloud.google.com/gke-networking-dra-driver") == ("true" if driver else None)


@pytest.mark.parametrize(("machine", "most", "told"), [
    ("a3-ultragpu-8g", 2, True), ("a3-megagpu-8g", 2, True), ("a3-ultragpu-8g", 1, False), ("a3-highgpu-8g", 2, False),
])  # fmt: skip
def test_a_note_tells_that_jobs_of_the_stack_use_tcp(machine: str, most: int, told: bool) -> None:
    args = cluster()
    group = {"machine": machine, "max": most, "zones": ["us-central1-b"]}
    lines = [str(note) for note in args.notes(shapes(args, {"cpu": CPU, "g": group}))]
    assert [line.startswith("tensorplane:nodeGroups.g: GPUDirect requires privileged pods,") for line in lines] == (
        [True] if told else []
    )


def test_taints_are_spelled_as_gke_spells_them() -> None:
    taints = [{"key": "team", "value": "a", "effect": effect} for effect in ("NoSchedule", "NoExecute")]
    taints.append({"key": "soft", "effect": "PreferNoSchedule"})
    declared = rendered({"cpu": {**CPU, "taints": taints}}).one("NodePool", "cpu").inputs["nodeConfig"]["taints"]
    assert [taint["effect"] for taint in declared] == ["NO_SCHEDULE", "NO_EXECUTE", "PREFER_NO_SCHEDULE"]
    assert declared[2] == {"key": "soft", "value": "", "effect": "PREFER_NO_SCHEDULE"}


def test_the_newest_driver_is_one_word() -> None:
    made = rendered({"cpu": CPU, "gpu": {"accelerator": "t4"}}, gpuDriver="latest")
    (gpu,) = made.one("NodePool", "gpu").inputs["nodeConfig"]["guestAccelerators"]
    assert gpu["gpuDriverInstallationConfig"] == {"gpuDriverVersion": "LATEST"}


def tpu_slice(accelerator: str, topology: str, machines: int, **more: Any) -> Rendered:
    group = {"accelerator": accelerator, "perNode": 4, "topology": topology, "max": machines, "zones": [ZONE], **more}
    return rendered({"cpu": CPU, "slice": group})


def test_a_slice_of_several_machines_is_placed_together_and_scales_as_one() -> None:
    inputs = tpu_slice("tpu-v5e", "4x4", 4).one("NodePool", "slice").inputs
    assert inputs["placementPolicy"] == {"type": "COMPACT", "tpuTopology": "4x4"}
    assert inputs["autoscaling"]["totalMaxNodeCount"] == 4
    assert inputs["nodeLocations"] == [ZONE]


def test_a_slice_that_is_always_there_is_not_scaled() -> None:
    inputs = tpu_slice("tpu-v5p", "2x2x4", 4, min=4).one("NodePool", "slice").inputs
    assert inputs["nodeCount"] == 4
    assert "autoscaling" not in inputs
    assert "initialNodeCount" not in inputs


def test_a_slice_of_one_machine_needs_no_placement() -> None:
    assert "placementPolicy" not in tpu_slice("tpu-v5e", "2x2", 1).one("NodePool", "slice").inputs


def test_tpu7x_is_placed_by_a_policy() -> None:
    made = tpu_slice("tpu-7x", "2x2x2", 2)
    policy = made.one("ResourcePolicy", "slice-slice").inputs["workloadPolicy"]
    assert policy == {"type": "HIGH_THROUGHPUT", "acceleratorTopology": "2x2x2"}
    assert made.one("NodePool", "slice").inputs["placementPolicy"] == {"type": "COMPACT", "policyName": "slice-slice"}


@pytest.mark.parametrize(
    ("group", "zones", "each"),
    [
        ({"machine": "n2-standard-8", "min": 2, "max": 6}, "abc", 1),
        ({"machine": "n2-standard-8", "min": 2, "max": 2}, "ab", 1),
        ({"machine": "n2-standard-8", "min": 4, "max": 4}, "abc", 1),
        ({"machine": "n2-standard-8", "min": 4, "max": 6}, "abc", 2),
        ({"accelerator": "t4", "min": 0, "max": 4}, "abcf", 0),
        ({"accelerator": "t4", "min": 1, "max": 4}, "abcf", 0),
        ({"accelerator": "t4", "min": 4, "max": 4}, "abcf", 1),
        ({"accelerator": "t4", "min": 6, "max": 8}, "abcf", 1),
        ({"accelerator": "t4", "min": 1, "max": 4, "zones": [ZONE, "us-central1-b"]}, "ab", 1),
    ],
)
def test_a_pool_begins_with_its_least_nodes_and_never_with_more_than_it_may_have(
    group: dict[str, Any], zones: str, each: int
) -> None:
    inputs = rendered({"cpu": CPU, "g": group}).one("NodePool", "g").inputs
    assert inputs["nodeLocations"] == [f"us-central1-{zone}" for zone in zones]
    assert inputs["initialNodeCount"] == each
    assert each * len(zones) <= group["max"]


def test_a_pool_keeps_its_zones_and_nodes_when_only_its_size_changes() -> None:
    sizes = [{"min": least, "max": most} for least, most in ((0, 4), (1, 4), (3, 8), (6, 6))]
    pools = [rendered({"cpu": CPU, "g": {"accelerator": "t4", **size}}).one("NodePool", "g") for size in sizes]
    assert {tuple(pool.inputs["nodeLocations"]) for pool in pools} == {tuple(f"us-central1-{zone}" for zone in "abcf")}
    assert all("nodeLocations" in pool.options["ignoreChanges"] for pool in pools)
    named = rendered({"cpu": CPU, "g": {"accelerator": "t4", "zones": [ZONE]}}).one("NodePool", "g")
    assert "nodeLocations" not in named.options["ignoreChanges"]


@pytest.mark.parametrize(("zones", "says"), [
    ([], "the group starts with 4 nodes, because GKE starts equally many in each of its 4 zones; GKE adds the "
     "others when "
     "pods need them, and keeps them. List zones that divide 6 evenly to start all of them"),
    ([ZONE, "us-central1-b"], ""),
])  # fmt: skip
def test_a_note_tells_of_a_minimum_that_is_not_there_from_the_start(zones: list[str], says: str) -> None:
    args = cluster()
    found = args.notes(shapes(args, {"cpu": CPU, "g": {"accelerator": "t4", "min": 6, "max": 8, "zones": zones}}))
    assert [str(note) for note in found] == ([f"tensorplane:nodeGroups.g.min: {says}"] if says else [])


class TestAutomatic:
    """Groups whose node pools GKE makes by itself."""

    made = staticmethod(
        cache(
            lambda: rendered(
                {
                    "cpu": CPU,
                    "gpu": {"accelerator": "l4", "perNode": 2, "max": 6, "provisioner": "automatic", "spot": True},
                    "tpu": {"accelerator": "tpu-v5e", "perNode": 4, "provisioner": "automatic"},
                }
            )
        )
    )

    def test_there_is_a_class_and_no_pool(self) -> None:
        assert [pool.name for pool in self.made().all("NodePool")] == ["cpu"]
        assert [found.name for found in self.made().all("ComputeClass")] == ["gpu", "tpu"]

    def test_the_class_asks_for_the_group_s_machine_and_for_nothing_else(self) -> None:
        spec = self.made().one("ComputeClass", "gpu").inputs["spec"]
        assert spec["nodePoolAutoCreation"] == {"enabled": True}
        assert spec["whenUnsatisfiable"] == "DoNotScaleUp"
        (rule,) = spec["priorities"]
        assert rule["machineType"] == "g2-standard-24"
        assert rule["gpu"] == {"type": "nvidia-l4", "count": 2, "driverVersion": "default"}
        assert rule["spot"] is True
        assert rule["location"]["zones"]

    def test_the_nodes_get_the_group_s_labels_and_declared_taints(self) -> None:
        pool = self.made().one("ComputeClass", "gpu").inputs["spec"]["nodePoolConfig"]
        assert pool["nodeLabels"]["tensorplane.dev/node-group"] == "gpu"
        assert pool["taints"] == [{"key": SPOT, "value": "true", "effect": "NoSchedule"}]
        assert pool["serviceAccount"] == "tensorplane-dev-nodes@demo.iam.gserviceaccount.com"

    def test_the_nodes_boot_from_the_group_s_disk(self) -> None:
        groups = {"cpu": CPU, "arm": {"machine": "c4a-standard-8", "diskGib": 200, "provisioner": "automatic"}}
        spec = rendered(groups).one("ComputeClass", "arm").inputs["spec"]
        assert spec["priorities"][0]["storage"] == {"bootDiskType": "hyperdisk-balanced", "bootDiskSize": 200}
        assert spec["nodePoolConfig"]["taintConfig"] == {"architectureTaintBehavior": "NONE"}

    def test_what_runs_on_every_node_tolerates_the_taint_of_the_class_which_is_never_declared(self) -> None:
        groups = shapes(cluster(), {"cpu": CPU, "gpu": {"accelerator": "l4", "provisioner": "automatic"}})
        tolerated = {toleration["key"] for toleration in Fleet(groups).tolerations}
        assert tolerated == {"nvidia.com/gpu", "cloud.google.com/compute-class"}
        assert groups["gpu"].declared_taints == ()

    def test_a_class_of_tpus_names_their_topology(self) -> None:
        (rule,) = self.made().one("ComputeClass", "tpu").inputs["spec"]["priorities"]
        assert rule["tpu"] == {"type": "tpu-v5-lite-podslice", "count": 4, "topology": "2x2"}

    def test_gke_may_add_as_much_as_all_groups_come_to(self) -> None:
        scaling = self.made().one("container/cluster:Cluster", "cluster").inputs["clusterAutoscaling"]
        limits = {limit["resourceType"]: limit["maximum"] for limit in scaling["resourceLimits"]}
        assert scaling["enabled"] is True
        assert limits["nvidia-l4"] == 12
        assert limits["tpu-v5-lite-podslice"] == 16
        assert limits["cpu"] == 4 * 8 + 6 * 24 + 4 * 112

    def test_without_such_a_group_gke_makes_no_pools(self) -> None:
        scaling = stack("plain").one("container/cluster:Cluster", "cluster").inputs["clusterAutoscaling"]
        assert scaling["enabled"] is False


class TestPodsOfAutomaticGroups:
    """GKE makes nodes of a class for those pods alone that select it."""

    args = cluster()

    def placement(self, groups: dict[str, Any], **resources: Any) -> dict[str, Any]:
        fleet = Fleet(shapes(self.args, {"cpu": CPU, **groups}))
        found: dict[str, Any] = placement.spec(fleet, Resources(**resources), interruptible=False)
        return found

    def test_a_pod_that_names_the_group_selects_its_class(self) -> None:
        groups = {"l4": {"accelerator": "l4"}, "burst": {"accelerator": "l4", "provisioner": "automatic"}}
        selector = self.placement(groups, gpus=1, node_group="burst")["nodeSelector"]
        assert selector == {"tensorplane.dev/node-group": "burst", "cloud.google.com/compute-class": "burst"}

    def test_a_pod_whose_card_no_other_group_has_selects_it_as_well(self) -> None:
        selector = self.placement(
            {"burst": {"accelerator": "l4", "provisioner": "automatic"}}, gpus=1, accelerator="l4"
        )
        assert selector["nodeSelector"]["cloud.google.com/compute-class"] == "burst"

    def test_others_select_no_class(self) -> None:
        groups = {"l4": {"accelerator": "l4"}, "burst": {"accelerator": "l4", "provisioner": "automatic"}}
        assert self.placement(groups, gpus=1, accelerator="l4")["nodeSelector"] == {"tensorplane.dev/accelerator": "l4"}
        assert "nodeSelector" not in self.placement(groups)
