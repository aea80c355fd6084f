"""Checks of a TensorBoard's settings."""

from collections.abc import Iterator, Sequence

from components.base.faults import Fault, Key
from components.queues.room import PodSet
from workloads.base import Declared
from workloads.checks import mounts, without_gpus
from workloads.settings.tensorboard import BoardSettings


def faults(
    settings: BoardSettings, name: str, at: Key, pod_sets: Sequence[PodSet], declared: Declared
) -> Iterator[Fault]:
    """Every fault. `name`: of the workload and its service account. `at`: the path of its settings."""
    yield from without_gpus.faults(
        settings.image,
        settings.resources,
        at,
        pod_sets,
        declared,
        lacks="TensorBoard",
        remedy="build one with `tensorplane image build --push REGISTRY/NAME:TAG tensorboard`",
        uses_none="TensorBoard does not use GPUs",
    )
    where, volume = (*at, "logs", "volume"), settings.logs.volume
    yield from mounts.check_volume(volume, where, declared.volumes)
    yield from mounts.check_access(name, volume, where, declared.volumes, read_only=True)
    yield from mounts.check_stream(volume, where, declared.records)
