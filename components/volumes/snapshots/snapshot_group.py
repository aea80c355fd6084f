"""Groups of volumes whose snapshots are taken at the same instant, on one schedule."""

from collections.abc import Iterator, Mapping

from tensorplane.components.base.problems import Problem
from tensorplane.components.clusters.settings import ClusterArgs
from tensorplane.components.volumes.settings import VolumeArgs
from tensorplane.components.volumes.snapshots.snapshot_schedule import NAME_LIMIT


def groups(volumes: Mapping[str, VolumeArgs]) -> dict[str, list[str]]:
    """The names of each group's volumes, in the order of the settings."""
    found: dict[str, list[str]] = {}
    for name, args in volumes.items():
        if args.snapshots and args.snapshots.group:
            found.setdefault(args.snapshots.group, []).append(name)
    return found


def find_problems(volumes: Mapping[str, VolumeArgs], names: set[str], cluster: ClusterArgs) -> Iterator[Problem]:
    """Problems of each group. `names` has the names of all volumes, valid or not."""
    for group, members in groups(volumes).items():
        first, *others = members
        path = ("volumes", first, "snapshots", "group")
        if group in names:
            yield Problem(path, f"{group} is the name of a volume; use another name for the group")
        if len(group) > NAME_LIMIT:
            yield Problem(path, f"the name has {len(group)} characters; shorten it to {NAME_LIMIT}")
        for name in others:
            yield from _differences(group, first, name, volumes, cluster)


def _differences(
    group: str, first: str, name: str, volumes: Mapping[str, VolumeArgs], cluster: ClusterArgs
) -> Iterator[Problem]:
    given = (("volumes", first),)
    at = ("volumes", name, "snapshots")
    first_snapshots, snapshots = volumes[first].snapshots, volumes[name].snapshots
    for key in ("schedule", "keep", "expire"):
        own_value, first_value = getattr(snapshots, key), getattr(first_snapshots, key)
        if own_value != first_value:
            found = f"is {own_value}" if own_value else "missing"
            other_has = f"volume {first} of the same group {group} has {first_value or 'none'}"
            yield Problem((*at, key), f"{found}, but {other_has}; set the same for both", given=given)
    ours, shared = (volumes[which].backend_on(cluster).group_class for which in (name, first))
    if ours and shared and ours != shared:
        reason = f"is {group}, but volume {first} of that group is on another driver or file system; use another group"
        yield Problem((*at, "group"), reason, given=given)
