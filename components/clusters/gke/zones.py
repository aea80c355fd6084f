"""Which zones a node group's nodes are in."""

from components import catalog
from components.clusters.gke.settings import GkeSettings
from components.node_groups.shape import Shape

_UNKNOWN_ZONES = 3


def zones_of(shape: Shape, args: GkeSettings) -> tuple[str, ...]:
    """The group's zones: those it names, or those of the cluster that sell its machine. None where unknown."""
    if shape.args.zones:
        return shape.args.zones
    selling = catalog.sold("gke", shape.machine, args.region) if shape.machine else None
    if selling is None:
        return args.usual_zones
    # Accelerators are scarce: every zone that has them is one more to get them from.
    usual = args.zones or (catalog.zones("gke", args.region) if shape.accelerator else args.usual_zones)
    return tuple(zone for zone in usual if zone in selling)


def begin(shape: Shape, args: GkeSettings) -> tuple[tuple[str, ...], int]:
    """The zones that the group's node pool begins in, and with how many nodes in each of them.

    GKE begins with the same number everywhere, and its autoscaler fills no pool up to its minimum unless pods wait
    (cloud.google.com/kubernetes-engine/docs/how-to/cluster-autoscaler#node_pool_size_mismatching). A machine too many
    is cheap, unless it has accelerators: of those, a group that names no zones begins with no more than `min`.
    """
    zones, least, most = zones_of(shape, args), shape.args.min, shape.args.max
    if least and not (shape.accelerator or shape.args.zones):
        zones = zones[:most]
    spread = len(zones) or _UNKNOWN_ZONES
    each = -(-least // spread)
    fits = each * spread <= (least if shape.accelerator and not shape.args.zones else most)
    return zones, each if fits else least // spread


def one_zone(shape: Shape, args: GkeSettings) -> bool:
    """Whether all nodes of the group have to be in one zone."""
    return bool(shape.args.reserved or shape.args.topology or joins_gpudirect(shape))


def joins_gpudirect(shape: Shape) -> bool:
    """Whether GKE can join the group's GPUs to a network of their own (a3-megagpu and newer), inside one zone."""
    return shape.machine is not None and shape.machine.gpudirect in ("RDMA", "TCPXO")


def has_gpudirect(shape: Shape, args: GkeSettings) -> bool:
    """Whether GKE makes that network for the group's node pool."""
    return shape.args.provisioner == "group" and joins_gpudirect(shape) and len(zones_of(shape, args)) == 1
