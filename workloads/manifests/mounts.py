"""The mounts of a workload's pods, and the paths of places on them."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from workloads.manifests.pod import VolumeMount
from workloads.settings.mounts import Location, MountArgs


@dataclass(frozen=True)
class Mountable:
    """What a pod needs to know of a volume in order to mount it."""

    claim: str
    """Name of the volume's claim in the namespace."""
    path: str | None = None
    """Where pods see it by default."""
    one_node: bool = False
    """Whether only the pods of one node can mount it."""
    labels: Mapping[str, str] = field(default_factory=dict)
    """Labels of pods that mount it."""
    annotations: Mapping[str, str] = field(default_factory=dict)
    """Annotations of pods that mount it."""

    def at(self, path: str, *, read_only: bool) -> VolumeMount:
        """The volume at a path of a pod."""
        return VolumeMount(self.claim, path, read_only, self.one_node, self.labels, self.annotations)


def of(mounts: Mapping[str, MountArgs], volumes: Mapping[str, Mountable]) -> list[VolumeMount]:
    """The pod's mounts, in an order that does not depend on the file's."""
    return [
        volumes[name].at(path_of(name, mounts, volumes), read_only=mount.read_only)
        for name, mount in sorted(mounts.items())
    ]


def inside(location: Location, mounts: Mapping[str, MountArgs], volumes: Mapping[str, Mountable]) -> str:
    """The path at which pods see a place."""
    return f"{path_of(location.volume, mounts, volumes)}/{location.path}"


def path_of(name: str, mounts: Mapping[str, MountArgs], volumes: Mapping[str, Mountable]) -> str:
    """The path at which pods see a volume."""
    path = mounts[name].path or volumes[name].path
    if path is None:
        raise ValueError(f"volume {name} is mounted without a path: the checks refuse that")
    return path
