"""Checks of a model server's settings, also where another workload embeds them."""

import re
from collections.abc import Iterator, Sequence

from components.base.faults import Fault, Key
from components.queues.room import PodSet
from workloads.base import Declared
from workloads.checks import mounts, resources, streams
from workloads.settings.model_server import ServerSettings

_NO_PART_OF_A_URL = re.compile(r"[:%?#\s]")


def faults(
    settings: ServerSettings, name: str, at: Key, pod_sets: Sequence[PodSet], declared: Declared
) -> Iterator[Fault]:
    """Every fault. `name`: of the server and its service account. `at`: the path of its settings."""
    yield from resources.faults(pod_sets, at, declared)
    yield from resources.count_faults(pod_sets, at, declared)
    where, volume = (*at, "model", "volume"), settings.model.volume
    yield from mounts.check_volume(volume, where, declared.volumes)
    yield from mounts.check_access(name, volume, where, declared.volumes, read_only=True)
    yield from mounts.check_stream(volume, where, declared.records)
    if _NO_PART_OF_A_URL.search(settings.model_name):
        reason = f"the model name {settings.model_name!r} cannot be part of a TensorFlow Serving URL"
        yield Fault((*at, "model", "path"), f"{reason}; use a last path element without spaces and : % ? #")
    yield from streams.check(settings.streams, (*at, "streams"), declared.streams)
    if settings.streams and settings.image is None:
        reason = "is set, but TensorFlow Serving does not read streams; set an `image` that does"
        yield Fault((*at, "streams"), reason, given=((*at, "image"),))
