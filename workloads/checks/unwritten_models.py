"""Model servers whose folder no job of the stack writes to: models may come from elsewhere, or a path is mistyped."""

from collections.abc import Iterator, Mapping

from components.base.faults import Key, Note, did_you_mean
from workloads.base import WorkloadArgs


def notes(workloads: Mapping[Key, WorkloadArgs]) -> Iterator[Note]:
    """A note for each server whose folder no job writes to, although jobs write to its volume."""
    written: dict[str, set[str]] = {}
    published = {workload.publishes_to for workload in workloads.values()}
    for workload in workloads.values():
        if place := workload.models_written:
            written.setdefault(place.volume, set()).add(place.path)
    read = [(at, key, place) for at, one in workloads.items() for key, place in one.models_read.items()]
    for at, key, place in read:
        if place.volume not in written or published & {at[-1], f"{at[-1]}/{key[-1]}"}:
            continue
        paths, path = written[place.volume], place.path
        # A job's code may write to other folders on the volume.
        if not any(f"{path}/".startswith(f"{one}/") for one in paths):
            reason = f"no job of the stack writes models to {path} on volume {place.volume}"
            near = did_you_mean(path, paths) or f" (jobs write to {', '.join(sorted(paths))})"
            yield Note((*at, *key, "path"), f"{reason}{near}; the server waits until a model appears there")
