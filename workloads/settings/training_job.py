"""Settings of a training job, without the workload's kind, so that other workloads can embed them."""

from collections.abc import Sequence
from typing import Annotated

from pydantic import AfterValidator, Field

from components.base.image import Image
from components.base.model import Argument, In, Model, Name, RelativePath, Resources, argument, refuse
from workloads.own_variables import OWN
from workloads.role import Role
from workloads.settings.files import Source, Target
from workloads.settings.mounts import Location, MountArgs
from workloads.settings.streams import StreamUseArgs
from workloads.settings.within import Within
from workloads.strategies import Strategy


def _variable(name: str) -> str:
    if name in OWN:
        refuse("another name (tensorplane sets this variable)")
    if not name.replace("_", "a").isidentifier() or not name.isascii():
        refuse("letters, digits and underscores, beginning with a letter or an underscore")
    return name


Variable = Annotated[str, AfterValidator(_variable)]
Text = Annotated[str, Field(coerce_numbers_to_str=True), AfterValidator(argument)]


class Checkpoints(Location):
    """Where runs keep what they need to resume."""

    path: RelativePath = "checkpoints"
    """Folder on the volume. Every run has a subfolder with its name."""
    every_steps: Annotated[int, Field(ge=1)] = 100
    """Steps between two checkpoints, in the variable CHECKPOINT_STEPS; the most that a lost node costs."""
    save_seconds: Annotated[float, Field(gt=0, le=86400)] = 20
    """Maximum time in seconds to save a checkpoint. If the job can be preempted, `graceSeconds` must be at least as
    long."""


class JobSettings(Model):
    """Settings of a job, without the workload's kind."""

    resources: Resources = Resources()
    """Resources of each pod."""
    command: Annotated[list[Argument], Field(min_length=1)]
    """Command of every pod, run in the directory of `files`."""
    strategy: Strategy
    """How the job is distributed over pods: a strategy of `tf.distribute`."""
    image: In[Image] | None = None
    """Container image; by default TensorFlow for CPUs, in the version that tensorplane is built for. Required with
    `gpus`, except on `embedded`, because no public image is known that supports them; `examples/gpu-image` builds one.
    """
    files: Annotated[dict[Target, Source], Field(default_factory=dict)]
    """Code and small data, at most 1 MiB in total. Maps a path in the pod to a file of the project, or to
    `package:NAME/PATH`."""
    env: Annotated[dict[Variable, In[Text]], Field(default_factory=dict)]
    """Environment variables, in addition to TF_CONFIG, MODEL_DIR and CHECKPOINT_DIR.

    A variable set with `pulumi config set --secret` is encrypted in the state. In the cluster it is in a Secret that
    the pods refer to.
    """
    volumes: Annotated[dict[Name, MountArgs], Field(default_factory=dict)]
    """Volumes and their mount paths: `models: /models`."""
    model: Location | None = None
    """Folder for the trained model, in the variable MODEL_DIR. Versions are subfolders, numbered from 1."""
    checkpoints: Checkpoints | None = None
    """Folder for checkpoints, in the variable CHECKPOINT_DIR."""
    streams: Annotated[dict[Name, StreamUseArgs], Field(default_factory=dict)]
    """Streams that the job reads in a consumer group or writes: `events: {group: trainer}`.
    `tensorplane.stream.Topic.from_environment` connects to them."""
    queue: str | None = None
    """Queue that admits the job. Without one, the job starts immediately."""
    within: Within | None = None
    """Topology level, such as `zone`: all GPU pods of the job run in one domain of it. The stack's `topology` has the
    levels."""
    attempt: Annotated[int, Field(ge=1)] = 1
    """Attempt number. Raise it to run the same job again, as a new run with checkpoints of its own."""
    max_restarts: Annotated[int, Field(ge=0, le=1000)] = 3
    """Restarts of the whole job after failures. Restarts after evictions do not count.

    Nor does exit code 75, with which tensorplane's library ends a pod that was asked to stop and has saved a
    checkpoint. A failure because another pod's node is lost does count. A Python command that fails twice with the same
    exit code and last line before its first step ends the job at once; without tensorplane's library, the first two
    minutes count as before the first step.
    """
    grace_seconds: Annotated[int, Field(ge=0, le=86400)] = 30
    """Seconds between SIGTERM and SIGKILL. Saving a checkpoint must not take longer."""

    def roles(self) -> Sequence[Role]:
        """The job's roles."""
        return self.strategy.roles(self.resources)

    @property
    def resumes(self) -> bool:
        """Whether a stopped run resumes, so that its pods may run on spot nodes."""
        return self.checkpoints is not None
