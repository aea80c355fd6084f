"""Jobs whose GPUs TensorFlow's own wheels do not support: they would fail in their first kernel."""

import re
from collections.abc import Iterator, Mapping

from components.base.faults import Fault, Key, Note
from components.node_groups.fleet import Fleet
from components.queues.room import PodSet
from workloads.base import Declared, WorkloadArgs
from workloads.checks import tensorflow_image

_NVIDIA = re.compile(r"nvcr\.io/nvidia/tensorflow[:@].+")
"""NVIDIA's builds of TensorFlow, which support its newest GPUs."""
_REMEDY = (
    "choose another accelerator, or an image with NVIDIA's build"
    " (docs/catalog.md#accelerators-that-tensorflow-supports)"
)


def faults(pod_sets: list[PodSet], image: object, at: Key, declared: Declared) -> Iterator[Fault]:
    """Faults of pods that only run on such GPUs, in an image that has TensorFlow's own wheels. `at`: the job's path."""
    if not isinstance(image, str) or not tensorflow_image.is_official(image):
        return
    for pods in pod_sets:
        if names := _unsupported(pods, declared.fleet):
            key = "accelerator" if pods.resources.accelerator else "nodeGroup" if pods.resources.node_group else "gpus"
            reason = f"TensorFlow's wheels, which {image} has, do not run on {names}; {_REMEDY}"
            yield Fault((*at, *pods.at, key), reason, given=((*at, "image"), ("nodeGroups",)))


def notes(workloads: Mapping[Key, WorkloadArgs], fleet: Fleet) -> Iterator[Note]:
    """A note for each workload on such GPUs whose image may have TensorFlow's own wheels."""
    for at, workload in workloads.items():
        image = workload.named_image
        if not isinstance(image, str) or _NVIDIA.fullmatch(image):
            continue
        for pods in workload.pod_sets():
            if names := _unsupported(pods, fleet):
                text = f"TensorFlow's wheels do not run on {names}, so the image must have NVIDIA's build of TensorFlow"
                yield Note((*at, "image"), text)
                break


def _unsupported(pods: PodSet, fleet: Fleet) -> str:
    """The GPUs that the pods get, if none of them is supported; empty otherwise."""
    if not pods.resources.gpus:
        return ""
    groups = fleet.taking(pods.resources, interruptible=pods.interruptible)
    found = [shape.accelerator for shape in groups if shape.accelerator]
    if not found or any(each.tensorflow or not each.counts_as_gpu for each in found):
        return ""
    return " and ".join(sorted({each.name for each in found}))
