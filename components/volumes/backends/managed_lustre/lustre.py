"""One Managed Lustre file system and its claim, and how nodes reach it."""

from collections.abc import Sequence

import pulumi
import pulumi_gcp as gcp
import pulumi_kubernetes as k8s
from pulumi_gcp import compute, servicenetworking

from tensorplane.components.base.labels import ZONE
from tensorplane.components.base.names import digest
from tensorplane.components.base.produced import as_input
from tensorplane.components.clusters.component import Cluster
from tensorplane.components.clusters.gke import access
from tensorplane.components.clusters.gke.native import Native, short_name
from tensorplane.components.volumes import static
from tensorplane.components.volumes.backend import Request
from tensorplane.components.volumes.backends.managed_lustre.settings import ManagedLustreSettings

_ID_LIMIT = 63
_FILESYSTEM_LIMIT = 8


def claim(
    args: ManagedLustreSettings, request: Request, opts: pulumi.ResourceOptions
) -> k8s.core.v1.PersistentVolumeClaim:
    """The file system, protected like the claim, and a claim that is bound to it.

    Pulumi creates it instead of the driver, which does not support customer-managed keys. So it can also be expanded,
    and stays protected if the cluster is deleted.
    """
    native: Native = request.cluster.native
    cluster = native.args
    project = as_input(cluster.project)
    assert request.args.placement is not None  # noqa: S101  # for mypy: `check` refuses it
    zone = request.args.placement.zones[0]
    name = f"{request.namespace.plain_name}-{request.name}"
    short = short_name(f"{cluster.cluster_name}-{name}", _ID_LIMIT)
    made = gcp.lustre.Instance(
        name,
        instance_id=short,
        location=zone,
        capacity_gib=str(int(request.args.size_gib)),
        per_unit_storage_throughput=str(args.mbps_per_tib),
        filesystem=filesystem(short),
        network=as_input(args.network)
        if args.network
        else pulumi.Output.concat("projects/", project, "/global/networks/", cluster.cluster_name),
        kms_key=as_input(args.kms_key),
        labels={"tensorplane-volume": request.name},
        opts=pulumi.ResourceOptions.merge(
            opts, pulumi.ResourceOptions(provider=native.provider, depends_on=list(request.installed))
        ),
    )
    here: k8s.core.v1.NodeSelectorTermArgsDict = {
        "match_expressions": [{"key": ZONE, "operator": "In", "values": [zone]}]
    }
    spec: k8s.core.v1.PersistentVolumeSpecArgsDict = {
        "csi": {
            "driver": "lustre.csi.storage.gke.io",
            "volume_handle": pulumi.Output.concat(project, "/", zone, "/", short),
            "volume_attributes": {"mountpoint": made.mount_point},
        },
        "node_affinity": {"required": {"node_selector_terms": [here]}},
    }
    return static.claim(request, opts, spec)


def filesystem(instance: str) -> str:
    """Lustre's name of it. A node cannot mount two of the same name (the driver's docs/troubleshooting.md)."""
    return f"v{digest(instance, _FILESYSTEM_LIMIT - 1)}"


_PREFIX_LENGTH = 20
"""As in Google's guide (GKE, "Access Managed Lustre"). Google picks a free range of this size."""
_LNET = "988"


def connect(cluster: Cluster) -> Sequence[pulumi.Resource]:
    """Private services access and a firewall rule for the servers. An existing network must have both."""
    native: Native = cluster.native
    inside = pulumi.ResourceOptions(parent=cluster, provider=native.provider)
    api = access.switched_on(cluster.name, "lustre", inside)
    if native.args.network.existing:
        return [api]
    name = f"{cluster.name}-services"
    joins = access.switched_on(cluster.name, "servicenetworking", inside)
    addresses = compute.GlobalAddress(
        name,
        purpose="VPC_PEERING",
        address_type="INTERNAL",
        prefix_length=_PREFIX_LENGTH,
        network=native.network.network,
        opts=inside,
    )
    connection = servicenetworking.Connection(
        name,
        network=native.network.network,
        service="servicenetworking.googleapis.com",
        reserved_peering_ranges=[addresses.name],
        # Google refuses to delete it until days after the last service was deleted.
        deletion_policy="ABANDON",
        opts=pulumi.ResourceOptions.merge(inside, pulumi.ResourceOptions(depends_on=[joins])),
    )
    firewall = compute.Firewall(
        f"{cluster.name}-lustre",
        network=native.network.network,
        description=f"Servers of Managed Lustre to the nodes of the GKE cluster {cluster.name}",
        direction="INGRESS",
        source_ranges=[pulumi.Output.format("{0}/{1}", addresses.address, addresses.prefix_length)],
        allows=[{"protocol": "tcp", "ports": [_LNET]}],
        opts=inside,
    )
    return [api, connection, firewall]
