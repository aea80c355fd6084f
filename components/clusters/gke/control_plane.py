"""The cluster: control plane, add-ons, logs, endpoints, maintenance."""

import datetime
from collections.abc import Sequence

import pulumi
from pulumi_gcp import container

from tensorplane.components.base.produced import as_input
from tensorplane.components.clusters import allowed_cidrs
from tensorplane.components.clusters.gke import check_network
from tensorplane.components.clusters.gke.network import Network
from tensorplane.components.clusters.gke.settings import GkeSettings, labels

CLOUD_PLATFORM = "https://www.googleapis.com/auth/cloud-platform"
"""OAuth scope of nodes; only the roles of their service account restrict them."""

# Audit logs of writes and logins are always enabled.
_LOGS = ["SYSTEM_COMPONENTS", "WORKLOADS", "APISERVER", "CONTROLLER_MANAGER", "SCHEDULER"]
_METRICS = [
    "SYSTEM_COMPONENTS",
    "APISERVER",
    "CONTROLLER_MANAGER",
    "SCHEDULER",
    "STORAGE",
    "HPA",
    "POD",
    "DAEMONSET",
    "DEPLOYMENT",
    "STATEFULSET",
    "KUBELET",
    "CADVISOR",
    "DCGM",
    "JOBSET",
]
_MONITORING: container.ClusterMonitoringConfigArgsDict = {
    "enable_components": _METRICS,
    "managed_prometheus": {"enabled": True},
    "advanced_datapath_observability_config": {"enable_metrics": True, "enable_relay": False},
}
_ADDONS: container.ClusterAddonsConfigArgsDict = {
    "http_load_balancing": {"disabled": False},
    "horizontal_pod_autoscaling": {"disabled": False},
    "dns_cache_config": {"enabled": True},
    "gce_persistent_disk_csi_driver_config": {"enabled": True},
    "gcp_filestore_csi_driver_config": {"enabled": True},
    "gcs_fuse_csi_driver_config": {"enabled": True},
}
_NOTHING_FOR_EVERYBODY: container.ClusterRbacBindingConfigArgsDict = {
    "enable_insecure_binding_system_authenticated": False,
    "enable_insecure_binding_system_unauthenticated": False,
}
_DAYS = ("MO", "TU", "WE", "TH", "FR", "SA", "SU")
_FIRST_DAY = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)


def create(
    name: str,
    args: GkeSettings,
    *,
    network: Network,
    node_account: pulumi.Input[str],
    secrets_key: pulumi.Input[str],
    autoscaling: container.ClusterClusterAutoscalingArgsDict,
    after: Sequence[pulumi.Resource],
    opts: pulumi.ResourceOptions,
) -> container.Cluster:
    """The cluster without nodes, which are in node pools."""
    return container.Cluster(
        name,
        name=args.cluster_name,
        project=as_input(args.project),
        location=args.region,
        node_locations=list(args.usual_zones) or None,
        # GKE requires an initial node pool, which is deleted at once.
        remove_default_node_pool=True,
        initial_node_count=1,
        node_config=_first_nodes(node_account),
        release_channel={"channel": args.channel.upper()},
        min_master_version=args.version,
        maintenance_policy={"recurring_window": maintenance_window(args)},
        deletion_protection=args.deletion_protection,
        resource_labels=labels(args) or None,
        cluster_autoscaling=autoscaling,
        network=network.network,
        subnetwork=network.subnetwork,
        ip_allocation_policy=_ranges(network),
        default_max_pods_per_node=args.max_pods_per_node,
        datapath_provider="ADVANCED_DATAPATH",
        enable_l4_ilb_subsetting=True,
        gateway_api_config={"channel": "CHANNEL_STANDARD"},
        private_cluster_config=_private(args),
        master_authorized_networks_config=_authorized(args),
        control_plane_endpoints_config={"dns_endpoint_config": {"allow_external_traffic": args.endpoint.dns}},
        workload_identity_config={"workload_pool": pulumi.Output.concat(as_input(args.project), ".svc.id.goog")},
        database_encryption={"state": "ENCRYPTED", "key_name": secrets_key},
        authenticator_groups_config=_groups(args),
        enable_shielded_nodes=True,
        enable_legacy_abac=False,
        anonymous_authentication_config={"mode": "LIMITED"},
        rbac_binding_config=_NOTHING_FOR_EVERYBODY,
        security_posture_config={"mode": "BASIC"},
        node_pool_defaults={"node_config_defaults": {"insecure_kubelet_readonly_port_enabled": "FALSE"}},
        logging_config={"enable_components": _LOGS},
        monitoring_config=_MONITORING,
        cost_management_config={"enabled": True},
        addons_config={**_ADDONS, "lustre_csi_driver_config": {"enabled": True}} if args.lustre else _ADDONS,
        opts=pulumi.ResourceOptions.merge(
            opts,
            # The initial pool is deleted; later, the API returns these fields for other pools.
            pulumi.ResourceOptions(depends_on=[*after], ignore_changes=["nodeConfig", "initialNodeCount"]),
        ),
    )


def _first_nodes(account: pulumi.Input[str]) -> container.ClusterNodeConfigArgsDict:
    return {
        "service_account": account,
        "oauth_scopes": [CLOUD_PLATFORM],
        "shielded_instance_config": {"enable_secure_boot": True, "enable_integrity_monitoring": True},
    }


def _ranges(network: Network) -> container.ClusterIpAllocationPolicyArgsDict:
    return {
        "cluster_secondary_range_name": network.pods_range,
        "services_secondary_range_name": network.services_range,
    }


def _private(args: GkeSettings) -> container.ClusterPrivateClusterConfigArgsDict:
    private: container.ClusterPrivateClusterConfigArgsDict = {
        "enable_private_nodes": True,
        "enable_private_endpoint": not args.endpoint.public,
    }
    if args.network.control_plane_cidr:
        private["master_ipv4_cidr_block"] = args.network.control_plane_cidr
    return private


def _authorized(args: GkeSettings) -> container.ClusterMasterAuthorizedNetworksConfigArgsDict:
    return {
        "cidr_blocks": [
            {"cidr_block": cidr}
            for cidr in allowed_cidrs.checked(args.endpoint.allowed_cidrs, check_network.problems_of_allowed)
        ],
        "gcp_public_cidrs_access_enabled": False,
    }


def _groups(args: GkeSettings) -> container.ClusterAuthenticatorGroupsConfigArgsDict | None:
    return {"security_group": f"gke-security-groups@{args.groups_domain}"} if args.groups_domain else None


def maintenance_window(args: GkeSettings) -> container.ClusterMaintenancePolicyRecurringWindowArgsDict:
    """The window in GKE's API: its first occurrence and a recurrence rule."""
    window = args.maintenance
    hour, minute = map(int, window.start.split(":"))
    opens = _FIRST_DAY.replace(hour=hour, minute=minute)
    while _DAYS[opens.weekday()] not in window.days:
        opens += datetime.timedelta(days=1)
    closes = opens + datetime.timedelta(hours=window.hours)
    return {
        "start_time": f"{opens:%Y-%m-%dT%H:%M:%SZ}",
        "end_time": f"{closes:%Y-%m-%dT%H:%M:%SZ}",
        "recurrence": f"FREQ=WEEKLY;BYDAY={','.join(window.days)}",
    }
