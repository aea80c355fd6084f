"""What is wrong with the names of volumes side by side: objects, or resources of a cloud, that come to one name."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from components.cluster import ClusterArgs
from components.faults import Fault
from components.volume import own_class, volsync

if TYPE_CHECKING:
    from components.volume import VolumeArgs


def faults(volumes: Mapping[str, "VolumeArgs"], cluster: ClusterArgs) -> Iterator[Fault]:
    """A line for each name that two volumes come to."""
    taken: dict[tuple[str, str], str] = {}
    for name, args in volumes.items():
        for what, made in _made(name, args, cluster):
            if (other := taken.setdefault((what, made), name)) != name:
                reason = f"its {what} {made} is volume {other}'s too, need another name"
                yield Fault(("volumes", name), reason, given=(("volumes", other),))


def _made(name: str, args: "VolumeArgs", cluster: ClusterArgs) -> Iterator[tuple[str, str]]:
    """Kinds and names of what a volume comes to, as far as another volume's may be the same."""
    backend = args.backend_on(cluster)
    yield "claim", name
    copied = args.mirror and args.mirror.to.by_volsync and volsync.copies(backend)
    if copied:
        yield "claim", volsync.claim_of_copy(name)
    if backend.own_class and backend.snapshot_class:
        yield "StorageClass", name
        if copied:
            yield "StorageClass", own_class.copies(name)
    yield from backend.makes(name, args)
