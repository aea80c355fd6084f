"""A StorageClass of a volume's own: what a driver is told about the one volume that it makes for it."""

from collections.abc import Mapping, Sequence

import pulumi
import pulumi_kubernetes as k8s

from components.base import names
from components.base.labels import ZONE, labels
from components.namespace import Namespace
from components.volumes.backend import Request


def secret(use: str, name: str, namespace: str) -> dict[str, str]:
    """How a class tells Kubernetes which Secret the driver gets for one use, such as `provisioner`."""
    key = f"csi.storage.k8s.io/{use}-secret"
    return {f"{key}-name": name, f"{key}-namespace": namespace}


def of_copies(namespace: Namespace, volume: str) -> str:
    """The class of the copies of a volume that come and go: the same as its own, but that nothing is retained."""
    return f"{namespace.plain_name}-{copies(volume)}"


def copies(volume: str) -> str:
    """Its name without that of the namespace."""
    return f"{volume}-copies"


def claim(
    request: Request,
    opts: pulumi.ResourceOptions,
    *,
    provisioner: str,
    parameters: Mapping[str, str],
    zone_key: str = ZONE,
    zones: Sequence[str] | None = None,
    mount_options: Sequence[str] = (),
    known_later: Mapping[str, pulumi.Output[str]] | None = None,
    needed: Sequence[pulumi.Resource] = (),
) -> "k8s.core.v1.PersistentVolumeClaim":
    """The class and its claim. A class never changes, so it is named by its content, and another one is a new volume.

    The bytes outlive the claim where the volume was retained when it was made: what `retain` says later is what the
    engine may do with the claim, and no reason for another volume. `zones` are those of the volume's placement, as the
    driver spells them. `known_later` are parameters that only the cloud knows; they are no part of the name.
    """
    if zones is None:
        zones = request.args.placement.zones if request.args.placement else ()
    digest = names.digest_of([provisioner, dict(parameters), list(zones), list(mount_options)])
    logical = f"{request.namespace.plain_name}-{request.name}"
    topologies: list[k8s.core.v1.TopologySelectorTermArgsDict] | None = (
        [{"match_label_expressions": [{"key": zone_key, "values": list(zones)}]}] if zones else None
    )

    def create(name: str, full_name: str, keeps: str) -> k8s.storage.v1.StorageClass:
        return k8s.storage.v1.StorageClass(
            name,
            metadata={"name": full_name, "labels": labels(request.name, "volume")},
            provisioner=provisioner,
            parameters={**parameters, **(known_later or {})},
            reclaim_policy=keeps,
            # The zone of the first pod that mounts it.
            volume_binding_mode="WaitForFirstConsumer",
            allow_volume_expansion=True,
            mount_options=list(mount_options) or None,
            allowed_topologies=topologies,
            opts=pulumi.ResourceOptions(
                parent=opts.parent, depends_on=[*request.installed, *needed], ignore_changes=["reclaimPolicy"]
            ),
        )

    made = create(logical, f"{logical}-{digest}", "Retain" if request.args.retain else "Delete")
    if request.copied:
        # A retained copy of every quarter of an hour would fill any disk.
        create(copies(logical), of_copies(request.namespace, request.name), "Delete")
    return request.claim(opts, storage_class=made.metadata["name"])
