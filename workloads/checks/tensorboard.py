"""Checks of a TensorBoard's settings."""

from collections.abc import Iterator, Sequence

from components.base.faults import Fault, Key
from components.queues.room import PodSet
from workloads.base import Declared
from workloads.checks import mounts, resources
from workloads.settings.tensorboard import BoardSettings


def faults(
    settings: BoardSettings, name: str, at: Key, pod_sets: Sequence[PodSet], declared: Declared
) -> Iterator[Fault]:
    """Every fault. `name`: of the workload and its service account. `at`: the path of its settings."""
    if settings.image is None and not declared.cluster.images.built_here:
        reason = "missing, but the default TensorFlow image has no TensorBoard"
        remedy = "build one with `tensorplane image build --push REGISTRY/NAME:TAG tensorboard`, and set it here"
        yield Fault((*at, "image"), f"{reason}; {remedy}", given=(("cluster",),))
    if settings.resources.gpus:
        reason = f"is {settings.resources.gpus}, but TensorBoard does not use GPUs; remove it"
        yield Fault((*at, "resources", "gpus"), reason)
    else:
        yield from resources.faults(pod_sets, at, declared)
        yield from resources.count_faults(pod_sets, at, declared)
    where, volume = (*at, "logs", "volume"), settings.logs.volume
    yield from mounts.check_volume(volume, where, declared.volumes)
    yield from mounts.check_access(name, volume, where, declared.volumes, read_only=True)
    yield from mounts.check_stream(volume, where, declared.records)
