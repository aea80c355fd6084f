"""Check that no two volumes would create Kubernetes objects or cloud resources of the same name."""

from collections.abc import Iterator, Mapping

from components.base.problems import Problem
from components.clusters.settings import ClusterArgs
from components.volumes import storage_class_per_volume
from components.volumes.mirrors import volsync
from components.volumes.settings import VolumeArgs


def find_problems(volumes: Mapping[str, VolumeArgs], cluster: ClusterArgs) -> Iterator[Problem]:
    """One line for each name that two volumes would share."""
    taken: dict[tuple[str, str], str] = {}
    for name, args in volumes.items():
        for what, made in _made(name, args, cluster):
            if (other := taken.setdefault((what, made), name)) != name:
                reason = f"its {what} would be {made}, as that of volume {other}; use another name"
                yield Problem(("volumes", name), reason, given=(("volumes", other),))


def _made(name: str, args: VolumeArgs, cluster: ClusterArgs) -> Iterator[tuple[str, str]]:
    """Kinds and names of a volume's objects that can collide with those of another volume."""
    backend = args.backend_on(cluster)
    yield "claim", name
    copied = args.mirror and args.mirror.to.by_volsync and backend.mirror_class
    if copied:
        yield "claim", volsync.claim_of_copy(name)
    if backend.class_per_volume and backend.snapshot_class:
        yield "StorageClass", name
        if copied:
            yield "StorageClass", storage_class_per_volume.copies(name)
    yield from backend.makes(name, args)
