"""Volumes on AKS as they are registered: what each is made of, who reaches it, what it begins as."""

from __future__ import annotations

import functools
from typing import Any

import pytest

from tests.support.rendered_files import rendered_file, rendered_tree
from tests.support.rendering import PROJECT, Rendered
from tests.unit.volumes.clouds.azure_volumes import (
    DISK,
    FILES,
    IDENTITY,
    LUSTRE,
    NETAPP,
    OWN,
    SNAPSHOT,
    SUBNET,
    SUBSCRIPTION,
    backend,
)


def made() -> Rendered:
    return rendered_file(PROJECT / "examples" / "aks-volumes.yaml")


# Azure's resources are slow to make, so this one holds all that the example has otherwise.
@functools.cache
def otherwise() -> Rendered:
    """Volumes with keys and networks of one's own, that need not be kept."""
    snapshot = SNAPSHOT % "standard"
    vault = f"{SUBSCRIPTION}/Microsoft.KeyVault/vaults/k"
    des = f"{SUBSCRIPTION}/Microsoft.Compute/diskEncryptionSets/own"
    url = "https://k.vault.azure.net"
    zone = f"{SUBSCRIPTION}/Microsoft.Network/privateDnsZones/privatelink.file.core.windows.net"
    files = {"key": {"vault": url, "name": "k", "identity": IDENTITY}, "privateDnsZone": zone}
    lustre = {"subnet": SUBNET, "key": {"vault": vault, "url": f"{url}/keys/k/1", "identity": IDENTITY}}
    netapp = {"serviceLevel": "standard", "version": "3", "subnet": SUBNET, "allowedCidrs": ["10.1.0.0/18"]}
    fast = {"sku": "PremiumV2_LRS", "iops": 4000, "throughputMib": 200, "encryptedInTransit": False}
    volumes = {
        "files": {**backend(FILES, **files), "from": {"snapshot": "files-20261121-0300"}},
        "fast": backend({**FILES, "sizeGib": 64}, **files, **fast),
        "disk": backend({**DISK, "sizeGib": 10}, encryptionSet=des, sku="Premium_ZRS"),
        "lustre": backend({**LUSTRE, "sizeGib": 8192}, mbpsPerTib=250, **lustre),
        "old": {**backend(NETAPP, poolTib=3, **netapp), "from": {"snapshot": snapshot}, "placement": {"zones": ["2"]}},
    }
    tree = {
        "cluster": OWN,
        "nodeGroups": {"cpu": {"machine": "Standard_D8s_v5", "min": 2, "max": 4}},
        "volumes": {name: {**volume, "retain": False} for name, volume in volumes.items()},
    }
    return rendered_tree(tree)


def parameters(found: Rendered, volume: str) -> dict[str, Any]:
    return dict(found.one("StorageClass", f"tensorplane-dev-{volume}").inputs["parameters"])


def test_data_is_in_groups_that_outlive_the_clusters_own() -> None:
    kept = {group.name for group in made().all("resources:ResourceGroup") if group.options.get("retainOnDelete")}
    kinds = ("azuredisk", "azurefiles", "azurelustre", "netappfiles", "netapp-tensorplane-dev-project-mirror")
    assert kept == {f"tensorplane-dev-{kind}" for kind in kinds}
    data = ("netapp:CapacityPoolVolume", "storagecache:AmlFilesystem", "storage:StorageAccount")
    places = {one.inputs["resourceGroupName"] for kind in data for one in made().all(kind)}
    assert places <= kept


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("storage:StorageAccount", None),
        ("netapp:CapacityPoolVolume", "tensorplane-dev-project"),
        ("storagecache:AmlFilesystem", None),
        ("PersistentVolumeClaim", "experiment"),
    ],
)
def test_what_holds_data_is_protected_and_kept(kind: str, name: str | None) -> None:
    options = made().one(kind, name).options
    assert (options["protect"], options["retainOnDelete"]) == (True, True)


