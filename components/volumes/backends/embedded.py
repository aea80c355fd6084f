"""Volumes of the embedded cluster, in its storage pool on this machine."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, Literal

from tensorplane.components.base.labels import labels
from tensorplane.components.base.sdk import k8s, pulumi
from tensorplane.components.volumes import capabilities
from tensorplane.components.volumes.backend import Backend, Request
from tensorplane.components.volumes.base_settings import VolumeSettings
from tensorplane.components.volumes.capabilities import AccessMode, Capabilities

CLASS = "tensorplane-embedded"
"""The StorageClass of the embedded cluster."""
DRIVER = "btrfs.csi.tensorplane.dev"
UNMIRRORED = "tensorplane-unmirrored"
"""The VolumeAttributesClass of volumes without a mirror; the embedded cluster also has it."""
_USUAL_SECONDS = 15 * 60


class Embedded(Backend):
    """A part of this machine's storage pool. All pods can share it."""

    kind: Literal["embedded"] = "embedded"
    untried: ClassVar[str] = ""

    access_modes: ClassVar[tuple[AccessMode, ...]] = ("ReadWriteMany",)
    clusters: ClassVar[frozenset[str] | None] = frozenset({"embedded"})
    not_found_means_lost: ClassVar[bool] = True
    class_per_volume: ClassVar[bool] = False
    capabilities: ClassVar[Capabilities] = Capabilities(
        access_modes=("ReadWriteOnce", "ReadWriteMany", "ReadOnlyMany"),
        snapshot=capabilities.CSI,
        clone=capabilities.CSI,
        mirror={"pool": "btrfs send"},
        failover="`from.mirrorOf`",
        expand=True,
        mount_scope="node",
        supports_teams=True,
        quota="btrfs",
        consistency="crash-consistent",
        throughput_depends_on="this machine's disk",
        volsync=False,
    )

    @property
    def csi_driver(self) -> str | None:
        return DRIVER

    def makes(self, name: str, args: VolumeSettings) -> Iterator[tuple[str, str]]:
        if args.source and args.source.mirror_of:
            yield "StorageClass", _name_of_copy(name, args.source.mirror_of)

    def provision(self, request: Request, opts: pulumi.ResourceOptions) -> k8s.core.v1.PersistentVolumeClaim:
        origin = request.args.source.mirror_of if request.args.source else None
        if origin is None:
            # If `from` named a mirror before, the claim keeps the class of that copy.
            opts = pulumi.ResourceOptions.merge(opts, pulumi.ResourceOptions(ignore_changes=["spec.storageClassName"]))
        return request.claim(
            opts,
            storage_class=_class_of_copy(request, origin, opts) if origin else CLASS,
            attributes_class=_mirrored(request, opts) if request.args.mirror else UNMIRRORED,
        )


def _mirrored(request: Request, opts: pulumi.ResourceOptions) -> pulumi.Output[str]:
    """The VolumeAttributesClass with the mirror interval. A change of the interval changes the claim's class."""
    seconds = (request.args.mirror and request.args.mirror.every_seconds) or _USUAL_SECONDS
    made = k8s.storage.v1.VolumeAttributesClass(
        f"{request.namespace.plain_name}-{request.name}-every-{seconds}s",
        # Auto-named and never deleted: Kubernetes does not delete a class while a volume has it, and a retained volume
        # keeps it forever.
        metadata={"labels": labels(request.name, "volume")},
        driver_name=DRIVER,
        parameters={"mirrorSeconds": str(seconds)},
        opts=pulumi.ResourceOptions(parent=opts.parent, depends_on=list(request.installed), retain_on_delete=True),
    )
    return made.metadata["name"]


def _class_of_copy(request: Request, origin: str, opts: pulumi.ResourceOptions) -> pulumi.Output[str]:
    """A class like the default one, with which the volume starts as the newest copy of the origin."""
    logical = f"{request.namespace.plain_name}-{request.name}"
    made = k8s.storage.v1.StorageClass(
        logical,
        metadata={"name": _name_of_copy(logical, origin), "labels": labels(request.name, "volume")},
        provisioner=DRIVER,
        parameters={"mirrorOf": origin},
        reclaim_policy="Retain",
        volume_binding_mode="Immediate",
        allow_volume_expansion=True,
        opts=pulumi.ResourceOptions(parent=opts.parent, depends_on=list(request.installed)),
    )
    return made.metadata["name"]


def is_of_mirror(storage_class: str, origin: str) -> bool:
    """Whether volumes of a StorageClass start with the copy of a mirror."""
    return storage_class.endswith(_name_of_copy("", origin))


def _name_of_copy(volume: str, origin: str) -> str:
    return f"{volume}-of-mirror-of-{origin}"
