"""AWS regions in a volume's settings: they exist, and a mirror's is not the cluster's own."""

from collections.abc import Iterator

from components import catalog
from components.base.problems import Key, Problem, did_you_mean
from components.clusters.settings import ClusterArgs
from components.volumes.base_settings import VolumeSettings

_MIRROR = ("mirror", "to", "region")


def find_problems(region: str, path: Key) -> Iterator[Problem]:
    """A region that AWS does not have."""
    known = catalog.regions("eks")
    if known and region not in known:
        yield Problem(
            path, f"unknown region {region!r}; choose one of {', '.join(sorted(known))}{did_you_mean(region, known)}"
        )


def of_mirror(args: VolumeSettings, cluster: ClusterArgs) -> Iterator[Problem]:
    """Problems of a mirror's region. Paths are relative to the volume."""
    region = args.mirror.to.region if args.mirror else None
    if region and region == cluster.catalog_region:
        yield Problem(_MIRROR, f"{region} is the region of the volume itself; choose another region")
    elif region:
        yield from find_problems(region, _MIRROR)
