"""The cluster's default StorageClass: encrypted EBS volumes. EKS has the driver, but creates no class."""

from __future__ import annotations

import pulumi
import pulumi_kubernetes as k8s

from tensorplane.components.base.labels import TENSORPLANE
from tensorplane.components.clusters.eks.context import Context

NAME = "gp3"


def storage_class(context: Context, provider: k8s.Provider) -> k8s.storage.v1.StorageClass:
    """Expandable disks in the zone of the first pod."""
    return k8s.storage.v1.StorageClass(
        f"{context.name}-{NAME}",
        metadata={
            "name": NAME,
            "labels": TENSORPLANE,
            "annotations": {"storageclass.kubernetes.io/is-default-class": "true"},
        },
        provisioner="ebs.csi.aws.com",
        parameters={"type": "gp3", "encrypted": "true"},
        volume_binding_mode="WaitForFirstConsumer",
        allow_volume_expansion=True,
        opts=pulumi.ResourceOptions(parent=context.opts.parent, provider=provider),
    )
