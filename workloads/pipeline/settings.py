"""Settings of a pipeline and of its stages, without the workload's kind."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from tensorplane.components.base.model import Accelerator, Argument, Model, Name, NonEmptyStr, Resources, refuse_all_but
from tensorplane.components.base.value_types import Image, MountPath
from tensorplane.components.datasets.settings import ColumnType
from tensorplane.workloads.pipeline.join_key import JoinKey
from tensorplane.workloads.pipeline.triggers.settings import TriggerArgs
from tensorplane.workloads.pods.files import Source, Target
from tensorplane.workloads.training_job.settings import JobSettings, ServerModel, Text, Variable

MAIN = "main"
_BRANCH = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-")


def _check_branch(value: str) -> str:
    if not set(value) <= _BRANCH or not value[0].isalnum() or len(value) > 128:
        refuse_all_but("the name of a branch: letters, digits, dots, dashes and underscores, at most 128")
    return value


Branch = Annotated[NonEmptyStr, AfterValidator(_check_branch)]
"""Branch of a dataset."""


class Split(Model):
    """Parts of an input: `whole`, `file`, `directory` or `{batch: 100}`."""

    by: Literal["whole", "file", "directory"] = "whole"
    """`whole`: all files together. `file`: each file. `directory`: each folder directly in the dataset, and each file
    beside them."""
    batch: Annotated[int | None, Field(ge=1, le=1_000_000)] = None
    """So many files on average. Where a batch ends depends on the names of its files alone, so a new file changes one
    batch."""

    @model_validator(mode="before")
    @classmethod
    def _word(cls, value: Any) -> Any:
        return {"by": value} if isinstance(value, str) else value

    @model_validator(mode="after")
    def _one(self) -> Self:
        if self.batch is not None and "by" in self.model_fields_set:
            refuse_all_but("one of by and batch, not both")
        return self

    @property
    def is_whole(self) -> bool:
        """Whether there is one part."""
        return self.batch is None and self.by == "whole"


class StageInput(Model):
    """A dataset that a stage reads. Its name alone is enough: `photos: raw`."""

    dataset: Name
    """A dataset of `datasets`. If another stage of the pipeline writes it, that stage runs before."""
    branch: Branch = MAIN
    """Branch whose newest version a run begins with."""
    split: Split = Split()
    """Parts that are worked on in pods of their own, and only if they changed. By default, the whole version."""
    key: JoinKey | None = None
    """With `join: name`, what its parts are joined by: a pattern of their names, whose parentheses hold the key, such
    as `(*).tar.gz` or `*_SHOP(*).csv`, or `{endings: [.jpg, .png]}`. Several parts with one key are then combined with
    each partner. By default the key is the name, of a file without what follows the last dot; two parts with one key
    are refused."""
    path: MountPath | None = None
    """Folder in which the program has it, if that is not `/in/NAME`."""
    columns: dict[NonEmptyStr, ColumnType] = Field(default_factory=dict)
    """Columns that the stage needs, with their types, if the dataset is a table. They are compared with its schema."""

    @model_validator(mode="before")
    @classmethod
    def _dataset_alone(cls, value: Any) -> Any:
        return {"dataset": value} if isinstance(value, str) else value


KEEPER = Resources(cpus=0.05, memory_gib=0.125)
"""Of the container that keeps the result of a part."""
OVERHEAD = Resources(cpus=0.06, memory_gib=0.15625)
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
    files: dict[Target, Source] = Field(default_factory=dict)
    """Code, in the working directory, as of a training job. Other code means other results."""
    params: dict[Variable, Text] = Field(default_factory=dict)
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
        more = {"cpus": own.cpus + OVERHEAD.cpus, "memory_gib": own.memory_gib + OVERHEAD.memory_gib}
        return own.model_copy(update=more)


class PipelineSettings(Model):
    """Stages that make versions of datasets from versions of others."""

    stages: Annotated[dict[Name, StageArgs], Field(min_length=1)]
    """Its stages. A stage that reads the output of another one runs after it."""

    triggers: dict[Name, TriggerArgs] = Field(default_factory=dict)
    """What starts runs, by names of your choice: `new: {}` for each new version. Without any, only `tensorplane runs
    start` does. The same pipeline on the same versions is one run, until something else replaces what it made."""

    @property
    def writers(self) -> Mapping[str, str]:
        """The stage that writes each dataset; of two, the first."""
        return {stage.output: name for name, stage in reversed(self.stages.items())}

    def before(self, stage: StageArgs) -> dict[str, str]:
        """The stages whose output a stage reads, by the name of the input."""
        return {
            name: self.writers[each.dataset]
            for name, each in stage.inputs.items()
            if each.dataset in self.writers and each.branch == MAIN
        }

    @property
    def sources(self) -> dict[str, StageInput]:
        """What a run begins with: inputs that no stage writes, by the names of the run's parameters."""
        found = {}
        for stage in self.stages.values():
            made = self.before(stage)
            found.update({parameter(one): one for name, one in stage.inputs.items() if name not in made})
        return dict(sorted(found.items()))

    def trigger_sources(self, trigger: TriggerArgs) -> list[str]:
        """The parameters of a run whose datasets a trigger counts. Unknown names are left out."""
        datasets = trigger.datasets
        return [name for name, one in self.sources.items() if datasets is None or source_name(one) in datasets]

    @property
    def published_to(self) -> list[str]:
        """The model servers that get models of its stages, as `SERVER` or `SERVER/MODEL`."""
        return sorted({stage.publish for stage in self.stages.values() if stage.publish})

    @property
    def servers(self) -> list[str]:
        """The names of the model servers that its pods ask."""
        found = {server for stage in self.stages.values() for server in (stage.publish, stage.server) if server}
        return sorted({each.partition("/")[0] for each in found})

    @property
    def datasets(self) -> list[str]:
        """All datasets that its stages read and write."""
        stages = self.stages.values()
        return sorted({one.dataset for stage in stages for one in stage.inputs.values()} | {*self.writers})


def source_name(source: StageInput) -> str:
    """A source as DATASET, or DATASET@BRANCH."""
    return source.dataset if source.branch == MAIN else f"{source.dataset}@{source.branch}"


def parameter(source: StageInput) -> str:
    """The name of the parameter of a run with the version of a source. Argo allows no dots in it."""
    if source.branch == MAIN:
        return source.dataset
    return f"{source.dataset}_{source.branch.replace('_', '__').replace('.', '_d')}"
