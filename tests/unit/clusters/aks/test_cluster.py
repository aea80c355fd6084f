"""An AKS cluster as Pulumi registers it: what it is made of, in which order, and how its node groups come out."""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from tensorplane.components import catalog
from tensorplane.components.clusters.aks import Aks, pool_properties
from tensorplane.components.clusters.aks.pool_properties import agent_pool_name
from tensorplane.components.clusters.aks.zones import zones_of
from tensorplane.components.node_groups.cluster_properties import ClusterProperties
from tensorplane.components.node_groups.resolve import resolve
from tensorplane.components.node_groups.settings import NodeGroupArgs
from tests.support.rendered_files import rendered_tree
from tests.support.rendering import Rendered

CPU = {"machine": "Standard_D8s_v5", "min": 2, "max": 4}
SUBSCRIPTION = "3f2504e0-4f89-41d3-9a0c-0305e82c3301"
SUBNET = "/subscriptions/s/resourceGroups/g/providers/Microsoft.Network/virtualNetworks/v/subnets/n"
RESERVATION = "/subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/capacityReservationGroups/c"
CLUSTER = {"kind": "aks", "region": "westeurope", "endpoint": {"deployFromInside": True}, "inheritedAdmins": True}
SITE = Aks(region="westeurope").cluster_properties


def _built(groups: Mapping[str, Any], cluster: Mapping[str, Any], runtime: Any = None) -> Rendered:
    tree = {
        "cluster": {**CLUSTER, **cluster},
        "nodeGroups": groups,
        "gpuRuntime": runtime or {"kind": "present"},
    }
    return rendered_tree(tree)


# Each of Azure's resources goes by a hundred names of older versions, which makes a build slow: these three are shared.
@functools.cache
def plain() -> Rendered:
    """A cluster with as few settings as there can be."""
    return _built({"cpu": CPU}, {})


@functools.cache
def rich() -> Rendered:
    """A cluster with everything set otherwise, in a new network."""
    groups = {
        "burst": {"machine": "Standard_D4s_v5", "min": 1, "max": 9},
        "cpu": CPU,
        "gpu": {"accelerator": "t4", "max": 1, "reserved": {"id": RESERVATION}},
        "more": {"accelerator": "t4", "perNode": 4, "max": 1, "reserved": {"id": RESERVATION.lower()}},
    }
    cluster = {
        "name": "research",
        "systemGroup": "cpu",
        "subscription": SUBSCRIPTION,
        "version": "1.34",
        "nodeVersion": "1.33",
        "support": "longTerm",
        "endpoint": {"public": True, "allowedCidrs": ["198.51.100.0/24"]},
        "network": {"podCidr": "10.128.0.0/10", "serviceCidr": "172.21.0.0/20"},
        "maintenance": {"day": "Monday", "start": "03:30", "hours": 5},
        "admins": {"platform": "3f2504e0-4f89-41d3-9a0c-0305e82c3301"},
        "logRetentionDays": 365,
        "tags": {"team": "vision"},
    }
    return _built(groups, cluster)


@functools.cache
def borrowed() -> Rendered:
    """A cluster in a subnet of somebody else's, that may be deleted."""
    network = {"subnet": SUBNET, "outbound": "routeTable"}
    return _built({"cpu": CPU}, {"network": network, "deletionProtection": False})


def cluster_of(rendered: Rendered) -> Mapping[str, Any]:
    """The cluster's inputs."""
    return rendered.one("containerservice:ManagedCluster").inputs


def pool_of(site: ClusterProperties = SITE, /, **group: Any) -> Mapping[str, Any]:
    """What a pool of a group is made of."""
    shape, faults = resolve("gpu", NodeGroupArgs.model_validate(group), site)
    assert shape and not faults
    zones = zones_of(shape, Aks(region="westeurope"))
    return pool_properties.properties(shape, "User", version="1.35", zones=zones, tags={})


def kubeconfig_of(rendered: Rendered) -> Any:
    """The kubeconfig that the provider gets."""
    secret = rendered.one("providers:kubernetes").inputs["kubeconfig"]
    return json.loads(secret["value"])


