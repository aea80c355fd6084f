"""Checks of a mirror's region on Google Cloud, and of the keys of the volume and its copy."""

from collections.abc import Iterator

from components import catalog
from components.base.problems import Problem, did_you_mean
from components.clusters.settings import ClusterArgs
from components.volumes.base_settings import VolumeSettings
from components.volumes.clouds import google_key


def find_problems(
    args: VolumeSettings, cluster: ClusterArgs, *, key: str | None, copy_key: str | None
) -> Iterator[Problem]:
    """Problems of the region and of both keys. Paths are relative to the volume."""
    if key and cluster.catalog_region:
        yield from google_key.find_problems(key, "kmsKey", cluster.catalog_region)
    region = args.mirror.to.region if args.mirror else None
    if region is None:
        if copy_key:
            reason = "is set, but the volume has no mirror; remove it, or set mirror"
            yield Problem(("backend", "mirrorKmsKey"), reason)
        return
    regions = catalog.regions("gke")
    if region == cluster.catalog_region:
        yield Problem(("mirror", "to", "region"), f"{region} is the region of the volume itself; choose another region")
    elif regions and region not in regions:
        near = did_you_mean(region, regions)
        yield Problem(
            ("mirror", "to", "region"), f"unknown region {region!r}; choose one of {', '.join(sorted(regions))}{near}"
        )
    elif copy_key:
        yield from google_key.find_problems(copy_key, "mirrorKmsKey", region)
    elif key:
        # Refused, because the copy would silently use a Google-managed key.
        reason = f"missing, but kmsKey is set and works in its own region only; set a key for the copy in {region}"
        yield Problem(("backend", "mirrorKmsKey"), reason, given=(("backend", "kmsKey"),))
