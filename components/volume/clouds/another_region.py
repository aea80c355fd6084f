"""Whether a mirror's region is another one of Google Cloud's, and its copy encrypted as the volume is."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from components import catalog
from components.cluster import ClusterArgs
from components.cluster.gke import Gke
from components.faults import Fault, did_you_mean
from components.volume.clouds import google_key

if TYPE_CHECKING:
    from components.volume import VolumeArgs


def faults(args: "VolumeArgs", cluster: ClusterArgs, *, key: str | None, copy_key: str | None) -> Iterator[Fault]:
    """What is wrong with the region, and with the keys of the volume and its copy. Paths begin at the volume."""
    if not isinstance(cluster, Gke):
        return
    if key:
        yield from google_key.faults(key, "kmsKey", cluster.region)
    region = args.mirror.to.region if args.mirror else None
    if region is None:
        if copy_key:
            reason = "given, and there is no copy that it could encrypt: leave it out, or set mirror"
            yield Fault(("backend", "mirrorKmsKey"), reason)
        return
    regions = catalog.regions("gke")
    if region == cluster.region:
        need = "need another region"
        yield Fault(("mirror", "to", "region"), f"got {region}, where the volume is itself: {need}")
    elif regions and region not in regions:
        near = did_you_mean(region, regions)
        yield Fault(("mirror", "to", "region"), f"no region {region!r}, have {', '.join(sorted(regions))}{near}")
    elif copy_key:
        yield from google_key.faults(copy_key, "mirrorKmsKey", region)
    elif key:
        # Silently another key than the one that was asked for would be worse than none.
        reason = f"missing, and kmsKey is given, which is of its own region alone: the key of the copy in {region}"
        yield Fault(("backend", "mirrorKmsKey"), reason, given=(("backend", "kmsKey"),))
