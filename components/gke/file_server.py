"""A Filestore server that is mirrored: it, the server in another region that follows it, and the claim on it.

The driver makes those without a mirror. It knows no replication, so both servers are made here.
"""

from typing import TYPE_CHECKING

import pulumi
import pulumi_gcp as gcp
import pulumi_kubernetes as k8s

from components import catalog
from components.cluster.gke import Gke
from components.gke import names
from components.gke.native import Native
from components.volume import static
from components.volume.backend import Request

if TYPE_CHECKING:
    from components.volume.backends.filestore import Filestore

_SHARE = "volume"
_ID_LIMIT = 63
_CONNECT = {"directPeering": "DIRECT_PEERING", "privateServiceAccess": "PRIVATE_SERVICE_ACCESS"}


def claim(args: "Filestore", request: Request, opts: pulumi.ResourceOptions) -> k8s.core.v1.PersistentVolumeClaim:
    """Both servers, protected as the claim is, and a claim that is bound to the one here."""
    cluster = request.cluster.args
    assert isinstance(cluster, Gke)  # noqa: S101  # for mypy: the backend is GKE's alone
    assert request.args.mirror and request.args.mirror.to.region  # noqa: S101  # for mypy: who calls this asks
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
        {"role": "STANDBY", "replicas": [{"peer_instance": active.id}]},
    )
    where: k8s.core.v1.PersistentVolumeSpecArgsDict = {
        "csi": {
            "driver": "filestore.csi.storage.gke.io",
            "volume_handle": f"modeInstance/{here}/{_id(name, cluster)}/{_SHARE}",
            "volume_attributes": {"ip": active.networks[0].ip_addresses[0], "volume": _SHARE},
        }
    }
    return static.claim(request, opts, where)


def _server(
    name: str,
    location: str,
    args: "Filestore",
    request: Request,
    key: str | None,
    opts: pulumi.ResourceOptions,
    follows: gcp.filestore.InstanceInitialReplicationArgsDict | None = None,
) -> gcp.filestore.Instance:
    cluster, native = request.cluster.args, request.cluster.native
    assert isinstance(cluster, Gke)  # noqa: S101  # for mypy: the backend is GKE's alone
    assert isinstance(native, Native)  # noqa: S101  # for mypy: likewise
    return gcp.filestore.Instance(
        name,
        name=_id(name, cluster),
        location=location,
        tier=args.tier.upper(),
        file_shares={"name": _SHARE, "capacity_gb": int(request.args.size_gib)},
        networks=[
            {
                "network": args.network or cluster.cluster_name,
                "modes": ["MODE_IPV4"],
                "connect_mode": _CONNECT[args.connection],
            }
        ],
        kms_key_name=key,
        initial_replication=follows,
        # Google itself refuses to delete it as well.
        deletion_protection_enabled=request.args.retain,
        labels={"tensorplane-volume": request.name},
        opts=pulumi.ResourceOptions.merge(static.beneath(opts), pulumi.ResourceOptions(provider=native.provider)),
    )


def _zone(request: Request, cluster: Gke) -> str:
    return request.args.placement.zones[0] if request.args.placement else cluster.usual_zones[0]


def _id(name: str, cluster: Gke) -> str:
    return names.short(f"{cluster.cluster_name}-{name}", _ID_LIMIT)
