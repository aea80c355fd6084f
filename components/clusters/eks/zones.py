"""Which zones a node group's nodes are in."""

from components import catalog
from components.clusters.eks.placement import uses_efa
from components.clusters.eks.settings import EksSettings
from components.node_groups.shape import Shape


def zones_of(shape: Shape, args: EksSettings) -> tuple[str, ...]:
    """The zones of the cluster that the group's nodes may be in; none where none of them sells the machine."""
    zones = tuple(shape.args.zones) or args.subnet_zones
    selling = catalog.sold("eks", shape.machine, args.region) if shape.machine else None
    if selling:
        zones = tuple(zone for zone in zones if zone in selling)
    return zones[:1] if uses_efa(shape) else zones
