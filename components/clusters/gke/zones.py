"""Zones of a node group's nodes."""

from tensorplane.components import catalog
from tensorplane.components.clusters.gke.settings import GkeSettings
from tensorplane.components.node_groups.shape import Shape

_UNKNOWN_ZONES = 3


def zones_of(shape: Shape, args: GkeSettings) -> tuple[str, ...]:
    """The group's zones: those it names, or those of the cluster that sell its machine. None where unknown."""
    if shape.args.zones:
        return shape.args.zones
    selling = catalog.sold("gke", shape.machine, args.region) if shape.machine else None
    if selling is None:
        return args.usual_zones
    # Accelerators are scarce, so all zones that have them are used.
    usual = args.zones or (catalog.zones("gke", args.region) if shape.accelerator else args.usual_zones)
    return tuple(zone for zone in usual if zone in selling)


def begin(shape: Shape, args: GkeSettings) -> tuple[tuple[str, ...], int]:
    """Initial zones of the group's node pool, and the number of nodes in each.

    GKE starts with the same number in each zone, and its autoscaler does not fill a pool up to its minimum without pods
    (cloud.google.com/kubernetes-engine/docs/how-to/cluster-autoscaler#node_pool_size_mismatching). An
    additional machine is cheap, unless it has accelerators: such a group without `zones` starts with at most `min`.
    """
    zones, least, most = zones_of(shape, args), shape.args.min, shape.args.max
    if least and not (shape.accelerator or shape.args.zones):
        zones = zones[:most]
    spread = len(zones) or _UNKNOWN_ZONES
    each = -(-least // spread)
    fits = each * spread <= (least if shape.accelerator and not shape.args.zones else most)
    return zones, each if fits else least // spread


def one_zone(shape: Shape, args: GkeSettings) -> bool:
    """Whether all nodes of the group must be in one zone."""
    return bool(shape.args.reserved or shape.args.topology or joins_gpudirect(shape))


def joins_gpudirect(shape: Shape) -> bool:
    """Whether GKE can connect the group's GPUs by a network of their own (a3-megagpu and newer), inside one zone."""
    return shape.machine is not None and shape.machine.gpudirect in ("RDMA", "TCPXO")


def has_gpudirect(shape: Shape, args: GkeSettings) -> bool:
    """Whether GKE creates that network for the group's node pool."""
    return shape.args.provisioner == "group" and joins_gpudirect(shape) and len(zones_of(shape, args)) == 1
