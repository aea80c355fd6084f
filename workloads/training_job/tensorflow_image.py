"""GPUs that TensorFlow's own images and wheels support: jobs with others would fail in their first kernel."""

import re
from collections.abc import Iterator, Mapping

from tensorplane.components.base.problems import Key, Note, Problem
from tensorplane.components.node_groups.fleet import Fleet
from tensorplane.components.queues.capacity import PodSet
from tensorplane.workloads.family import Declared, WorkloadArgs
from tensorplane.workloads.training_job import tensorflow_image

_OFFICIAL = re.compile(r"(?:docker\.io/)?tensorflow/tensorflow(?::(?P<tag>[^@]+))?(?:@.*)?")
_RELEASE = re.compile(r"(\d+)\.(\d+)\.")
_LAST_WITH_ITS_CUDNN = (2, 17)
"""Since 2.18 they have cuDNN 8; TensorFlow requires cuDNN 9 (github.com/tensorflow/tensorflow/issues/62412, 94593)."""


def is_official(reference: str) -> bool:
    """Whether this is TensorFlow's own image."""
    return _OFFICIAL.fullmatch(reference) is not None


def sees_no_gpu(reference: str) -> bool:
    """Whether TensorFlow in this image cannot use GPUs; False for images of other publishers.

    A tag without a release, such as latest-gpu, counts as a newer one.
    """
    official = _OFFICIAL.fullmatch(reference)
    if official is None:
        return False
    tag = official["tag"] or "latest"
    release = _RELEASE.match(tag)
    is_newer = release is None or (int(release[1]), int(release[2])) > _LAST_WITH_ITS_CUDNN
    return "gpu" not in tag or is_newer


_NVIDIA = re.compile(r"nvcr\.io/nvidia/tensorflow[:@].+")
"""NVIDIA's builds of TensorFlow, which support its newest GPUs."""
_DOCS = "docs/catalog.md#accelerators-that-tensorflow-supports"


def check_gpu_support(pod_sets: list[PodSet], image: object, at: Key, declared: Declared) -> Iterator[Problem]:
    """Problems of pods that may run on such GPUs, in an image with TensorFlow's own wheels. `at`: the job's path."""
    if not isinstance(image, str) or not tensorflow_image.is_official(image):
        return
    for pods in pod_sets:
        refused, accepted = _by_support(pods, declared.fleet)
        if refused:
            key = "accelerator" if pods.resources.accelerator else "nodeGroup" if pods.resources.node_group else "gpus"
            reason = f"TensorFlow's wheels, which {image} has, do not run on {' and '.join(refused)}"
            others = f"set accelerator to {' or '.join(accepted)}" if accepted else "choose another accelerator"
            remedy = f"{others}, or an image with NVIDIA's build ({_DOCS})"
            yield Problem((*at, *pods.at, key), f"{reason}; {remedy}", given=((*at, "image"), ("nodeGroups",)))


def gpu_support_notes(workloads: Mapping[Key, WorkloadArgs], fleet: Fleet) -> Iterator[Note]:
    """A note for each workload on such GPUs whose image may have TensorFlow's own wheels."""
    for at, workload in workloads.items():
        image = workload.named_image
        if not isinstance(image, str) or _NVIDIA.fullmatch(image):
            continue
        for pods in workload.pod_sets():
            if names := " and ".join(_by_support(pods, fleet)[0]):
                text = f"TensorFlow's wheels do not run on {names}, so the image must have NVIDIA's build of TensorFlow"
                yield Note((*at, "image"), text)
                break


def _by_support(pods: PodSet, fleet: Fleet) -> tuple[list[str], list[str]]:
    """The GPUs that the pods may get: those on which TensorFlow's wheels do not run, and the others."""
    groups = fleet.taking(pods.resources, interruptible=pods.interruptible) if pods.resources.gpus else []
    found = {shape.accelerator.name: shape.accelerator for shape in groups if shape.accelerator}
    gpus = {name: each.tensorflow for name, each in sorted(found.items()) if each.counts_as_gpu}
    return [name for name in gpus if not gpus[name]], [name for name in gpus if gpus[name]]
