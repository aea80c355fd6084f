"""Checks of datasets, beyond their shape."""

from collections.abc import Iterator, Mapping

from tensorplane.components.base.problems import Problem, unknown_name
from tensorplane.components.clusters.settings import ClusterArgs
from tensorplane.components.datasets.settings import DatasetArgs
from tensorplane.components.volumes import checks as volume_checks
from tensorplane.components.volumes.settings import VolumeArgs


def find_problems(
    datasets: Mapping[str, DatasetArgs],
    volumes: Mapping[str, VolumeArgs | None],
    records: Mapping[str, str],
    cluster: ClusterArgs,
) -> Iterator[Problem]:
    """Every problem. `volumes` maps volumes that failed validation to None; `records`: streams on volumes."""
    for name, args in datasets.items():
        yield from _volume(name, args, volumes, records, cluster)
        yield from _table(name, args)
        if args.retention and args.retention.last is None and args.retention.days is None:
            reason = "has neither last nor days, so it would keep everything; set one of them, or remove it"
            yield Problem(("datasets", name, "retention"), reason)
    yield from _together(datasets)


def _volume(
    name: str,
    args: DatasetArgs,
    volumes: Mapping[str, VolumeArgs | None],
    records: Mapping[str, str],
    cluster: ClusterArgs,
) -> Iterator[Problem]:
    at, given = ("datasets", name, "volume"), (("volumes", args.volume),)
    if args.volume not in volumes:
        yield unknown_name(at, "volume", args.volume, volumes)
        return
    if stream := records.get(args.volume):
        reason = f"volume {args.volume} has the records of stream {stream}; choose another volume"
        yield Problem(at, reason, given=(("streams", stream),))
    volume = volumes[args.volume]
    backend = volume.backend_on(cluster) if volume else None
    if volume is None or backend is None or not backend.is_on(cluster):
        return
    if not backend.capabilities.hard_links:
        reason = f"volume {args.volume} is on backend {backend.kind}, which has no hard links, as versions require"
        yield Problem(at, f"{reason}; use a volume on {volume_checks.that_link(cluster)}", given=given)
    elif volume.access_modes == ["ReadOnlyMany"]:
        reason = f"volume {args.volume} is ReadOnlyMany, so nothing can be committed; choose another volume"
        yield Problem(at, reason, given=given)


def _table(name: str, args: DatasetArgs) -> Iterator[Problem]:
    if args.table is None:
        return
    at = ("datasets", name, "table", "partitions")
    for column in args.table.partitions:
        if column in args.table.columns:
            reason = f"{column} is in columns too, but a partition's column is in the path alone; remove one of them"
            yield Problem(at, reason, given=((*at[:-1], "columns"),))
        elif "/" in column or "=" in column:
            yield Problem(at, f"{column!r} cannot be in a path; use a name without / and =")


def _together(datasets: Mapping[str, DatasetArgs]) -> Iterator[Problem]:
    """Problems of a dataset in the folder of another."""
    for name, args in datasets.items():
        mine = args.folder(name)
        others = ((other, one.folder(other)) for other, one in datasets.items() if one.volume == args.volume)
        for other, outer in others:
            if mine.startswith(f"{outer}/") or (mine == outer and other < name):
                reason = f"{mine} is in the folder of dataset {other} ({outer}); use a folder of its own"
                yield Problem(("datasets", name, "path"), reason, given=(("datasets", other),))
                break