def test_a_copy_stays_and_lets_its_mirror_be_removed() -> None:
    volume, pool = (f"netapp:{kind}" for kind in ("CapacityPoolVolume", "CapacityPool"))
    for found in (made().one(kind, "tensorplane-dev-project-mirror").options for kind in (volume, pool)):
        assert (found.get("protect"), found["retainOnDelete"]) == (None, True)


def test_what_need_not_be_kept_goes_but_for_what_has_snapshots_in_it() -> None:
    options = {one.name: one.options for one in otherwise().all("resources:ResourceGroup")}
    left = {name for name, option in options.items() if option.get("retainOnDelete")}
    assert left == {"tensorplane-dev-azuredisk", "tensorplane-dev-azurefiles"}
    assert [one.options.get("retainOnDelete") for one in otherwise().all("storage:StorageAccount")] == [True, True]
    assert "retainOnDelete" not in otherwise().one("netapp:CapacityPoolVolume").options


def test_a_deleted_share_can_be_had_back_for_a_while() -> None:
    for settings in otherwise().all("storage:FileServiceProperties"):
        assert settings.inputs["shareDeleteRetentionPolicy"] == {"enabled": True, "days": 14}
        assert settings.options["retainOnDelete"] is True


def test_an_account_of_files_is_reached_through_its_endpoint_alone_and_over_tls() -> None:
    account = made().one("storage:StorageAccount")
    assert len(account.name) <= 16 and account.name.isalnum()
    closed = {"allowSharedKeyAccess": False, "allowBlobPublicAccess": False, "publicNetworkAccess": "Disabled"}
    assert closed.items() <= account.inputs.items()
    assert account.inputs["networkRuleSet"] == {"defaultAction": "Deny", "bypass": "AzureServices"}
    assert account.inputs["enableHttpsTrafficOnly"] is True
    endpoint = made().one("network:PrivateEndpoint").inputs
    assert endpoint["subnet"] == {"id": "cluster-nodes-id"}
    assert endpoint["privateLinkServiceConnections"][0]["groupIds"] == ["file"]
    assert made().one("network:PrivateDnsZoneGroup").name in made().one("StorageClass", "tensorplane-dev-models").name


def test_a_share_is_made_by_the_driver_in_that_account() -> None:
    account = made().one("storage:StorageAccount").name
    assert parameters(made(), "models") == {
        "protocol": "nfs",
        "skuName": "Premium_ZRS",
        "networkEndpointType": "privateEndpoint",
        "encryptInTransit": "true",
        "resourceGroup": "tensorplane-dev-azurefiles",
        "storageAccount": f"{account}1a2b3c4d",
    }
    after = made().one("StorageClass", "tensorplane-dev-models").options["dependsOn"]
    assert {"PrivateDnsZoneGroup tensorplane-dev-models", "RoleAssignment cluster-files-shares"} <= set(after)


def test_files_of_ones_own_key_zone_and_speed() -> None:
    accounts = otherwise().all("storage:StorageAccount")
    for account in accounts:
        assert account.inputs["encryption"]["keyVaultProperties"] == {
            "keyVaultUri": "https://k.vault.azure.net",
            "keyName": "k",
        }
        assert account.inputs["identity"]["userAssignedIdentities"] == [IDENTITY]
    assert {account.inputs["enableHttpsTrafficOnly"] for account in accounts} == {True, False}
    assert not otherwise().all("privatedns:PrivateZone")
    fast = parameters(otherwise(), "fast")
    assert (fast["provisionedIOPS"], fast["provisionedBandwidth"]) == ("4000", "200")
    assert "encryptInTransit" not in fast
    # The only way past the account's firewall, which copying files needs.
    assert parameters(otherwise(), "files")["useDataPlaneAPI"] == "oauth"
    assert "useDataPlaneAPI" not in fast


