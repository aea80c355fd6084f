"""Model servers whose folder no job of the stack writes to: models may come from elsewhere, or a path is mistyped."""

from collections.abc import Iterator, Mapping

from components.base.problems import Key, Note, did_you_mean
from workloads.family import WorkloadArgs
from workloads.model_server.settings import ServerSettings
from workloads.pods.mounts import Location


def notes(workloads: Mapping[Key, WorkloadArgs]) -> Iterator[Note]:
    """A note for each server whose folder no job writes to, although jobs write to its volume."""
    written: dict[str, set[str]] = {}
    published = {server for workload in workloads.values() for server in workload.publishes_to}
    for workload in workloads.values():
        if place := workload.models_written:
            written.setdefault(place.volume, set()).add(place.path)
    for at, key, place in _read(workloads):
        if place.volume not in written or published & {at[-1], f"{at[-1]}/{key[-1]}"}:
            continue
        paths, path = written[place.volume], place.path
        # A job's code may write to other folders on the volume.
        if not any(f"{path}/".startswith(f"{one}/") for one in paths):
            reason = f"no job of the stack writes models to {path} on volume {place.volume}"
            near = did_you_mean(path, paths) or f" (jobs write to {', '.join(sorted(paths))})"
            yield Note((*at, *key, "path"), f"{reason}{near}; the server waits until a model appears there")


def _read(workloads: Mapping[Key, WorkloadArgs]) -> Iterator[tuple[Key, Key, Location]]:
    """The folders that servers name themselves, with the server's path and the model's key in it."""
    for at, server in workloads.items():
        if isinstance(server, ServerSettings):
            for name, folder in server.folders.items():
                if server.served[name].from_job is None:
                    yield at, server.key_of(name), folder
