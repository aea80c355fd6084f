"""Notes about node groups on GKE."""

from collections.abc import Iterator, Mapping

from components.base.problems import Note
from components.clusters.gke import slices
from components.clusters.gke.settings import GkeSettings
from components.clusters.gke.zones import begin, has_gpudirect
from components.node_groups.shape import Shape


def notes(args: GkeSettings, groups: Mapping[str, Shape]) -> Iterator[Note]:
    """Every note."""
    for name, shape in groups.items():
        zones, each = begin(shape, args)
        nodes = each * len(zones)
        if zones and nodes < shape.args.min and slices.machines(shape) == 1:
            found = (
                f"the group starts with {nodes} nodes, because GKE starts equally many in each of its "
                f"{len(zones)} zones"
            )
            rest = "GKE adds the others when pods need them, and keeps them"
            yield Note(
                ("nodeGroups", name, "min"),
                f"{found}; {rest}. List zones that divide {shape.args.min} evenly to start all of them",
            )
        if has_gpudirect(shape, args) and shape.args.max > 1:
            # Google's NCCL plugins for both come from the node and run privileged (docs.cloud.google.com:
            # ai-hypercomputer gke-ai-hypercompute-custom, kubernetes-engine gpu-bandwidth-gpudirect-tcpx).
            reason = "GPUDirect requires privileged pods, which the namespaces of this stack do not allow"
            yield Note(
                ("nodeGroups", name), f"{reason}; jobs of this stack use TCP (docs/gke.md describes the alternatives)"
            )
