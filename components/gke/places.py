"""Which zones a node group's nodes are in."""

from typing import TYPE_CHECKING

from components import catalog
from components.node_group import Shape

if TYPE_CHECKING:
    from components.cluster.gke import Gke

_UNKNOWN_ZONES = 3


def zones_of(shape: Shape, args: "Gke") -> tuple[str, ...]:
    """The group's zones: those it names, or those of the cluster that sell its machine. None where unknown."""
    if shape.args.zones:
        return shape.args.zones
    selling = catalog.sold("gke", shape.machine, args.region) if shape.machine else None
    if selling is None:
        return args.usual_zones
    # Accelerators are scarce: every zone that has them is one more to get them from.
    return tuple(zone for zone in _candidates(shape, args) if zone in selling)


def _candidates(shape: Shape, args: "Gke") -> tuple[str, ...]:
    return args.zones or catalog.zones("gke", args.region) if shape.accelerator else args.usual_zones


def zone_count(shape: Shape, args: "Gke") -> int:
    """How many zones the group's nodes are spread over; a region's usual number where they are not known."""
    return len(zones_of(shape, args)) or _UNKNOWN_ZONES


def one_zone(shape: Shape, args: "Gke") -> bool:
    """Whether all nodes of the group have to be in one zone."""
    return bool(shape.args.reserved or shape.args.topology or joins_gpudirect(shape))


def joins_gpudirect(shape: Shape) -> bool:
    """Whether GKE can join the group's GPUs to a network of their own (a3-megagpu and newer), inside one zone."""
    return shape.machine is not None and shape.machine.gpudirect in ("RDMA", "TCPXO")
