"""Where a workload's pods see volumes, and places on them: settings, their checks, and the pod's mounts."""

from collections.abc import Iterator, Mapping
from typing import Annotated, Any

from pydantic import AfterValidator, model_validator

from components.faults import Fault, Key, unknown_name
from components.model import Model, RelativePath, refuse
from components.volume import Volume, VolumeArgs, access
from workloads.pod import RESERVED, VolumeMount


def _mount_path(value: str) -> str:
    parts = value.split("/")
    if parts[0] or len(parts) < 2 or any(part in ("", ".", "..") for part in parts[1:]) or ":" in value:
        refuse("an absolute path such as /models")
    if any(f"{value}/".startswith(f"{taken}/") or taken.startswith(f"{value}/") for taken in RESERVED):
        refuse(f"a path neither inside nor around {', '.join(RESERVED)}")
    return value


class MountArgs(Model):
    """Where a volume appears in the pods. The path alone will do: `models: /models`."""

    path: Annotated[str, AfterValidator(_mount_path)]
    """Absolute path in the pods."""
    read_only: bool = False
    """Mount it without the right to write."""

    @model_validator(mode="before")
    @classmethod
    def _path_alone(cls, value: Any) -> Any:
        return {"path": value} if isinstance(value, str) else value


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
    mounts: Mapping[str, MountArgs], at: Key, declared: Mapping[str, VolumeArgs | None], *, account: str
) -> Iterator[Fault]:
    """Volumes that nobody declared or that are closed to this workload, and two volumes in one place."""
    seen: dict[str, str] = {}
    for volume, mount in mounts.items():
        yield from check_volume(volume, (*at, volume), declared)
        yield from check_access(account, volume, (*at, volume), declared, read_only=mount.read_only)
        other = seen.setdefault(mount.path, volume)
        if other != volume:
            yield Fault((*at, volume), f"{mount.path} is already where volume {other} is mounted, need another path")


def check_location(
    location: Location, at: Key, mounts: Mapping[str, MountArgs], declared: Mapping[str, VolumeArgs | None]
) -> Iterator[Fault]:
    """A place to write must be on a volume that the pods mount, and may write."""
    if location.volume not in declared:
        yield unknown_name((*at, "volume"), "volume", location.volume, declared)
    elif location.volume not in mounts:
        reason = f"volume {location.volume} is not mounted here, add it to `volumes`"
        yield Fault((*at, "volume"), reason, given=((*at[:-1], "volumes"),))
    elif mounts[location.volume].read_only:
        yield Fault((*at, "volume"), f"volume {location.volume} is mounted read-only here, so nothing can be written")


def inside(location: Location, mounts: Mapping[str, MountArgs]) -> str:
    """The path at which pods see a place."""
    return f"{mounts[location.volume].path}/{location.path}"


def of(mounts: Mapping[str, MountArgs], volumes: Mapping[str, Volume]) -> list[VolumeMount]:
    """The pod's mounts, in an order that does not depend on the file's."""
    return [
        VolumeMount(volumes[name].claim_name, mount.path, mount.read_only, volumes[name].one_node)
        for name, mount in sorted(mounts.items())
    ]
