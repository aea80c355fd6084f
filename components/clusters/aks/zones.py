"""Zones of a node group's nodes."""

from tensorplane.components.clusters.aks.settings import AksSettings
from tensorplane.components.node_groups.shape import Shape


def zones_of(shape: Shape, args: AksSettings) -> tuple[str, ...]:
    """Zones of a group's nodes. Without any, Azure puts them wherever the location has such machines.

    A pool in a zone without its machine cannot be created, and Azure publishes the zones of a size only per
    subscription (learn.microsoft.com/azure/aks/reliability-availability-zones-configure, limitations).
    """
    if shape.args.zones:
        return shape.args.zones
    return (args.zones or ()) if shape.accelerator else args.default_zones
