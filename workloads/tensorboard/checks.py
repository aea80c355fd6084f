"""Checks of a TensorBoard's settings."""

from collections.abc import Iterator, Sequence

from tensorplane.components.base.problems import Key, Problem
from tensorplane.components.queues.capacity import PodSet
from tensorplane.workloads.family import Declared
from tensorplane.workloads.pods import checks as pods_checks
from tensorplane.workloads.rules import images
from tensorplane.workloads.tensorboard.settings import BoardSettings


def find_problems(
    settings: BoardSettings, name: str, at: Key, pod_sets: Sequence[PodSet], declared: Declared
) -> Iterator[Problem]:
    """Every problem. `name`: of the workload and its service account. `at`: the path of its settings."""
    yield from images.check_without_gpus(
        settings.image,
        settings.resources,
        at,
        pod_sets,
        declared,
        lacks="TensorBoard",
        remedy="build one with `tensorplane image build --push REGISTRY/NAME:TAG tensorboard`",
        uses_none="TensorBoard does not use GPUs",
    )
    path, volume = (*at, "logs", "volume"), settings.logs.volume
    yield from pods_checks.check_volume(volume, path, declared.volumes)
    yield from pods_checks.check_access(name, volume, path, declared.volumes, read_only=True)
    yield from pods_checks.check_stream(volume, path, declared.records)