def test_only_the_network_reaches_the_api_server_by_default() -> None:
    access = cluster_of(plain())["apiServerAccessProfile"]
    assert access == {"enablePrivateCluster": True, "disableRunCommand": True}


def test_a_public_endpoint_lets_in_who_is_named_and_the_nodes() -> None:
    access = cluster_of(rich())["apiServerAccessProfile"]
    assert access["authorizedIPRanges"] == ["198.51.100.0/24", "203.0.113.9/32"]
    assert access["enablePrivateCluster"] is False


def test_nobody_has_a_key_that_opens_everything() -> None:
    inputs = cluster_of(plain())
    assert inputs["disableLocalAccounts"] is True
    assert inputs["aadProfile"] == {"managed": True, "enableAzureRBAC": True}
    assert inputs["oidcIssuerProfile"]["enabled"]
    assert inputs["securityProfile"]["workloadIdentity"]["enabled"]


def test_admins_get_the_role_on_the_cluster_before_anything_is_deployed_to_it() -> None:
    role = rich().one("RoleAssignment", "cluster-admin-platform")
    assert role.inputs["principalType"] == "Group"
    assert role.inputs["scope"] == "cluster-id"
    assert role.inputs["roleDefinitionId"].endswith("/b1ff04bb-8a4e-4dc4-8eb5-8693973ce19b")
    assert "RoleAssignment cluster-admin-platform" in rich().one("providers:kubernetes").options["dependsOn"]


def test_etcd_is_encrypted_with_a_key_that_the_cluster_may_use_before_it_exists() -> None:
    kms = cluster_of(plain())["securityProfile"]["azureKeyVaultKms"]
    assert kms == {"enabled": True, "keyId": "https://vault.example/keys/etcd/1", "keyVaultNetworkAccess": "Public"}
    vault = plain().one("keyvault:Vault").inputs["properties"]
    assert vault["enablePurgeProtection"]
    assert vault["enableRbacAuthorization"]
    grant = plain().one("RoleAssignment", "cluster-etcd-key").inputs
    assert grant["principalId"] == "00000000-0000-0000-0000-00000000000a"
    assert grant["scope"] == "cluster-keys-id"
    before = plain().one("containerservice:ManagedCluster").options["dependsOn"]
    assert {"RoleAssignment cluster-etcd-key", "RoleAssignment cluster-subnet", "Key cluster-etcd"} <= set(before)


def test_audit_logs_go_to_a_workspace() -> None:
    setting = rich().one("DiagnosticSetting").inputs
    assert {"category": "kube-audit-admin", "enabled": True} in setting["logs"]
    assert (setting["resourceUri"], setting["workspaceId"]) == ("cluster-id", "cluster-logs-id")
    assert rich().one("Workspace").inputs["retentionInDays"] == 365


def test_what_cannot_be_deleted_is_protected_by_pulumi_and_the_key_by_azure() -> None:
    protected = {r.type.split(":")[-1] for r in plain().resources if r.options.get("protect")}
    assert protected == {"ManagedCluster", "ResourceGroup", "Vault", "Key", "VirtualNetwork", "Subnet"}
    assert plain().one("ManagementLockByScope").inputs["scope"] == "cluster-keys-id"


def test_what_may_be_deleted_is_not() -> None:
    assert not [r for r in borrowed().resources if r.options.get("protect")]
    assert not borrowed().all("ManagementLockByScope")


def test_nodes_are_private_and_leave_through_a_nat_gateway() -> None:
    subnet = rich().one("network:Subnet").inputs
    assert subnet["addressPrefix"] == "10.0.0.0/18"
    assert subnet["natGateway"] == {"id": "cluster-nat-id"}
    assert subnet["defaultOutboundAccess"] is False
    pools = [cluster_of(rich())["agentPoolProfiles"][0], *(r.inputs for r in rich().all("AgentPool"))]
    assert [pool_properties["enableNodePublicIP"] for pool_properties in pools] == [False] * 4
    assert {pool_properties["vnetSubnetID"] for pool_properties in pools} == {"cluster-nodes-id"}
    assert cluster_of(rich())["networkProfile"]["outboundType"] == "userAssignedNATGateway"


