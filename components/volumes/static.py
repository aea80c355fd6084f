"""Static provisioning: a PersistentVolume for storage that no driver created, and the claim that is bound to it."""

from __future__ import annotations

from collections.abc import Sequence

from tensorplane.components.base import quantities
from tensorplane.components.base.labels import labels
from tensorplane.components.base.sdk import k8s, pulumi
from tensorplane.components.volumes.backend import Request


def claim(
    request: Request,
    opts: pulumi.ResourceOptions,
    volume_spec: k8s.core.v1.PersistentVolumeSpecArgsDict,
    *,
    depends_on: Sequence[pulumi.Resource] = (),
) -> k8s.core.v1.PersistentVolumeClaim:
    """The PersistentVolume and its claim. `volume_spec`: its source and mount options.

    Kubernetes cannot resize such storage; `sizeGib` only matches claim and volume.
    """
    name = f"{request.namespace.plain_name}-{request.name}"
    spec: k8s.core.v1.PersistentVolumeSpecArgsDict = {
        "capacity": {"storage": quantities.gibibytes(request.args.size_gib)},
        "access_modes": request.access_modes,
        "persistent_volume_reclaim_policy": "Retain",
        # Reserved for this claim: no other claim can be bound to it.
        "claim_ref": {
            "api_version": "v1",
            "kind": "PersistentVolumeClaim",
            "namespace": request.namespace.name,
            "name": request.name,
        },
        **volume_spec,
    }
    volume = k8s.core.v1.PersistentVolume(
        name,
        metadata={"name": name, "labels": labels(request.name, "volume")},
        spec=spec,
        opts=pulumi.ResourceOptions.merge(
            beneath(opts),
            pulumi.ResourceOptions(depends_on=[*request.installed, *depends_on], ignore_changes=["spec.capacity"]),
        ),
    )
    fixed = pulumi.ResourceOptions.merge(opts, pulumi.ResourceOptions(ignore_changes=["spec.resources"]))
    return request.claim(fixed, storage_class="", volume=volume.metadata["name"])


def beneath(opts: pulumi.ResourceOptions) -> pulumi.ResourceOptions:
    """The claim's options for its storage resources: same protection, without the claim's hooks."""
    return pulumi.ResourceOptions(parent=opts.parent, protect=opts.protect, retain_on_delete=opts.retain_on_delete)
