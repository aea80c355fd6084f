"""Checks of a model server's settings, also where another workload embeds them."""

import re
from collections.abc import Iterator, Sequence

from components.base.model import NAME_LIMIT
from components.base.problems import Key, Problem
from components.queues.capacity import PodSet
from workloads.family import Declared
from workloads.model_server.batching import BatchingArgs
from workloads.model_server.canary import checks as canary_checks
from workloads.model_server.exposure import checks as exposure_checks
from workloads.model_server.fetched_model import checks as fetched_model_checks
from workloads.model_server.page import NAME_SUFFIX
from workloads.model_server.served_model import ServedModel
from workloads.model_server.settings import ServerSettings
from workloads.pods import checks as pods_checks
from workloads.pods import resources
from workloads.scaling import checks as scaling_checks

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
        where, volume = (*at, served.key("volume")), served.location.volume
        if served.from_job is None:
            # Otherwise, it is a problem of the job.
            yield from pods_checks.check_volume(volume, where, declared.volumes)
        yield from pods_checks.check_access(server, volume, where, declared.volumes, read_only=True)
        yield from pods_checks.check_stream(volume, where, declared.records)
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
