"""The cluster with its system node pool, which Azure requires."""

from collections.abc import Mapping
from typing import Any

import pulumi
from pulumi_azure_native import containerservice, managedidentity, monitor, operationalinsights

from tensorplane.components.clusters import allowed_cidrs
from tensorplane.components.clusters.aks import pool_properties as pool
from tensorplane.components.clusters.aks.addresses import dns_address
from tensorplane.components.clusters.aks.context import Context, tags
from tensorplane.components.clusters.aks.encryption import Encryption
from tensorplane.components.clusters.aks.network import NodeNetwork
from tensorplane.components.clusters.aks.pool_properties import agent_pool_name
from tensorplane.components.clusters.aks.settings import AksSettings
from tensorplane.components.clusters.aks.zones import zones_of
from tensorplane.components.node_groups.shape import Shape

_OUTBOUND = {
    "natGateway": "userAssignedNATGateway",
    "loadBalancer": "loadBalancer",
    "routeTable": "userDefinedRouting",
}
_CLEAN_HOURS = 168


def cluster(
    context: Context,
    identity: managedidentity.UserAssignedIdentity,
    node_network: NodeNetwork,
    encryption: Encryption,
    system: Shape,
    before: list[pulumi.Resource],
) -> containerservice.ManagedCluster:
    """The cluster with its system node pool."""
    args = context.args
    options = pulumi.ResourceOptions(
        depends_on=[*encryption.ready, *before],
        protect=args.deletion_protection,
        # Owned by the autoscaler.
        ignore_changes=["agentPoolProfiles[0].count"],
        # Azure cannot make a public cluster private, and the name must be unique.
        replace_on_changes=["apiServerAccessProfile.enablePrivateCluster"],
        delete_before_replace=True,
    )
    return containerservice.ManagedCluster(
        context.name,
        resource_name_=args.cluster_name,
        dns_prefix=args.cluster_name,
        kubernetes_version=args.version,
        node_resource_group=f"{args.cluster_name}-nodes",
        identity={
            "type": containerservice.ResourceIdentityType.USER_ASSIGNED,
            "user_assigned_identities": [identity.id],
        },
        api_server_access_profile=_endpoint(args, node_network),
        network_profile=_network(args),
        security_profile=_security(encryption),
        storage_profile={
            "disk_csi_driver": {"enabled": True},
            "file_csi_driver": {"enabled": True},
            "snapshot_controller": {"enabled": True},
        },
        agent_pool_profiles=[_system_agent_pool(context, node_network, system)],
        **_LOGIN,
        **_lifecycle(args),
        opts=pulumi.ResourceOptions.merge(context.opts, options),
        **context.common,
    )


def _system_agent_pool(context: Context, node_network: NodeNetwork, system: Shape) -> Any:
    own = {"name": agent_pool_name(system.name), "vnet_subnet_id": node_network.subnet}
    return {**own, **pool_properties(context, system, "System")}


def pool_properties(context: Context, shape: Shape, mode: pool.Mode) -> dict[str, Any]:
    """A group's pool with the common properties of all pools."""
    args = context.args
    version = args.node_version or args.version
    return pool.properties(shape, mode, version=version, zones=zones_of(shape, args), tags=tags(args))


_LOGIN: Mapping[str, Any] = {
    # Clients authenticate with Entra and have Azure roles; local accounts are disabled.
    "aad_profile": {"managed": True, "enable_azure_rbac": True},
    "enable_rbac": True,
    "disable_local_accounts": True,
    "oidc_issuer_profile": {"enabled": True},
}


def _endpoint(
    args: AksSettings, node_network: NodeNetwork
) -> containerservice.ManagedClusterAPIServerAccessProfileArgsDict:
    if not args.endpoint.public:
        return {"enable_private_cluster": True, "disable_run_command": True}
    # Nodes reach a public endpoint from their NAT gateway's address.
    allowed = allowed_cidrs.checked(args.endpoint.allowed_cidrs)
    allowed += [pulumi.Output.concat(address, "/32") for address in node_network.egress_addresses]
    return {"enable_private_cluster": False, "authorized_ip_ranges": allowed, "disable_run_command": True}


def _network(args: AksSettings) -> containerservice.ContainerServiceNetworkProfileArgsDict:
    return {
        "network_plugin": "azure",
        "network_plugin_mode": "overlay",
        "network_dataplane": "cilium",
        "network_policy": "cilium",
        "pod_cidr": args.network.pod_cidr,
        "service_cidr": args.network.service_cidr,
        "dns_service_ip": dns_address(args.network.service_cidr),
        "load_balancer_sku": "standard",
        "outbound_type": _OUTBOUND[args.network.outbound],
    }


def _security(encryption: Encryption) -> containerservice.ManagedClusterSecurityProfileArgsDict:
    return {
        "azure_key_vault_kms": {"enabled": True, "key_id": encryption.key, "key_vault_network_access": "Public"},
        "workload_identity": {"enabled": True},
        "image_cleaner": {"enabled": True, "interval_hours": _CLEAN_HOURS},
    }


def _lifecycle(args: AksSettings) -> dict[str, Any]:
    long_term = args.support == "longTerm"
    return {
        "sku": {"name": "Base", "tier": "Premium" if long_term else "Standard"},
        "support_plan": "AKSLongTermSupport" if long_term else "KubernetesOfficial",
        "auto_upgrade_profile": {"upgrade_channel": args.upgrades, "node_os_upgrade_channel": "SecurityPatch"},
        "auto_scaler_profile": {"expander": "least-waste", "balance_similar_node_groups": "true"},
    }


# The audit log of changes; the one that includes reads is many times as large.
_LOGS = ("kube-audit-admin", "guard", "kube-apiserver", "kube-controller-manager", "cluster-autoscaler")


def logs(context: Context, cluster: containerservice.ManagedCluster) -> None:
    """Sends the logs to the cluster's own Log Analytics workspace."""
    workspace = operationalinsights.Workspace(
        f"{context.name}-logs",
        sku={"name": "PerGB2018"},
        retention_in_days=context.args.log_retention_days,
        opts=context.opts,
        **context.common,
    )
    monitor.DiagnosticSetting(
        f"{context.name}-logs",
        name="tensorplane",
        resource_uri=cluster.id,
        workspace_id=workspace.id,
        log_analytics_destination_type="Dedicated",
        logs=[{"category": category, "enabled": True} for category in _LOGS],
        opts=context.opts,
    )


# AKS' names of the windows' purposes.
_WINDOWS = {"upgrades": "aksManagedAutoUpgradeSchedule", "node-os": "aksManagedNodeOSUpgradeSchedule"}


def maintenance_windows(context: Context, cluster: containerservice.ManagedCluster) -> list[pulumi.Resource]:
    """One weekly window for both."""
    wanted = context.args.maintenance
    return [
        containerservice.MaintenanceConfiguration(
            f"{context.name}-{suffix}",
            resource_group_name=context.resource_group.name,
            resource_name_=cluster.name,
            config_name=name,
            maintenance_window={
                "schedule": {"weekly": {"day_of_week": wanted.day, "interval_weeks": 1}},
                "start_time": wanted.start,
                "duration_hours": wanted.hours,
                "utc_offset": "+00:00",
            },
            opts=context.opts,
        )
        for suffix, name in _WINDOWS.items()
    ]
