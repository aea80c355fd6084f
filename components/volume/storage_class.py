"""Volumes of any StorageClass that the cluster has."""

from typing import Literal

import pulumi
import pulumi_kubernetes as k8s

from components.model import Filled
from components.volume import Backend, Request


class StorageClass(Backend):
    """A volume that the cluster's own driver provisions. Its reclaim policy decides what deleting the claim deletes."""

    kind: Literal["storageClass"] = "storageClass"

    name: Filled | None = None
    """Name of the StorageClass; the cluster's default class where absent."""

    def provision(self, request: Request, opts: pulumi.ResourceOptions) -> k8s.core.v1.PersistentVolumeClaim:
        return request.claim(opts, storage_class=self.name)
