"""A PersistentVolume for storage that is not made by a driver, and the one claim that may bind it."""

from collections.abc import Sequence

import pulumi
import pulumi_kubernetes as k8s

from components.base import quantities
from components.base.labels import labels
from components.volumes.backend import Request


def claim(
    request: Request,
    opts: pulumi.ResourceOptions,
    where: "k8s.core.v1.PersistentVolumeSpecArgsDict",
    *,
    needed: Sequence[pulumi.Resource] = (),
) -> "k8s.core.v1.PersistentVolumeClaim":
    """The volume and its claim. `where` says what is mounted, and how.

    What no driver made has no size that Kubernetes could change: `sizeGib` is what the claim is matched by.
    """
    name = f"{request.namespace.plain_name}-{request.name}"
    spec: k8s.core.v1.PersistentVolumeSpecArgsDict = {
        "capacity": {"storage": quantities.gibibytes(request.args.size_gib)},
        "access_modes": request.access_modes,
        "persistent_volume_reclaim_policy": "Retain",
        # Only this claim may bind it, whatever other claims wait for a volume of this size.
        "claim_ref": {
            "api_version": "v1",
            "kind": "PersistentVolumeClaim",
            "namespace": request.namespace.name,
            "name": request.name,
        },
        **where,
    }
    volume = k8s.core.v1.PersistentVolume(
        name,
        metadata={"name": name, "labels": labels(request.name, "volume")},
        spec=spec,
        opts=pulumi.ResourceOptions.merge(
            beneath(opts),
            pulumi.ResourceOptions(depends_on=[*request.installed, *needed], ignore_changes=["spec.capacity"]),
        ),
    )
    fixed = pulumi.ResourceOptions.merge(opts, pulumi.ResourceOptions(ignore_changes=["spec.resources"]))
    return request.claim(fixed, storage_class="", volume=volume.metadata["name"])


def beneath(opts: pulumi.ResourceOptions) -> pulumi.ResourceOptions:
    """A claim's options for what is below it: kept as it is, without what happens before a claim is deleted."""
    return pulumi.ResourceOptions(parent=opts.parent, protect=opts.protect, retain_on_delete=opts.retain_on_delete)
