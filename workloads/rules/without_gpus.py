"""Checks of a workload whose program uses no GPUs and is not in TensorFlow's own image."""

from collections.abc import Iterator, Sequence

from components.base.model import Resources
from components.base.problems import Key, Problem
from components.queues.capacity import PodSet
from workloads.family import Declared
from workloads.pods import resources


def find_problems(
    image: object,
    asked: Resources,
    at: Key,
    pod_sets: Sequence[PodSet],
    declared: Declared,
    *,
    lacks: str,
    remedy: str,
    uses_none: str,
) -> Iterator[Problem]:
    """Problems of its image and resources.

    `lacks`: what the default image does not have. `remedy`: where to get an image with it. `uses_none`: why GPUs are of
    no use.
    """
    if image is None and not declared.cluster.images.built_here:
        reason = f"missing, but the default TensorFlow image has no {lacks}"
        yield Problem((*at, "image"), f"{reason}; {remedy}, and set it here", given=(("cluster",),))
    if asked.gpus:
        yield Problem((*at, "resources", "gpus"), f"is {asked.gpus}, but {uses_none}; remove it")
    else:
        yield from resources.find_problems(pod_sets, at, declared)
        yield from resources.find_count_problems(pod_sets, at, declared)
