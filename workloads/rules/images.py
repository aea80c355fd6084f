"""Images that cannot run on the nodes: without a build for their architecture, or without a use for their GPUs."""

import re
from collections.abc import Iterator, Mapping, Sequence

from tensorplane.components.base.model import Resources
from tensorplane.components.base.problems import Key, Note, Problem
from tensorplane.components.clusters.settings import ClusterArgs
from tensorplane.components.node_groups.fleet import Fleet
from tensorplane.components.node_groups.shape import Shape
from tensorplane.components.queues.capacity import PodSet
from tensorplane.workloads.family import Declared, WorkloadArgs
from tensorplane.workloads.pods import resources

# Its publisher builds it for amd64 alone (github.com/tensorflow/serving/issues/1750, 1948).
_FOR_AMD64 = re.compile(r"(?:docker\.io/)?tensorflow/serving(?::[^@]+)?(?:@.*)?")
_ARM = "arm64"


def check_architecture(workloads: Mapping[Key, WorkloadArgs], cluster: ClusterArgs, fleet: Fleet) -> Iterator[Problem]:
    """A problem for each workload that no node can start."""
    for at, workload in workloads.items():
        groups, others = _groups(workload, fleet)
        if groups and not others and _for_amd64(workload, cluster):
            image = workload.named_image
            shown = "missing, and the default image" if image is None else repr(image)
            reason = f"{shown} has no build for arm64, the architecture of {_names(groups)}"
            remedy = "use an image for arm64, or set resources.nodeGroup to a group of amd64 machines"
            yield Problem((*at, "image"), f"{reason}; {remedy}", given=(("nodeGroups",), (*at, "resources")))


def architecture_notes(workloads: Mapping[Key, WorkloadArgs], cluster: ClusterArgs, fleet: Fleet) -> Iterator[Note]:
    """A note for each workload whose pods may run on nodes without a build of its image."""
    for at, workload in workloads.items():
        groups, others = _groups(workload, fleet)
        usual = workload.named_image is None
        if groups and (others or usual) and cluster.kind != "embedded":
            what = f"pods may run on {_names(groups)}, so the image must have a build for arm64"
            if _for_amd64(workload, cluster):
                what = f"pods cannot start on {_names(groups)}, because tensorflow/serving has no build for arm64"
            yield Note((*at, "resources"), f"{what}; set nodeGroup to choose another group")


def _groups(workload: WorkloadArgs, fleet: Fleet) -> tuple[list[Shape], list[Shape]]:
    """Node groups that its pods may run on: those with arm64 machines, and the others."""
    found = {
        shape.name: shape
        for pods in workload.pod_sets()
        for shape in fleet.taking(pods.resources, interruptible=pods.interruptible)
    }
    arm = [shape for shape in found.values() if shape.machine and shape.machine.arch == _ARM]
    return arm, [shape for shape in found.values() if shape not in arm]


def _for_amd64(workload: WorkloadArgs, cluster: ClusterArgs) -> bool:
    image = workload.named_image or workload.default_image(cluster.images)
    return isinstance(image, str) and _FOR_AMD64.fullmatch(image) is not None


def _names(groups: list[Shape]) -> str:
    return f"group{'s' if len(groups) > 1 else ''} {', '.join(sorted(shape.name for shape in groups))}"


def check_without_gpus(
    image: object,
    requested: Resources,
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
    if requested.gpus:
        yield Problem((*at, "resources", "gpus"), f"is {requested.gpus}, but {uses_none}; remove it")
    else:
        yield from resources.find_problems(pod_sets, at, declared)
        yield from resources.find_count_problems(pod_sets, at, declared)