def test_a_disk_is_in_its_zone_as_fast_as_it_is_told_and_has_incremental_snapshots() -> None:
    made_class = made().one("StorageClass", "tensorplane-dev-experiment").inputs
    assert made_class["parameters"] == {
        "skuName": "PremiumV2_LRS",
        "DiskIOPSReadWrite": "6000",
        "DiskMBpsReadWrite": "500",
        "cachingMode": "None",
        "resourceGroup": "tensorplane-dev-azuredisk",
    }
    (topology,) = made_class["allowedTopologies"]
    assert topology["matchLabelExpressions"] == [
        {"key": "topology.disk.csi.azure.com/zone", "values": ["westeurope-1"]}
    ]
    classes = {found.inputs["driver"]: found.inputs for found in made().all("VolumeSnapshotClass")}
    assert classes["disk.csi.azure.com"]["parameters"] == {"incremental": "true"}
    assert "parameters" not in classes["file.csi.azure.com"]


def test_a_disk_of_ones_own_key_may_read_what_holds_it() -> None:
    found = parameters(otherwise(), "disk")
    assert found["diskEncryptionSetID"].endswith("/diskEncryptionSets/own")
    assert "cachingMode" not in found
    grant = otherwise().one("authorization:RoleAssignment", "cluster-disk-key-own").inputs
    assert grant["scope"] == found["diskEncryptionSetID"]


def test_a_volume_of_netapp_lets_the_nodes_in_alone_and_nobody_as_root() -> None:
    volume = made().one("netapp:CapacityPoolVolume", "tensorplane-dev-project").inputs
    (rule,) = volume["exportPolicy"]["rules"]
    assert (rule["allowedClients"], rule["hasRootAccess"]) == ("10.0.0.0/18", False)
    assert (rule["nfsv3"], rule["nfsv41"]) == (False, True)
    assert volume["usageThreshold"] == 700 * 2**30
    assert (volume["networkFeatures"], volume["unixPermissions"]) == ("Standard", "0777")
    where = made().one("PersistentVolume", "tensorplane-dev-project").inputs["spec"]
    assert where["nfs"] == {"server": "10.0.64.4", "path": "/tensorplane-dev-project"}
    assert where["mountOptions"][:2] == ["nfsvers=4.1", "hard"]


def test_volumes_of_one_service_level_share_a_pool_in_whole_tebibytes() -> None:
    assert made().one("netapp:CapacityPool", "cluster-netapp-premium").inputs["size"] == 2 * 2**40
    assert otherwise().one("netapp:CapacityPool").inputs["size"] == 3 * 2**40


def test_the_subnet_of_netapp_is_delegated_and_apart_from_those_of_nodes_and_lustre() -> None:
    subnets = {one.inputs["subnetName"]: one.inputs for one in made().all("network:Subnet")}
    assert {name: one["addressPrefix"] for name, one in subnets.items()} == {
        "nodes": "10.0.0.0/18",
        "netapp": "10.0.64.0/26",
        "lustre": "10.0.128.0/22",
    }
    assert subnets["netapp"]["delegations"] == [{"name": "netapp", "serviceName": "Microsoft.NetApp/volumes"}]
    assert not otherwise().all("network:Subnet")
    volume = otherwise().one("netapp:CapacityPoolVolume").inputs
    assert volume["subnetId"] == SUBNET
    assert volume["exportPolicy"]["rules"][0]["allowedClients"] == "10.1.0.0/18"


def test_snapshots_of_netapp_are_a_policy_and_no_cron_job() -> None:
    policy = made().one("netapp:SnapshotPolicy").inputs
    assert policy["hourlySchedule"] == {"minute": 0, "snapshotsToKeep": 48}
    volume = made().one("netapp:CapacityPoolVolume", "tensorplane-dev-project").inputs
    assert volume["dataProtection"] == {"snapshot": {"snapshotPolicyId": "tensorplane-dev-project-id"}}
    assert [job.name for job in made().all("CronJob")] == ["snapshots-experiment", "snapshots-models"]


