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
    usual = args.zones or (catalog.zones("gke", args.region) if shape.accelerator else args.usual_zones)
    return tuple(zone for zone in usual if zone in selling)


def begin(shape: Shape, args: "Gke") -> tuple[tuple[str, ...], int]:
    """The zones of the group's node pool, and how many nodes it begins with in each of them.

    GKE begins with the same number everywhere, and its autoscaler fills no pool up to its minimum unless pods wait:
    what is always there has to be there from the start. Zones that no setting names are as many as that allows.
    """
    zones, least, most = zones_of(shape, args), shape.args.min, shape.args.max
    if least and zones and not shape.args.zones:
        counts = range(min(len(zones), most), 0, -1)
        # A machine too many is cheap, unless it has accelerators: of those, there are `min` and no more.
        zones = zones[: next(n for n in counts if least % n == 0 or not shape.accelerator)]
    spread = len(zones) or _UNKNOWN_ZONES
    each = -(-least // spread)
    return zones, each if each * spread <= most else least // spread


def one_zone(shape: Shape, args: "Gke") -> bool:
    """Whether all nodes of the group have to be in one zone."""
    return bool(shape.args.reserved or shape.args.topology or joins_gpudirect(shape))


def joins_gpudirect(shape: Shape) -> bool:
    """Whether GKE can join the group's GPUs to a network of their own (a3-megagpu and newer), inside one zone."""
    return shape.machine is not None and shape.machine.gpudirect in ("RDMA", "TCPXO")
