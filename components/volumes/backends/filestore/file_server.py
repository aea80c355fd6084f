"""A mirrored Filestore instance, its standby instance in another region, and the claim.

The CSI driver provisions instances without a mirror. It does not support replication, so both instances are created
here.
"""

import pulumi
import pulumi_gcp as gcp
import pulumi_kubernetes as k8s

from tensorplane.components import catalog
from tensorplane.components.base.model import In
from tensorplane.components.base.produced import as_input
from tensorplane.components.clusters.gke.native import Native, short_name
from tensorplane.components.clusters.gke.settings import GkeSettings
from tensorplane.components.volumes import static
from tensorplane.components.volumes.backend import Request
from tensorplane.components.volumes.backends.filestore.settings import FilestoreSettings

_SHARE = "volume"
_ID_LIMIT = 63
_CONNECT = {"directPeering": "DIRECT_PEERING", "privateServiceAccess": "PRIVATE_SERVICE_ACCESS"}


def claim(args: FilestoreSettings, request: Request, opts: pulumi.ResourceOptions) -> k8s.core.v1.PersistentVolumeClaim:
    """Both instances, protected like the claim, and a claim that is bound to the instance of the cluster's region."""
    native: Native = request.cluster.native
    cluster = native.args
    assert request.args.mirror and request.args.mirror.to.region  # noqa: S101  # for mypy: the caller checks it
    zoned = args.tier == "zonal"
    here = _zone(request, cluster) if zoned else cluster.region
    region = request.args.mirror.to.region
    there = catalog.zones("gke", region)[0] if zoned else region
    name = f"{request.namespace.plain_name}-{request.name}"
    active = _server(name, here, args, request, args.kms_key, opts)
    _server(
        f"{name}-mirror",
        there,
        args,
        request,
        args.mirror_kms_key,
        opts,
        follows={"role": "STANDBY", "replicas": [{"peer_instance": active.id}]},
    )
    spec: k8s.core.v1.PersistentVolumeSpecArgsDict = {
        "csi": {
            "driver": "filestore.csi.storage.gke.io",
            "volume_handle": f"modeInstance/{here}/{_id(name, cluster)}/{_SHARE}",
            "volume_attributes": {"ip": active.networks[0].ip_addresses[0], "volume": _SHARE},
        }
    }
    return static.claim(request, opts, spec)


def _server(
    name: str,
    location: str,
    args: FilestoreSettings,
    request: Request,
    key: In[str] | None,
    opts: pulumi.ResourceOptions,
    *,
    follows: gcp.filestore.InstanceInitialReplicationArgsDict | None = None,
) -> gcp.filestore.Instance:
    native: Native = request.cluster.native
    cluster = native.args
    return gcp.filestore.Instance(
        name,
        name=_id(name, cluster),
        location=location,
        tier=args.tier.upper(),
        file_shares={"name": _SHARE, "capacity_gb": int(request.args.size_gib)},
        networks=[
            {
                "network": as_input(args.network or cluster.cluster_name),
                "modes": ["MODE_IPV4"],
                "connect_mode": _CONNECT[args.connection],
            }
        ],
        kms_key_name=as_input(key),
        initial_replication=follows,
        # Google Cloud refuses to delete it, too.
        deletion_protection_enabled=request.args.retain,
        labels={"tensorplane-volume": request.name},
        opts=pulumi.ResourceOptions.merge(static.beneath(opts), pulumi.ResourceOptions(provider=native.provider)),
    )


def _zone(request: Request, cluster: GkeSettings) -> str:
    return request.args.placement.zones[0] if request.args.placement else cluster.usual_zones[0]


def _id(name: str, cluster: GkeSettings) -> str:
    return short_name(f"{cluster.cluster_name}-{name}", _ID_LIMIT)
