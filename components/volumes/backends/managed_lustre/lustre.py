"""One Managed Lustre file system and its claim."""

import pulumi
import pulumi_gcp as gcp
import pulumi_kubernetes as k8s

from components.base.labels import ZONE
from components.base.names import digest
from components.clusters.gke import names
from components.clusters.gke.native import Native
from components.volumes import static
from components.volumes.backend import Request
from components.volumes.backends.managed_lustre.settings import ManagedLustreSettings

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
    assert request.args.placement is not None  # noqa: S101  # for mypy: `check` refuses it
    zone = request.args.placement.zones[0]
    name = f"{request.namespace.plain_name}-{request.name}"
    short = names.short(f"{cluster.cluster_name}-{name}", _ID_LIMIT)
    made = gcp.lustre.Instance(
        name,
        instance_id=short,
        location=zone,
        capacity_gib=str(int(request.args.size_gib)),
        per_unit_storage_throughput=str(args.mbps_per_tib),
        filesystem=filesystem(short),
        network=args.network or f"projects/{cluster.project}/global/networks/{cluster.cluster_name}",
        kms_key=args.kms_key,
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
            "volume_handle": f"{cluster.project}/{zone}/{short}",
            "volume_attributes": {"mountpoint": made.mount_point},
        },
        "node_affinity": {"required": {"node_selector_terms": [here]}},
    }
    return static.claim(request, opts, spec)


def filesystem(instance: str) -> str:
    """Lustre's name of it. A node cannot mount two of the same name (the driver's docs/troubleshooting.md)."""
    return f"v{digest(instance, _FILESYSTEM_LIMIT - 1)}"
