"""A StorageClass of a volume's own: what a driver is told about the one volume that it makes for it."""

import hashlib
import json
from collections.abc import Mapping, Sequence

import pulumi
import pulumi_kubernetes as k8s

from components.labels import labels
from components.volume.backend import Request

ZONE = "topology.kubernetes.io/zone"


def claim(
    request: Request,
    opts: pulumi.ResourceOptions,
    *,
    provisioner: str,
    parameters: Mapping[str, str],
    zone_key: str = ZONE,
    mount_options: Sequence[str] = (),
) -> k8s.core.v1.PersistentVolumeClaim:
    """The class and its claim. A class never changes, so it is named by its content, and another one is a new volume.

    The bytes outlive the claim where the volume is retained.
    """
    zones = request.args.placement.zones if request.args.placement else ()
    keeps = "Retain" if request.args.retain else "Delete"
    said = json.dumps([provisioner, dict(parameters), zones, keeps, list(mount_options)], sort_keys=True)
    digest = hashlib.sha256(said.encode()).hexdigest()[:8]
    logical = f"{request.namespace.plain_name}-{request.name}"
    made = k8s.storage.v1.StorageClass(
        logical,
        metadata={"name": f"{logical}-{digest}", "labels": labels(request.name, "volume")},
        provisioner=provisioner,
        parameters=dict(parameters),
        reclaim_policy=keeps,
        # The zone of the first pod that mounts it.
        volume_binding_mode="WaitForFirstConsumer",
        allow_volume_expansion=True,
        mount_options=list(mount_options) or None,
        allowed_topologies=[{"match_label_expressions": [{"key": zone_key, "values": list(zones)}]}] if zones else None,
        opts=pulumi.ResourceOptions(parent=opts.parent, depends_on=list(request.installed)),
    )
    return request.claim(opts, storage_class=made.metadata["name"])
