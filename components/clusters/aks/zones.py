"""Which zones a node group's nodes are in."""

from components.clusters.aks.settings import AksSettings
from components.node_groups.shape import Shape


def zones_of(shape: Shape, args: AksSettings) -> tuple[str, ...]:
    """Zones of a group's nodes. Without any, Azure puts them wherever the location has such machines.

    A pool that asks for a zone without its machine cannot be made, and Azure tells which zones have a size per
    subscription alone (learn.microsoft.com/azure/aks/reliability-availability-zones-configure, limitations).
    """
    if shape.args.zones:
        return shape.args.zones
    return (args.zones or ()) if shape.accelerator else args.default_zones
