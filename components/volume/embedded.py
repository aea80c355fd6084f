"""Volumes of the embedded cluster: a folder of this machine, as a static local PersistentVolume."""

from typing import ClassVar, Literal

import pulumi
import pulumi_kubernetes as k8s

from components import quantity
from components.cluster import embedded
from components.labels import labels
from components.volume import AccessMode, Backend, Request


class Embedded(Backend):
    """A folder of this machine, `volumes/<namespace>/<name>` in the instance's home. Every pod can share it."""

    kind: Literal["embedded"] = "embedded"

    access_modes: ClassVar[tuple[AccessMode, ...]] = ("ReadWriteMany",)
    clusters: ClassVar[frozenset[str] | None] = frozenset({"embedded"})

    def provision(self, request: Request, opts: pulumi.ResourceOptions) -> k8s.core.v1.PersistentVolumeClaim:
        namespace = request.namespace.plain_name
        name = f"{namespace}-{request.name}"
        volume = k8s.core.v1.PersistentVolume(
            name,
            metadata={"name": name, "labels": labels(request.name, "volume")},
            spec={
                "capacity": {"storage": quantity.gibibytes(request.size_gib)},
                "access_modes": request.access_modes,
                "persistent_volume_reclaim_policy": "Retain",
                "local": {"path": str(embedded.home() / "volumes" / namespace / request.name)},
                "node_affinity": {"required": {"node_selector_terms": [{"match_expressions": [_ON_THE_NODE]}]}},
                # Only this claim may bind it, whatever other claims wait for a volume of this size.
                "claim_ref": {
                    "api_version": "v1",
                    "kind": "PersistentVolumeClaim",
                    "namespace": request.namespace.name,
                    "name": request.name,
                },
            },
            opts=opts,
        )
        # Kubernetes refuses to resize a claim on a static volume. The folder has no limit of its own to change.
        claim_opts = pulumi.ResourceOptions.merge(opts, pulumi.ResourceOptions(ignore_changes=["spec.resources"]))
        return request.claim(claim_opts, storage_class="", volume=volume.metadata["name"])


_ON_THE_NODE: k8s.core.v1.NodeSelectorRequirementArgsDict = {
    "key": "kubernetes.io/hostname",
    "operator": "In",
    "values": [embedded.NODE],
}
