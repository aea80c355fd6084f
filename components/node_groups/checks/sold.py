"""Checks that the region and zones of a node group sell its machine."""

from collections.abc import Iterator

from components import catalog
from components.base.problems import Key, Problem, did_you_mean
from components.catalog import Machine
from components.node_groups.cluster_properties import ClusterProperties
from components.node_groups.settings import NodeGroupArgs


def find_problems(
    path: Key, args: NodeGroupArgs, machines: tuple[Machine, ...], cluster: ClusterProperties
) -> Iterator[Problem]:
    if cluster.cloud is None or cluster.region is None:
        return
    known = catalog.zones(cluster.cloud, cluster.region)
    for zone in args.zones if known else ():
        if zone not in known:
            reason = (
                f"{cluster.region} has no zone {zone!r}; choose one of {', '.join(known)}{did_you_mean(zone, known)}"
            )
            yield Problem((*path, "zones"), reason)
    if not machines:
        return
    key = (*path, "machine" if args.machine else "accelerator")
    name = machines[0].name
    selling = catalog.sold(cluster.cloud, machines[0], cluster.region)
    if selling == ():
        others = [r for r in catalog.regions(cluster.cloud) if catalog.sold(cluster.cloud, machines[0], r)]
        elsewhere = f"; it is sold in {', '.join(others[:6])}" if others else ""
        yield Problem(key, f"{name} is not sold in {cluster.region}{elsewhere}", given=(("cluster",),))
    elif selling:
        for zone in args.zones:
            if zone in known and zone not in selling:
                yield Problem(
                    (*path, "zones"), f"{name} is not sold in zone {zone}; it is sold in {', '.join(selling)}"
                )
