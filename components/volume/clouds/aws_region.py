"""Regions of AWS that a volume's settings name: such as there are, and for a mirror another than the cluster's."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from components import catalog
from components.cluster.eks import Eks
from components.faults import Fault, Key, did_you_mean

if TYPE_CHECKING:
    from components.volume import VolumeArgs

_MIRROR = ("mirror", "to", "region")


def faults(region: str, path: Key) -> Iterator[Fault]:
    """A region that AWS has not."""
    known = catalog.regions("eks")
    if known and region not in known:
        yield Fault(path, f"no region {region!r}, have {', '.join(sorted(known))}{did_you_mean(region, known)}")


def of_mirror(args: "VolumeArgs", cluster: Eks) -> Iterator[Fault]:
    """Whether a copy can be kept where the settings say. Paths begin at the volume."""
    region = args.mirror.to.region if args.mirror else None
    if region == cluster.region:
        yield Fault(_MIRROR, f"got {region}, where the volume is itself: need another region")
    elif region:
        yield from faults(region, _MIRROR)
