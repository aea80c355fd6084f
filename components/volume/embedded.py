"""Volumes of the embedded cluster: a folder of this machine, as a static local PersistentVolume."""

from typing import ClassVar, Literal

import pulumi
import pulumi_kubernetes as k8s

from components import quantity
from components.cluster import embedded
from components.embedded import simulated_nodes
from components.labels import labels
from components.node_group import SIMULATED
from components.volume.backend import Backend, Request
from components.volume.capabilities import AccessMode, Capabilities


class Embedded(Backend):
    """A folder of this machine, `volumes/<namespace>/<name>` in the instance's home. Every pod can share it."""

    kind: Literal["embedded"] = "embedded"

    access_modes: ClassVar[tuple[AccessMode, ...]] = ("ReadWriteMany",)
    clusters: ClassVar[frozenset[str] | None] = frozenset({"embedded"})
    capabilities: ClassVar[Capabilities] = Capabilities(
        access_modes=("ReadWriteOnce", "ReadWriteMany", "ReadOnlyMany"),
        reach="node",
        throughput="this machine's disk",
    )

    def provision(self, request: Request, opts: pulumi.ResourceOptions) -> k8s.core.v1.PersistentVolumeClaim:
        namespace = request.namespace.plain_name
        name = f"{namespace}-{request.name}"
        volume = k8s.core.v1.PersistentVolume(
            name,
            metadata={"name": name, "labels": labels(request.name, "volume")},
            spec={
                "capacity": {"storage": quantity.gibibytes(request.args.size_gib)},
                "access_modes": request.access_modes,
                "persistent_volume_reclaim_policy": "Retain",
                "local": {"path": str(embedded.home() / "volumes" / namespace / request.name)},
                "node_affinity": {"required": {"node_selector_terms": _NODES}},
                # Only this claim may bind it, whatever other claims wait for a volume of this size.
                "claim_ref": {
                    "api_version": "v1",
                    "kind": "PersistentVolumeClaim",
                    "namespace": request.namespace.name,
                    "name": request.name,
                },
            },
            # Where a volume may be is decided when it is made: Kubernetes refuses to change it.
            opts=pulumi.ResourceOptions.merge(opts, pulumi.ResourceOptions(ignore_changes=["spec.nodeAffinity"])),
        )
        # Kubernetes refuses to resize a claim on a static volume. The folder has no limit of its own to change.
        claim_opts = pulumi.ResourceOptions.merge(opts, pulumi.ResourceOptions(ignore_changes=["spec.resources"]))
        return request.claim(claim_opts, storage_class="", volume=volume.metadata["name"])


# The folder is on the one node. A simulated pod reads nothing, so it may "mount" the volume where it is.
_NODES: list[k8s.core.v1.NodeSelectorTermArgsDict] = [
    {"match_expressions": [{"key": key, "operator": "In", "values": [value]}]}
    for key, value in (("kubernetes.io/hostname", embedded.NODE), (SIMULATED, simulated_nodes.TAINT.value))
]
