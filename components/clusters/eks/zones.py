"""Zones of a node group's nodes."""

from tensorplane.components import catalog
from tensorplane.components.clusters.eks.placement import uses_efa
from tensorplane.components.clusters.eks.settings import EksSettings
from tensorplane.components.node_groups.shape import Shape


def zones_of(shape: Shape, args: EksSettings) -> tuple[str, ...]:
    """Zones of the cluster for the group's nodes; empty if none sells the machine."""
    zones = tuple(shape.args.zones) or args.subnet_zones
    selling = catalog.sold("eks", shape.machine, args.region) if shape.machine else None
    if selling:
        zones = tuple(zone for zone in zones if zone in selling)
    return zones[:1] if uses_efa(shape) else zones