def test_a_subnet_of_yours_replaces_the_network() -> None:
    assert not borrowed().all("VirtualNetwork") + borrowed().all("Subnet") + borrowed().all("NatGateway")
    assert cluster_of(borrowed())["agentPoolProfiles"][0]["vnetSubnetID"] == SUBNET
    assert cluster_of(borrowed())["networkProfile"]["outboundType"] == "userDefinedRouting"
    assert borrowed().one("RoleAssignment", "cluster-subnet").inputs["scope"] == SUBNET


def test_pods_have_an_overlay_that_cilium_guards() -> None:
    network = cluster_of(rich())["networkProfile"]
    assert (network["networkPlugin"], network["networkPluginMode"]) == ("azure", "overlay")
    assert (network["networkDataplane"], network["networkPolicy"]) == ("cilium", "cilium")
    assert (network["podCidr"], network["serviceCidr"]) == ("10.128.0.0/10", "172.21.0.0/20")
    assert network["dnsServiceIP"] == "172.21.0.10"


def test_upgrades_happen_in_the_window() -> None:
    windows = {r.inputs["configName"]: r.inputs["maintenanceWindow"] for r in rich().all("MaintenanceConfiguration")}
    assert set(windows) == {"aksManagedAutoUpgradeSchedule", "aksManagedNodeOSUpgradeSchedule"}
    for window in windows.values():
        assert window["schedule"]["weekly"] == {"dayOfWeek": "Monday", "intervalWeeks": 1}
        assert (window["startTime"], window["durationHours"], window["utcOffset"]) == ("03:30", 5, "+00:00")
    inputs = cluster_of(rich())
    assert inputs["autoUpgradeProfile"] == {"upgradeChannel": "patch", "nodeOSUpgradeChannel": "SecurityPatch"}
    assert (inputs["kubernetesVersion"], inputs["agentPoolProfiles"][0]["orchestratorVersion"]) == ("1.34", "1.33")


def test_long_term_support_is_another_tier() -> None:
    assert cluster_of(plain())["sku"] == {"name": "Base", "tier": "Standard"}
    inputs = cluster_of(rich())
    assert (inputs["sku"]["tier"], inputs["supportPlan"]) == ("Premium", "AKSLongTermSupport")


def test_snapshots_can_be_taken() -> None:
    assert cluster_of(plain())["storageProfile"]["snapshotController"] == {"enabled": True}


def test_the_group_that_is_named_is_the_system_pool() -> None:
    (system,) = cluster_of(rich())["agentPoolProfiles"]
    assert (system["name"], system["mode"], system["count"], system["nodeTaints"]) == ("cpu", "System", 2, [])
    pools = {pool_properties.inputs["agentPoolName"]: pool_properties for pool_properties in rich().all("AgentPool")}
    assert {name: pool_properties.inputs["mode"] for name, pool_properties in pools.items()} == dict.fromkeys(
        ["burst", "gpu", "more"], "User"
    )
    assert all(pool_properties.options["parent"] == name for name, pool_properties in pools.items())
    assert rich().one("ManagedCluster").options["ignoreChanges"] == ["agentPoolProfiles[0].count"]
    assert pools["gpu"].options["ignoreChanges"] == ["count"]
    assert "tensorplane:index:NodeGroup cpu" in rich().completed


def test_what_azure_cannot_change_is_made_anew() -> None:
    fixed = rich().all("AgentPool")[0].options["replaceOnChanges"]
    assert {"availabilityZones", "osDiskSizeGB", "scaleSetPriority", "vnetSubnetID"} <= set(fixed)
    private = ["apiServerAccessProfile.enablePrivateCluster"]
    assert rich().one("ManagedCluster").options["replaceOnChanges"] == private


def test_the_control_plane_may_take_reserved_machines_before_it_is_asked_to() -> None:
    (role,) = (r for r in rich().all("RoleAssignment") if "reserved" in r.name)
    assert role.inputs["scope"].lower() == RESERVATION.lower()
    assert role.inputs["roleDefinitionId"].lower().startswith("/subscriptions/s/providers/")
    assert f"RoleAssignment {role.name}" in rich().one("ManagedCluster").options["dependsOn"]