def test_a_clone_begins_as_a_snapshot_that_is_taken_once_its_origin_is_there() -> None:
    taken = made().one("netapp:CapacityPoolSnapshot")
    assert taken.inputs["volumeName"] == "tensorplane-dev-project"
    assert "PersistentVolumeClaim project" in taken.options["dependsOn"]
    clone = made().one("netapp:CapacityPoolVolume", "tensorplane-dev-project-copy")
    assert clone.inputs["snapshotId"] == "tensorplane-dev-project-copy-origin-id"
    assert clone.options["ignoreChanges"] == ["snapshotId"]
    assert "dataSource" not in made().one("PersistentVolumeClaim", "project-copy").inputs["spec"]
    assert otherwise().one("netapp:CapacityPoolVolume").inputs["snapshotId"] == SNAPSHOT % "standard"


def test_a_mirror_is_a_volume_in_its_region_that_the_source_says_yes_to() -> None:
    copy = made().one("netapp:CapacityPoolVolume", "tensorplane-dev-project-mirror").inputs
    assert (copy["location"], copy["volumeType"]) == ("northeurope", "DataProtection")
    assert copy["dataProtection"]["replication"] == {
        "endpointType": "dst",
        "remoteVolumeResourceId": "tensorplane-dev-project-id",
        "remoteVolumeRegion": "westeurope",
        "replicationSchedule": "hourly",
    }
    group = made().one("resources:ResourceGroup", copy["resourceGroupName"]).inputs
    assert group["location"] == "northeurope"
    script = made().one("resources:AzureCliScript")
    assert {"name": "COPY", "value": "tensorplane-dev-project-mirror-id"} in script.inputs["environmentVariables"]
    assert script.inputs["scriptContent"].startswith("az netappfiles volume replication approve")
    scopes = {
        grant.inputs["scope"]
        for grant in made().all("authorization:RoleAssignment")
        if grant.name in str(script.options["dependsOn"])
    }
    assert scopes == {"tensorplane-dev-project-id", "tensorplane-dev-project-mirror-id"}


def test_lustre_is_in_its_zone_with_its_container_behind_it() -> None:
    system = made().one("storagecache:AmlFilesystem").inputs
    assert (system["sku"], system["storageCapacityTiB"], system["zones"]) == (
        {"name": "AMLFS-Durable-Premium-125"},
        16,
        ["1"],
    )
    assert system["maintenanceWindow"] == {"dayOfWeek": "Sunday", "timeOfDayUTC": "02:00"}
    assert system["hsm"]["settings"]["container"].endswith("/containers/images")
    assert system["hsm"]["settings"]["importPrefixesInitial"] == ["/"]
    assert made().one("storagecache:AutoExportJob").inputs["autoExportPrefixes"] == ["/"]
    csi = made().one("PersistentVolume", "tensorplane-dev-images").inputs["spec"]["csi"]
    assert csi["volumeAttributes"] == {"mgs-ip-address": "10.0.128.4"}


def test_lustre_without_a_placement_is_in_the_first_zone_of_the_nodes_and_has_ones_own_key() -> None:
    system = otherwise().one("storagecache:AmlFilesystem").inputs
    assert (system["zones"], system["filesystemSubnet"]) == (["1"], SUBNET)
    key = system["encryptionSettings"]["keyEncryptionKey"]
    assert key["keyUrl"] == "https://k.vault.azure.net/keys/k/1"
    assert not otherwise().all("storagecache:AutoExportJob")


def test_the_driver_of_lustre_is_on_every_node_where_a_volume_needs_it() -> None:
    release = made().one("Release", "azurelustre-csi-driver").inputs
    assert release["namespace"] == "kube-system"
    assert release["values"]["node"]["tolerations"] == [{"operator": "Exists"}]
    assert (
        "Release azurelustre-csi-driver"
        in made().one("PersistentVolume", "tensorplane-dev-images").options["dependsOn"]
    )


def test_every_cluster_has_the_drivers_of_files_and_disks_and_the_snapshot_controller() -> None:
    profile = made().one("containerservice:ManagedCluster").inputs["storageProfile"]
    needed = ("diskCSIDriver", "fileCSIDriver", "snapshotController")
    assert all(profile[one]["enabled"] for one in needed)
