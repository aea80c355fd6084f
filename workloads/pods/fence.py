"""Whether pods of jobs and of stages may be ended by force once their node is lost.

A pod that is cut off runs on beside the one that replaces it. That changes nothing that others see if the library alone
writes on its volumes: whoever takes the run over fences its checkpoints and its versions of the model. The result of a
part is written once, whole: the later of two pods that work on it changes nothing. What a program writes elsewhere
nobody fences.
"""

from collections.abc import Iterable, Mapping

from tensorplane.components.base.labels import FENCED
from tensorplane.workloads.pods.mounts import Mountable
from tensorplane.workloads.pods.pod import VolumeMount
from tensorplane.workloads.training_job.launcher import PYTHON
from tensorplane.workloads.training_job.settings import JobSettings


def annotations(settings: JobSettings, volumes: Mapping[str, Mountable]) -> dict[str, str]:
    """The annotation of pods that may be ended so; none for others."""
    return {FENCED: "true"} if is_fenced(settings, volumes) else {}


def of_stage(mounts: Iterable[VolumeMount]) -> dict[str, str]:
    """The same for pods that keep the result of a stage's part, with all volumes of their containers."""
    return {FENCED: "true"} if all(mount.read_only or not mount.one_node for mount in mounts) else {}


def is_fenced(settings: JobSettings, volumes: Mapping[str, Mountable]) -> bool:
    """Whether every volume that the pods write is shared by nodes, and has checkpoints or a model of the job."""
    if settings.checkpoints is None or not PYTHON.fullmatch(settings.program[0]):
        return False
    fenced = {location.volume for location in (settings.checkpoints, settings.model) if location}
    return all(
        mount.read_only or (name in fenced and not volumes[name].one_node) for name, mount in settings.volumes.items()
    )
