"""Volumes whose snapshots are of one instant: one schedule for all of them, and whether they can have it."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from components.cluster import ClusterArgs
from components.faults import Fault
from components.volume.snapshot_schedule import NAME_LIMIT
from snapshotter import manifest

if TYPE_CHECKING:
    from components.volume import VolumeArgs

LABEL = manifest.VOLUME_GROUP
"""By which the snapshot controller finds the claims of a group."""


def groups(volumes: Mapping[str, "VolumeArgs"]) -> dict[str, list[str]]:
    """The names of each group's volumes, in the order of the settings."""
    found: dict[str, list[str]] = {}
    for name, args in volumes.items():
        if args.snapshots and args.snapshots.group:
            found.setdefault(args.snapshots.group, []).append(name)
    return found


def faults(volumes: Mapping[str, "VolumeArgs"], names: set[str], cluster: ClusterArgs) -> Iterator[Fault]:
    """What of each group does not go together. `names` are those of all volumes, right or wrong."""
    for group, members in groups(volumes).items():
        first, *others = members
        path = ("volumes", first, "snapshots", "group")
        if group in names:
            yield Fault(path, f"got {group}, the name of a volume, whose snapshots it would share: need another")
        if len(group) > NAME_LIMIT:
            yield Fault(path, f"the name has {len(group)} characters, at most {NAME_LIMIT}")
        for name in others:
            yield from _differences(group, first, name, volumes, cluster)


def _differences(
    group: str, first: str, name: str, volumes: Mapping[str, "VolumeArgs"], cluster: ClusterArgs
) -> Iterator[Fault]:
    given = (("volumes", first),)
    at = ("volumes", name, "snapshots")
    one, other = volumes[first].snapshots, volumes[name].snapshots
    for key in ("schedule", "keep", "expire"):
        mine, theirs = getattr(other, key), getattr(one, key)
        if mine != theirs:
            need = f"volume {first} of group {group} has {theirs or 'none'}: a group has one"
            yield Fault((*at, key), f"{f'got {mine}' if mine else 'missing'}, {need}", given=given)
    ours, shared = (volumes[which].backend_on(cluster).group_class for which in (name, first))
    if ours and shared and ours != shared:
        reason = f"got {group}, and volume {first} of it is kept elsewhere: one driver takes them, of one file system"
        yield Fault((*at, "group"), reason, given=given)