def test_zones_are_those_that_the_location_has() -> None:
    assert cluster_of(plain())["agentPoolProfiles"][0]["availabilityZones"] == ["1", "2", "3"]
    assert Aks(region="westus").default_zones == ()
    assert Aks(region="westeurope", zones=()).default_zones == ()


def test_pools_with_accelerators_ask_for_no_zones_unless_the_settings_name_some() -> None:
    zones = {r.inputs["agentPoolName"]: r.inputs["availabilityZones"] for r in rich().all("AgentPool")}
    assert zones == {"burst": ["1", "2", "3"], "gpu": [], "more": []}
    shape, _ = resolve("gpu", NodeGroupArgs(accelerator="t4", max=1), SITE)
    assert shape is not None
    assert zones_of(shape, Aks(region="westeurope", zones=("1", "3"))) == ("1", "3")
    assert pool_of(accelerator="t4", max=1, zones=["2"])["availability_zones"] == ["2"]


def test_a_gpu_group() -> None:
    taints = [{"key": "team", "value": "vision", "effect": "NoExecute"}]
    made = pool_of(accelerator="t4", max=8, zones=["2"], diskGib=200, labels={"team": "vision"}, taints=taints)
    assert made["vm_size"] == "Standard_NC4as_T4_v3"
    assert made["gpu_profile"] == {"driver": "Install"}
    assert "gpu_instance_profile" not in made
    assert "scale_set_priority" not in made
    assert made["node_taints"] == ["nvidia.com/gpu=present:NoSchedule", "team=vision:NoExecute"]
    assert made["node_labels"]["tensorplane.dev/accelerator"] == "t4"
    assert made["node_labels"]["team"] == "vision"
    assert (made["min_count"], made["max_count"], made["enable_auto_scaling"]) == (0, 8, True)
    assert (made["availability_zones"], made["os_disk_size_gb"], made["os_sku"]) == (["2"], 200, "Ubuntu")
    assert made["upgrade_settings"] == {"max_surge": "0", "max_unavailable": "1"}


CARDS = sorted(
    name for name, card in catalog.ACCELERATORS.items() if card.kind == "gpu" and catalog.counts("aks", name)
)


@pytest.mark.parametrize("card", CARDS)
def test_every_gpu_family_has_a_machine_a_driver_labels_and_taints(card: str) -> None:
    count = catalog.counts("aks", card)[0]
    rented = {"accelerator": card, "perNode": count, "max": 4}
    site = replace(SITE, region=None)  # wherever it may be sold
    made = pool_of(site, **rented)
    assert catalog.machine("aks", made["vm_size"]) in catalog.offers("aks", card, count)
    assert made["gpu_profile"] == {"driver": "Install"}
    assert made["node_taints"] == ["nvidia.com/gpu=present:NoSchedule"]
    assert made["node_labels"]["tensorplane.dev/accelerator"] == card
    assert pool_of(site, **rented, spot=True)["scale_set_priority"] == "Spot"
    assert pool_of(site, **rented, reserved={"id": RESERVATION})["capacity_reservation_group_id"] == RESERVATION
    shared = pool_of(site, **rented, sharing={"kind": "timeSlicing", "replicas": 4})
    assert shared["node_labels"]["nvidia.com/device-plugin.config"] == "time-slicing-4"


def test_the_gpu_operator_gets_nodes_without_a_driver_and_installs_it() -> None:
    divided = {"accelerator": "a100-80gb", "max": 1, "sharing": {"kind": "mig", "profile": "3g.40gb"}}
    groups = {"cpu": CPU, "gpu": {"accelerator": "t4", "max": 1}, "parts": divided}
    made = _built(groups, {}, {"kind": "operator", "metrics": "none"})
    pools = {each.inputs["agentPoolName"]: each.inputs for each in made.all("AgentPool")}
    assert pools["gpu"]["gpuProfile"] == {"driver": "None"} == pools["parts"]["gpuProfile"]
    assert "gpuInstanceProfile" not in pools["parts"]
    values = made.one("Release", "gpu-operator").inputs["values"]
    assert values["driver"]["enabled"]
    assert values["toolkit"]["enabled"]
    assert values["migManager"]["enabled"]


