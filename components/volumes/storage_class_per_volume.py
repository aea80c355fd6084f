"""A StorageClass for each volume, with the driver's parameters for that volume."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from tensorplane.components.base import names
from tensorplane.components.base.labels import ZONE, labels
from tensorplane.components.base.sdk import k8s, pulumi
from tensorplane.components.volumes.backend import Request

if TYPE_CHECKING:
    from tensorplane.components.namespace.component import Namespace


T = TypeVar("T")


def secret(use: str, name: T, namespace: str) -> dict[str, T | str]:
    """Parameters of a StorageClass that name the driver's Secret for one use, such as `provisioner`."""
    key = f"csi.storage.k8s.io/{use}-secret"
    return {f"{key}-name": name, f"{key}-namespace": namespace}


def of_copies(namespace: Namespace, volume: str) -> str:
    """Name of the class for temporary copies of a volume, which differs from its own in the reclaim policy Delete."""
    return f"{namespace.plain_name}-{copies(volume)}"


def copies(volume: str) -> str:
    """The same without the namespace."""
    return f"{volume}-copies"


def claim(
    request: Request,
    opts: pulumi.ResourceOptions,
    *,
    provisioner: str,
    parameters: Mapping[str, pulumi.Input[str]],
    zone_key: str = ZONE,
    zones: Sequence[str] | None = None,
    mount_options: Sequence[str] = (),
    known_later: Mapping[str, pulumi.Output[str]] | None = None,
    depends_on: Sequence[pulumi.Resource] = (),
) -> k8s.core.v1.PersistentVolumeClaim:
    """The class and its claim. A class is immutable, so its name has a hash of its content; a change is a new volume.

    The reclaim policy follows from `retain` at creation; later changes of `retain` only affect the claim's protection.
    `zones`: those of the volume's placement, in the driver's spelling. `known_later`: parameters that are outputs of
    the backend's own resources; they are not part of the hash.
    """
    if zones is None:
        zones = request.args.placement.zones if request.args.placement else ()
    logical = f"{request.namespace.plain_name}-{request.name}"
    content: Any = [provisioner, dict(parameters), list(zones), list(mount_options)]
    full_name = pulumi.Output.from_input(content).apply(lambda known: f"{logical}-{names.digest_of(known)}")
    topologies: list[k8s.core.v1.TopologySelectorTermArgsDict] | None = (
        [{"match_label_expressions": [{"key": zone_key, "values": list(zones)}]}] if zones else None
    )

    def create(name: str, full_name: pulumi.Input[str], keeps: str) -> k8s.storage.v1.StorageClass:
        return k8s.storage.v1.StorageClass(
            name,
            metadata={"name": full_name, "labels": labels(request.name, "volume")},
            provisioner=provisioner,
            parameters={**parameters, **(known_later or {})},
            reclaim_policy=keeps,
            # In the zone of the first pod that mounts it.
            volume_binding_mode="WaitForFirstConsumer",
            allow_volume_expansion=True,
            mount_options=list(mount_options) or None,
            allowed_topologies=topologies,
            opts=pulumi.ResourceOptions(
                parent=opts.parent, depends_on=[*request.installed, *depends_on], ignore_changes=["reclaimPolicy"]
            ),
        )

    made = create(logical, full_name, "Retain" if request.args.retain else "Delete")
    if request.copied:
        # Temporary copies must not be retained: they would fill the storage.
        create(copies(logical), of_copies(request.namespace, request.name), "Delete")
    return request.claim(opts, storage_class=made.metadata["name"])
