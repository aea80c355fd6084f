"""The cluster's default StorageClass: encrypted EBS disks. EKS has a driver for them, and no class."""

import pulumi
import pulumi_kubernetes as k8s

from components.eks.context import Context
from components.labels import TENSORPLANE

NAME = "gp3"


def storage_class(context: Context, provider: k8s.Provider) -> k8s.storage.v1.StorageClass:
    """Disks of the zone that the first pod runs in, which can grow."""
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
