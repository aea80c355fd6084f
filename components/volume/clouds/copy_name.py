"""The name of a volume's copy in another region, beside its own."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from components.volume import VolumeArgs


def both(what: str, name: str, args: "VolumeArgs") -> Iterator[tuple[str, str]]:
    """Kind and name of what a volume is in the cloud, and of its copy where it has one."""
    yield what, name
    if args.mirror and args.mirror.to.region:
        yield what, f"{name}-mirror"
