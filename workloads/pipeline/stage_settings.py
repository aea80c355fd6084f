"""Settings of one stage of a pipeline."""

from typing import Annotated, Literal

from pydantic import Field

from components.base.model import Accelerator, Argument, Model, Name, Resources
from components.base.value_types import Image, MountPath
from workloads.pipeline.input_settings import StageInput
from workloads.pods.files import Source, Target
from workloads.training_job.on_success import ServerModel
from workloads.training_job.settings import JobSettings, Text, Variable

KEEPER = Resources(cpus=0.05, memory_gib=0.125)
"""Of the container that keeps the result of a part."""
AROUND = Resources(cpus=0.06, memory_gib=0.15625)
"""What Kueue counts of a pod beside its program: the keeper, and Argo's executor."""


class StageArgs(Model):
    """A stage: a program that reads versions of datasets in `/in` and writes files to `/out`, which become a version of
    its output."""

    inputs: Annotated[dict[Name, StageInput], Field(min_length=1)]
    """What it reads, by the folder's name in `/in`: `photos: {dataset: raw, split: file}`."""
    output: Name
    """Dataset of `datasets` of which each run makes a version on branch `main`. No other stage writes it."""
    output_path: MountPath | None = None
    """Folder to which the program writes, if that is not `/out`."""
    command: Annotated[list[Argument], Field(min_length=1)] | None = None
    """Program of each pod. This, `job` or `publish` is required."""
    job: JobSettings | None = None
    """Instead of `command`, a training job of any strategy, with an image, files, resources and a queue of its own. Its
    pods have the inputs in `/in`, and share `/out`, which stays when the job restarts."""
    publish: ServerModel | None = None
    """Instead of `command`, a model server of the stack, as `SERVER/MODEL` if it has several models, that gets the
    SavedModel in the only input as its next version. The stage succeeds once the server serves it, and fails if the
    gate of its `canary` rolls it back. /out gets served.json: `{"server": …, "model": …, "version": 3}`."""
    server: ServerModel | None = None
    """Model server of the stack that `command` asks, in the variable MODEL_URL:
    `http://…/v1/models/MODEL`, to which it appends `:predict`, or `/versions/3:predict`."""
    image: Image | None = None
    """Container image, of any language; by default that of training jobs. Name it by digest: results of another image
    with the same tag are not told apart."""
    files: Annotated[dict[Target, Source], Field(default_factory=dict)]
    """Code, in the working directory, as of a training job. Other code means other results."""
    params: Annotated[dict[Variable, Text], Field(default_factory=dict)]
    """Parameters, as environment variables. Other values mean other results."""
    resources: Resources = Resources()
    """Resources of each pod."""
    accelerator: Accelerator | None = None
    """Moves the stage to GPUs: pods, also those of a `job`, have one of this model, or as many as `resources` says. It
    requires `queue`."""
    queue: Name | None = None
    """Queue that admits each pod. Without one, pods start immediately."""
    join: Literal["cross", "name"] | None = None
    """How the parts of several split inputs come together: `cross` each with each, `name` those whose names have the
    same key (`key` of the inputs). Inputs that are not split are in all of them."""
    parallel: Annotated[int, Field(ge=1, le=1000)] = 4
    """The most pods at once."""
    retries: Annotated[int, Field(ge=0, le=100)] = 2
    """How often a part that failed, or whose pod was lost, is tried again."""
    timeout_seconds: Annotated[int | None, Field(ge=1, le=10**8)] = None
    """Seconds after which a pod that still runs is stopped and has failed. No limit by default."""
    may_fail: Annotated[int, Field(ge=0, le=1_000_000)] = 0
    """Parts that may fail without the stage failing. The version then lacks their results, and its commit names them.
    With more, the results of the others are kept for the next run, and no version is made."""
    cache: bool = True
    """Whether results of the same image, command, files, parameters and input are used again."""
    reprocess: Literal["all", "new"] = "all"
    """What a changed stage does with inputs that it had already: `all` works on them again, `new` keeps their former
    results."""

    @property
    def training(self) -> JobSettings | None:
        """Its job, with the GPUs that `accelerator` asks for."""
        if self.job is None or self.accelerator is None:
            return self.job
        return self.job.model_copy(update={"resources": self._with_accelerator(self.job.resources)})

    @property
    def interruptible(self) -> bool:
        """Whether its program may run on spot nodes: a part whose pod was lost is tried again."""
        return self.retries > 0

    @property
    def queue_of_pods(self) -> str | None:
        """The queue that admits its pods."""
        return self.job.queue if self.job else self.queue

    @property
    def program_resources(self) -> Resources:
        """The resources of its program in each pod, with the GPU that `accelerator` asks for."""
        return self._with_accelerator(self.resources)

    def _with_accelerator(self, own: Resources) -> Resources:
        if self.accelerator is None:
            return own
        return own.model_copy(update={"gpus": own.gpus or 1, "accelerator": self.accelerator})

    @property
    def pod_resources(self) -> Resources:
        """The resources of each pod: of its program, and of what keeps its result."""
        own = self.program_resources
        more = {"cpus": own.cpus + AROUND.cpus, "memory_gib": own.memory_gib + AROUND.memory_gib}
        return own.model_copy(update=more)
