"""Where a workload's pods see volumes, and places on them: settings, their checks, and the pod's mounts."""

from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import model_validator

from components.cluster import ClusterArgs
from components.faults import Fault, Key, unknown_name
from components.model import Model, RelativePath
from components.volume import Volume, VolumeArgs, access, volsync
from components.volume import check as volume_check
from components.volume.mount_path import MountPath
from workloads.pod import VolumeMount


class MountArgs(Model):
    """Where a volume appears in the pods. The path alone will do: `models: /models`."""

    path: MountPath | None = None
    """Absolute path in the pods; by default the `path` of the volume, which is the same in every training pod."""
    read_only: bool = False
    """Mount it without the right to write."""

    @model_validator(mode="before")
    @classmethod
    def _path_alone(cls, value: Any) -> Any:
        return {"path": value} if isinstance(value, str) else {} if value is None else value


class Location(Model):
    """A folder on a volume."""

    volume: str
    """Name of the volume."""
    path: RelativePath
    """Folder, relative to the volume's root. Made when it is first written."""


def check_volume(name: str, at: Key, declared: Mapping[str, VolumeArgs | None]) -> Iterator[Fault]:
    """Whether the settings declare the volume."""
    if name not in declared:
        yield unknown_name(at, "volume", name, declared)


def check_stream(
    name: str, at: Key, declared: Mapping[str, VolumeArgs | None], cluster: ClusterArgs
) -> Iterator[Fault]:
    """Whether the volume is for files: one that holds its stream's records is its broker's."""
    volume = declared.get(name)
    if volume and volume.stream and volume.stream.is_on_the_volume(cluster):
        reason = f"volume {name} holds the records of its stream, read those by `streams`: need another volume"
        yield Fault(at, reason, given=(("volumes", name),))


def check_access(
    account: str, name: str, at: Key, declared: Mapping[str, VolumeArgs | None], *, read_only: bool
) -> Iterator[Fault]:
    """Whether the volume lets the pods of a workload in."""
    volume = declared.get(name)
    if volume and not access.may_mount(volume, account, read_only=read_only):
        lists = "readers or writers" if read_only else "writers"
        reason = f"volume {name} does not let {account} in: add it to the volume's {lists}"
        yield Fault(at, reason, given=(("volumes", name),))


def check(
    mounts: Mapping[str, MountArgs],
    at: Key,
    declared: Mapping[str, VolumeArgs | None],
    cluster: ClusterArgs,
    *,
    account: str,
) -> Iterator[Fault]:
    """Volumes that nobody declared or that are closed to this workload, and two volumes in one place."""
    seen: dict[str, str] = {}
    for volume, mount in mounts.items():
        yield from check_volume(volume, (*at, volume), declared)
        yield from check_access(account, volume, (*at, volume), declared, read_only=mount.read_only)
        if not mount.read_only:
            yield from _no_mirror(volume, (*at, volume), declared)
        yield from check_stream(volume, (*at, volume), declared, cluster)
        if (args := declared.get(volume)) and args.access_modes == ["ReadOnlyMany"] and not mount.read_only:
            reason = f"volume {volume} is for reading alone: say readOnly: true"
            yield Fault((*at, volume), reason, given=(("volumes", volume),))
        own = args.path if (args := declared.get(volume)) else None
        if mount.path and own and mount.path != own:
            reason = f"got {mount.path}, and volume {volume} is at {own} in every pod: leave the path out"
            yield Fault((*at, volume), reason, given=(("volumes", volume),))
        path = mount.path or own
        if path is None:
            if args:
                reason = f"no path, neither here nor in the settings of volume {volume}, need one such as /{volume}"
                yield Fault((*at, volume), reason, given=(("volumes", volume),))
        elif (other := seen.setdefault(path, volume)) != volume:
            yield Fault((*at, volume), f"{path} is already where volume {other} is mounted, need another path")
    yield from _inside_each_other(seen, at)


def _inside_each_other(mounted: Mapping[str, str], at: Key) -> Iterator[Fault]:
    """Volumes, by their paths, of which one is inside another: its folder there would have to be made in the other."""
    for path, volume in mounted.items():
        around = next((other for other in mounted if path.startswith(f"{other}/")), None)
        if around:
            reason = f"{path} is inside {around}, where volume {mounted[around]} is mounted"
            given = ((*at, mounted[around]), ("volumes", volume), ("volumes", mounted[around]))
            yield Fault((*at, volume), f"{reason}; take a path outside it, such as /{volume}", given=given)


def _no_mirror(name: str, at: Key, declared: Mapping[str, VolumeArgs | None]) -> Iterator[Fault]:
    """What is written into a mirror is gone when the next change arrives."""
    volume, sender = declared.get(name), volsync.sender_to(name, declared)
    if sender and sender != name:
        reason = f"volume {name} follows volume {sender}, whose mirror it is: mount it with readOnly: true"
        yield Fault(at, reason, given=(("volumes", sender),))
    elif volume and volume.source and volume.source.mirror:
        reason = f"volume {name} follows a volume of another cluster: mount it with readOnly: true"
        yield Fault(at, reason, given=(("volumes", name),))


def check_location(
    location: Location,
    at: Key,
    mounts: Mapping[str, MountArgs],
    declared: Mapping[str, VolumeArgs | None],
    cluster: ClusterArgs,
) -> Iterator[Fault]:
    """A place for checkpoints or models must be on a volume that the pods mount and may write, and that can rename."""
    if location.volume not in declared:
        yield unknown_name((*at, "volume"), "volume", location.volume, declared)
    elif location.volume not in mounts:
        reason = f"volume {location.volume} is not mounted here, add it to `volumes`"
        here = (*at[:-1], "volumes")
        # A mount of a volume that is not declared may be this one, misspelt.
        given = ((*here, location.volume), *((*here, name) for name in mounts if name not in declared))
        yield Fault((*at, "volume"), reason, given=given, lacks=given[0])
    elif mounts[location.volume].read_only:
        yield Fault((*at, "volume"), f"volume {location.volume} is mounted read-only here, so nothing can be written")
    elif (volume := declared[location.volume]) and not (backend := volume.backend_on(cluster)).renames:
        reason = f"volume {location.volume} is on backend {backend.kind}, which cannot rename what is written"
        need = f"need one on {volume_check.that_rename(cluster)}"
        yield Fault((*at, "volume"), f"{reason}: {need}", given=(("volumes", location.volume),))


def inside(location: Location, mounts: Mapping[str, MountArgs], volumes: Mapping[str, Volume]) -> str:
    """The path at which pods see a place."""
    return f"{_path(location.volume, mounts, volumes)}/{location.path}"


def of(mounts: Mapping[str, MountArgs], volumes: Mapping[str, Volume]) -> list[VolumeMount]:
    """The pod's mounts, in an order that does not depend on the file's."""
    return [
        VolumeMount(
            volumes[name].claim_name,
            _path(name, mounts, volumes),
            mount.read_only,
            volumes[name].one_node,
            volumes[name].marks,
        )
        for name, mount in sorted(mounts.items())
    ]


def _path(name: str, mounts: Mapping[str, MountArgs], volumes: Mapping[str, Volume]) -> str:
    path = mounts[name].path or volumes[name].path
    if path is None:
        raise ValueError(f"volume {name} is mounted without a path: `check` refuses that")
    return path