def test_a_cpu_group_has_no_driver_and_upgrades_with_more_machines() -> None:
    made = pool_of(machine="Standard_D16s_v5", max=3)
    assert "gpu_profile" not in made
    assert made["upgrade_settings"] == {"max_surge": "33%"}
    assert made["availability_zones"] == ["1", "2", "3"]


def test_a_spot_group() -> None:
    made = pool_of(accelerator="t4", max=8, spot=True)
    assert (made["scale_set_priority"], made["scale_set_eviction_policy"]) == ("Spot", "Delete")
    assert made["spot_max_price"] == -1
    # AKS adds a taint of its own.
    assert made["node_taints"] == ["nvidia.com/gpu=present:NoSchedule", "tensorplane.dev/spot=true:NoSchedule"]
    assert "upgrade_settings" not in made


def test_a_reserved_group() -> None:
    made = pool_of(accelerator="t4", max=8, reserved={"id": RESERVATION})
    assert made["capacity_reservation_group_id"] == RESERVATION


def test_a_group_of_divided_gpus() -> None:
    made = pool_of(accelerator="a100-80gb", max=1, sharing={"kind": "mig", "profile": "3g.40gb"})
    assert made["gpu_instance_profile"] == "MIG3g"


def test_a_group_of_shared_gpus_is_shared_by_the_device_plugin() -> None:
    made = pool_of(accelerator="t4", max=1, sharing={"kind": "timeSlicing", "replicas": 4})
    assert "gpu_instance_profile" not in made
    assert made["node_labels"]["nvidia.com/device-plugin.config"] == "time-slicing-4"


def test_the_kubeconfig_asks_entra_and_keeps_nobodys_token() -> None:
    config = kubeconfig_of(rich())
    assert config["clusters"] == [
        {"name": "research", "cluster": {"server": "https://aks.example:443", "certificate-authority-data": "Y2E="}}
    ]
    (user,) = config["users"]
    assert user["user"]["exec"]["command"] == "kubelogin"
    assert "token" not in user["user"]
    assert "not-to-be-kept" not in json.dumps(config)
    asked = rich().one("resources:Deployment").inputs["properties"]["template"]
    assert asked["resources"] == []
    assert "'research'" in asked["outputs"]["kubeconfig"]["value"]


def test_what_is_inside_comes_after_the_nodes() -> None:
    provider = rich().one("providers:kubernetes")
    assert {"AgentPool cluster-gpu", "ManagedCluster cluster"} <= set(provider.options["dependsOn"])
    assert provider.inputs["clusterIdentifier"] == "cluster-id"


def test_everything_is_in_one_group_of_one_subscription_with_the_tags() -> None:
    assert rich().one("resources:ResourceGroup").inputs["resourceGroupName"] == "research"
    (provider,) = (r for r in rich().resources if r.type == "pulumi:providers:azure-native")
    assert provider.inputs["subscriptionId"] == SUBSCRIPTION
    tagged = [r for r in rich().resources if "tags" in r.inputs]
    assert len(tagged) >= 7
    assert all(r.inputs["tags"] == {"tensorplane-stack": "dev", "team": "vision"} for r in tagged)
    azure = [r for r in rich().resources if r.type.startswith("azure-native:")]
    assert all(r.options["provider"] == "cluster" for r in azure)


@pytest.mark.parametrize(
    ("group", "name"),
    [("cpu", "cpu"), ("gpu-t4", "gput4"), ("abcdefghijkl", "abcdefghijkl"), ("training-a100-80gb", "training5978")],
)
def test_names_of_pools(group: str, name: str) -> None:
    assert agent_pool_name(group) == name


def test_names_of_long_groups_stay_apart() -> None:
    names = {agent_pool_name(f"a-group-with-a-long-name-{number}") for number in range(100)}
    assert len(names) == 100
    assert all(len(name) == 12 and name.isalnum() and name.islower() for name in names)
