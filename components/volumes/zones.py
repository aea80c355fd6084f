"""Checks of the zones of a volume's placement."""

from collections.abc import Iterator

from tensorplane.components.base.problems import Problem, did_you_mean
from tensorplane.components.clusters.settings import ClusterArgs
from tensorplane.components.volumes.base_settings import VolumeSettings


def find_problems(args: VolumeSettings, cluster: ClusterArgs, *, at_most: int | None = None) -> Iterator[Problem]:
    """Problems of zones without nodes, where no pod could mount the volume. Paths are relative to the volume."""
    path = ("placement", "zones")
    wanted = args.placement.zones if args.placement else ()
    have = cluster.node_zones
    for zone in wanted:
        if have and zone not in have:
            reason = f"{zone} is not a zone of the cluster; choose one of {', '.join(have)}{did_you_mean(zone, have)}"
            yield Problem(path, reason, given=(("cluster", "region"), ("cluster", "zones")))
    if at_most is not None and len(wanted) > at_most:
        yield Problem(path, f"lists {len(wanted)} zones, but this backend uses {at_most}; list {at_most}")
