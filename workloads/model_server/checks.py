"""Checks of a model server's settings, also where another workload embeds them, and of servers and the jobs that
publish to them.
"""

import re
from collections.abc import Iterator, Mapping, Sequence

from tensorplane.components.base.model import NAME_LIMIT
from tensorplane.components.base.problems import Key, Note, Problem, did_you_mean
from tensorplane.components.queues.capacity import PodSet
from tensorplane.workloads.family import Declared, WorkloadArgs
from tensorplane.workloads.model_server import model_sources
from tensorplane.workloads.model_server.canary import checks as canary_checks
from tensorplane.workloads.model_server.exposure import checks as exposure_checks
from tensorplane.workloads.model_server.fetched_model import checks as fetched_model_checks
from tensorplane.workloads.model_server.page import NAME_SUFFIX
from tensorplane.workloads.model_server.settings import BatchingArgs, ServedModel, ServerSettings
from tensorplane.workloads.pods import checks as pods_checks
from tensorplane.workloads.pods import resources
from tensorplane.workloads.pods.mounts import Location
from tensorplane.workloads.scaling import checks as scaling_checks

_NO_PART_OF_A_URL = re.compile(r"[:%?#\s]")


def find_problems(
    settings: ServerSettings, name: str, at: Key, pod_sets: Sequence[PodSet], declared: Declared
) -> Iterator[Problem]:
    """Every problem. `name`: of the server and its service account. `at`: the path of its settings."""
    yield from resources.find_problems(pod_sets, at, declared)
    yield from resources.find_count_problems(pod_sets, at, declared)
    if not settings.served:
        reason = "required setting is missing: the model; set it, or models for several"
        yield Problem((*at, "model"), reason)
    if settings.model and settings.models:
        yield Problem((*at, "models"), "conflicts with model; remove one of them", given=((*at, "model"),))
    for model, served in settings.served.items():
        yield from _model(model, served, name, (*at, *settings.key_of(model)), declared)
    yield from canary_checks.find_problems(settings, name, at, declared)
    if settings.batching:
        yield from _batching(settings.batching, (*at, "batching"))
    if settings.gpu_memory_fraction and not settings.resources.gpus:
        reason = "is set, but the server has no GPU; set resources.gpus, or remove it"
        yield Problem((*at, "gpuMemoryFraction"), reason, given=((*at, "resources"),))
    yield from exposure_checks.find_problems(settings, name, at, declared)
    yield from _page(settings, name, at)
    yield from scaling_checks.find_problems(settings, at, declared)
    yield from pods_checks.check_stream_uses(settings.streams, (*at, "streams"), declared.streams)
    yield from _of_streams(settings, at)


def _page(settings: ServerSettings, name: str, at: Key) -> Iterator[Problem]:
    longest = NAME_LIMIT - len(NAME_SUFFIX)
    if settings.page and len(name) > longest:
        reason = f"the name has {len(name)} characters; shorten it to {longest}, or remove page"
        yield Problem(at, f"{reason}, whose Service is named {name}{NAME_SUFFIX}", given=((*at, "page"),))


def _of_streams(settings: ServerSettings, at: Key) -> Iterator[Problem]:
    """Problems of a server that reads streams: its image is no TensorFlow Serving."""
    if not settings.streams:
        return
    if settings.image is None:
        reason = "is set, but TensorFlow Serving does not read streams; set an `image` that does"
        yield Problem((*at, "streams"), reason, given=((*at, "image"),))
    canary_key = next((settings.key_of(name) for name, model in settings.served.items() if model.canary), None)
    conflicts: dict[Key, bool] = {("models",): bool(settings.models), ("batching",): settings.batching is not None}
    if canary_key:
        conflicts[(*canary_key, "canary")] = True
    for key, is_set in conflicts.items():
        if is_set:
            reason = "is set, but an image that reads streams gets no configuration of TensorFlow Serving"
            yield Problem((*at, *key), f"{reason}; remove it or streams", given=((*at, "streams"),))


def _model(model: str, served: ServedModel, server: str, at: Key, declared: Declared) -> Iterator[Problem]:
    if served.location:
        path, volume = (*at, served.key("volume")), served.location.volume
        if served.from_job is None:
            # Otherwise, it is a problem of the job.
            yield from pods_checks.check_volume(volume, path, declared.volumes)
        yield from pods_checks.check_access(server, volume, path, declared.volumes, read_only=True)
        yield from pods_checks.check_stream(volume, path, declared.records)
    yield from fetched_model_checks.find_problems(served, model, at, declared.cluster)
    if _NO_PART_OF_A_URL.search(model):
        reason = f"the model name {model!r} cannot be part of a TensorFlow Serving URL"
        yield Problem((*at, served.key("path")), f"{reason}; use a last path element without spaces and : % ? #")
    specific = served.versions.specific
    for label, version in served.labels.items():
        if specific is not None and version not in specific:
            served_ones = ", ".join(map(str, sorted(specific)))
            reason = f"is version {version}, which is not served; choose one of {served_ones}, or add it to versions"
            yield Problem((*at, "labels", label), reason, given=((*at, "versions"),))


