"""Whether the zones of a volume's placement are the cluster's."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from components import catalog
from components.cluster import ClusterArgs
from components.cluster.aks import Aks
from components.cluster.eks import Eks
from components.cluster.gke import Gke
from components.eks import placement
from components.faults import Fault, did_you_mean
from components.gke import places
from components.node_group import Shape

if TYPE_CHECKING:
    from components.volume import VolumeArgs


def of(cluster: ClusterArgs) -> tuple[str, ...]:
    """The zones in which the cluster has nodes, or may have them; none where nobody can know."""
    if isinstance(cluster, Aks):
        return catalog.zones("aks", cluster.region)
    if isinstance(cluster, Eks):
        return cluster.subnet_zones
    return cluster.usual_zones if isinstance(cluster, Gke) else ()


def of_group(shape: Shape, cluster: ClusterArgs) -> tuple[str, ...]:
    """The zones in which a group's nodes may be; none where nobody knows."""
    if isinstance(cluster, Eks):
        return placement.zones_of(shape, cluster.subnet_zones, cluster.region)
    if isinstance(cluster, Gke):
        return places.zones_of(shape, cluster)
    return shape.args.zones or (cluster.default_zones if isinstance(cluster, Aks) else ())


def faults(args: "VolumeArgs", cluster: ClusterArgs, *, at_most: int | None = None) -> Iterator[Fault]:
    """Zones that the cluster has not, where no pod could mount the volume. Paths begin at the volume."""
    path = ("placement", "zones")
    asked = args.placement.zones if args.placement else ()
    have = of(cluster)
    for zone in asked:
        if have and zone not in have:
            reason = f"got {zone}, the cluster is in {', '.join(have)}{did_you_mean(zone, have)}"
            yield Fault(path, reason, given=(("cluster", "region"), ("cluster", "zones")))
    if at_most is not None and len(asked) > at_most:
        yield Fault(path, f"got {len(asked)} zones, this backend is in {at_most}")
