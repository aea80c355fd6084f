"""Customer-managed Cloud KMS keys of volumes on Google Cloud, and the region of a mirror."""

import re
from collections.abc import Iterator

from tensorplane.components import catalog
from tensorplane.components.base.model import In
from tensorplane.components.base.problems import Problem, did_you_mean
from tensorplane.components.base.produced import known
from tensorplane.components.clusters.settings import ClusterArgs
from tensorplane.components.volumes.base_settings import VolumeSettings

_KEY = re.compile(r"projects/[^/]+/locations/([^/]+)/keyRings/[^/]+/cryptoKeys/[^/]+")


def key_problems(given: In[str], setting: str, region: str) -> Iterator[Problem]:
    """Problem of an invalid key, or of one in another region than the data. Paths are relative to the volume."""
    if (key := known(given)) is None:
        return
    match = _KEY.fullmatch(key)
    if match is None:
        remedy = f"use projects/PROJECT/locations/{region}/keyRings/RING/cryptoKeys/KEY"
        yield Problem(("backend", setting), f"{key!r} is not the id of a Cloud KMS key; {remedy}")
    elif match[1] != region:
        yield Problem(
            ("backend", setting), f"the key is in {match[1]}, but the data is in {region}; use a key of {region}"
        )


def mirror_problems(
    args: VolumeSettings, cluster: ClusterArgs, *, key: In[str] | None, copy_key: In[str] | None
) -> Iterator[Problem]:
    """Problems of the region and of both keys. Paths are relative to the volume."""
    if key and cluster.catalog_region:
        yield from key_problems(key, "kmsKey", cluster.catalog_region)
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
        yield from key_problems(copy_key, "mirrorKmsKey", region)
    elif key:
        # Refused, because the copy would silently use a Google-managed key.
        reason = f"missing, but kmsKey is set and works in its own region only; set a key for the copy in {region}"
        yield Problem(("backend", "mirrorKmsKey"), reason, given=(("backend", "kmsKey"),))