def _batching(batching: BatchingArgs, at: Key) -> Iterator[Problem]:
    sizes, most = batching.allowed_batch_sizes, batching.max_batch_size
    if sizes and (sizes != sorted(set(sizes)) or sizes[-1] != most):
        good = sorted({*(size for size in sizes if size < most), most})
        reason = f"sizes must ascend to maxBatchSize, which is {most}; use {good}"
        yield Problem((*at, "allowedBatchSizes"), reason, given=((*at, "maxBatchSize"),))


def check_model_sources(workloads: Mapping[Key, WorkloadArgs], declared: frozenset[str]) -> Iterator[Problem]:
    """A problem for each name that means no folder. `declared`: names of all workloads, those that failed validation
    included, of which nothing is concluded."""
    by_name = {at[-1]: one for at, one in workloads.items()}
    yield from _published_to_uris(workloads, by_name)
    for at, server in workloads.items():
        if not isinstance(server, ServerSettings):
            continue
        for name, model in server.served.items():
            job = model.from_job
            if job is None or model.location is not None or (job in declared and job not in by_name):
                continue
            reason = model_sources.folder(job, by_name)
            if isinstance(reason, str):
                path = (*at, *server.key_of(name), "from")
                yield _source_problem(path, reason, job, is_known=job in by_name)


def _source_problem(at: Key, reason: str, job: str, *, is_known: bool) -> Problem:
    cause = ("workloads", job)
    return Problem(at, reason, given=(cause,), lacks=() if is_known else cause, by_names=not is_known)


def _published_to_uris(workloads: Mapping[Key, WorkloadArgs], by_name: Mapping[str, WorkloadArgs]) -> Iterator[Problem]:
    for at, job in workloads.items():
        for target, key in job.publishes_to.items():
            if (model := model_sources.served(target, by_name)) and model.uri:
                reason = f"{target} serves a model from a URI, to which nothing can be published"
                remedy = "give its model a volume and a path"
                given = (("workloads", target.partition("/")[0]),)
                yield Problem((*at, *key), f"{reason}; {remedy}", given=given)


def unwritten_model_notes(workloads: Mapping[Key, WorkloadArgs]) -> Iterator[Note]:
    """A note for each server whose folder no job writes to, although jobs write to its volume."""
    written: dict[str, set[str]] = {}
    published = {server for workload in workloads.values() for server in workload.publishes_to}
    for workload in workloads.values():
        if location := workload.models_written:
            written.setdefault(location.volume, set()).add(location.path)
    for at, key, location in _read_models(workloads):
        if location.volume not in written or published & {at[-1], f"{at[-1]}/{key[-1]}"}:
            continue
        paths, path = written[location.volume], location.path
        # A job's code may write to other folders on the volume.
        if not any(f"{path}/".startswith(f"{one}/") for one in paths):
            reason = f"no job of the stack writes models to {path} on volume {location.volume}"
            near = did_you_mean(path, paths) or f" (jobs write to {', '.join(sorted(paths))})"
            yield Note((*at, *key, "path"), f"{reason}{near}; the server waits until a model appears there")


def _read_models(workloads: Mapping[Key, WorkloadArgs]) -> Iterator[tuple[Key, Key, Location]]:
    """The folders that servers name themselves, with the server's path and the model's key in it."""
    for at, server in workloads.items():
        if isinstance(server, ServerSettings):
            for name, folder in server.folders.items():
                if server.served[name].from_job is None:
                    yield at, server.key_of(name), folder


def check_server_name(server: str, at: Key, declared: Declared) -> Iterator[Problem]:
    """A problem if no model server has this name, as `SERVER` or `SERVER/MODEL`."""
    if server not in declared.models:
        known = sorted(declared.models)
        remedy = f"choose one of {', '.join(known)}{did_you_mean(server, known)}" if known else "declare one"
        reason = f"no model server is named {server!r}; {remedy}"
        yield Problem(at, reason, given=(("workloads",),), lacks=("workloads", server), by_names=True)
