"""Settings of a training job, without the workload's kind, so that other workloads can embed them."""

import re
from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath
from typing import Annotated, Any, Self

from packaging.requirements import InvalidRequirement, Requirement
from pydantic import AfterValidator, Discriminator, Field, InstanceOf, Tag, model_validator
from pydantic.json_schema import SkipJsonSchema

from tensorplane.components.base.model import (
    NAME_RULE,
    PRODUCED_TAG,
    SECRET_TAG,
    TEXT_TAG,
    Argument,
    In,
    Line,
    Model,
    Name,
    NonEmptyStr,
    ObjectName,
    RelativePath,
    Resources,
    argument,
    is_name,
    refuse_all_but,
)
from tensorplane.components.base.produced import Produced
from tensorplane.components.base.value_types import Image
from tensorplane.workloads.pods.files import Script, Source, Target, of_script
from tensorplane.workloads.pods.mounts import Location, MountArgs
from tensorplane.workloads.pods.objects import Egress
from tensorplane.workloads.pods.streams import StreamUseArgs
from tensorplane.workloads.training_job import auxiliary_roles
from tensorplane.workloads.training_job.own_variables import OWN
from tensorplane.workloads.training_job.role import Role
from tensorplane.workloads.training_job.strategies import Strategy


class Within(Model):
    """Topology-aware placement. The level alone is enough: `within: zone`."""

    level: NonEmptyStr
    """A level of the stack's `topology`."""
    required: bool = True
    """Whether the job waits until one domain has room. If false, the pods are spread when none has."""

    @model_validator(mode="before")
    @classmethod
    def _level_alone(cls, value: Any) -> Any:
        return {"level": value} if isinstance(value, str) else value


def _check_package(value: str) -> str:
    try:
        found = Requirement(value)
    except InvalidRequirement:
        refuse_all_but("a package of the index with its versions, such as pandas==2.2.3")
    if found.url or found.marker:
        refuse_all_but("a package of the index with its versions, such as pandas==2.2.3, without address and condition")
    return value


Package = Annotated[Line, AfterValidator(_check_package)]
"""A package of pip's index: `pandas==2.2.3`, `pandas>=2.2,<3`, `pandas`."""


def _check_server_model(value: str) -> str:
    server, slash, model = value.partition("/")
    if not is_name(server) or (slash and not is_name(model)):
        refuse_all_but(f"the name of a model server, or SERVER/MODEL; each is {NAME_RULE}")
    return value


ServerModel = Annotated[str, AfterValidator(_check_server_model)]


class OnSuccess(Model):
    """What the job's first pod does once the command has succeeded, with its files, volumes and variables.

    If it fails three times, the job fails without training again. With `checkpoints`, a change of it, or a correction
    and another deployment, only repeats this.
    """

    command: Annotated[list[Argument], Field(min_length=1)] | None = None
    """Command of a single process, without TF_CONFIG. MODEL_VERSION_DIR is the folder of the model's newest version."""
    publish: ServerModel | None = None
    """Model server of the stack, as `SERVER/MODEL` if it has several models, that gets the newest version in `model`,
    after `command` if both are set: a version for which it fails is never served. The job mounts the server's
    volume."""

    @model_validator(mode="after")
    def _something(self) -> Self:
        if self.command is None and self.publish is None:
            refuse_all_but("command, publish or both")
        return self


def _check_variable(name: str) -> str:
    if name in OWN:
        refuse_all_but("another name (tensorplane sets this variable)")
    if not name.replace("_", "a").isidentifier() or not name.isascii():
        refuse_all_but("letters, digits and underscores, beginning with a letter or an underscore")
    return name


def _check_key(value: str) -> str:
    if not re.fullmatch(r"[-._a-zA-Z0-9]{1,253}", value):
        refuse_all_but("a key of a Secret: letters, digits, dashes, dots and underscores")
    return value


Variable = Annotated[str, AfterValidator(_check_variable)]
Text = Annotated[str, Field(coerce_numbers_to_str=True), AfterValidator(argument)]


class SecretKey(Model):
    """A key of a Secret that exists in the stack's namespace; tensorplane never reads its value."""

    secret: In[ObjectName]
    """Name of the Secret."""
    key: Annotated[str, AfterValidator(_check_key)]
    """Key in the Secret."""


def _form(value: Any) -> str:
    if isinstance(value, Produced):
        return PRODUCED_TAG
    return SECRET_TAG if isinstance(value, Mapping | SecretKey) else TEXT_TAG


Value = Annotated[
    Annotated[Text, Tag(TEXT_TAG)]
    | Annotated[SkipJsonSchema[InstanceOf[Produced]], Tag(PRODUCED_TAG)]
    | Annotated[SecretKey, Tag(SECRET_TAG)],
    Discriminator(_form),
]
"""The value of a variable: text, text that another resource will produce, or a key of an existing Secret."""


class TensorBoard(Location):
    """Folder of a run's event files."""

    path: RelativePath = "tensorboard"
    """Folder on the volume. Every run has a subfolder with its name."""


class Checkpoints(Location):
    """Where runs keep what they need to resume."""

    path: RelativePath = "checkpoints"
    """Folder on the volume. Every run has a subfolder with its name."""
    every_steps: Annotated[int | None, Field(ge=1, le=1_000_000_000)] = None
    """Steps between two checkpoints, by default 100, in the variable CHECKPOINT_STEPS. A lost node loses at most these
    and the steps made while a checkpoint was being written."""
    interruption_minutes: Annotated[float | None, Field(gt=0, le=525600)] = None
    """Instead of `everySteps`: mean time in minutes between two interruptions of the job. The library then computes the
    interval that loses least time, from this and the measured time of steps and saves."""
    save_seconds: Annotated[float, Field(gt=0, le=86400)] = 20
    """Maximum time in seconds to save a checkpoint. If the job can be preempted, `graceSeconds` must be at least as
    long."""

    @model_validator(mode="after")
    def _one_interval(self) -> Self:
        if self.every_steps is not None and self.interruption_minutes is not None:
            refuse_all_but("one of everySteps and interruptionMinutes, not both")
        return self

    @property
    def steps(self) -> int | None:
        """Steps between two checkpoints; None if the library computes them."""
        return None if self.interruption_minutes is not None else self.every_steps or 100


class JobSettings(Model):
    """Settings of a job, without the workload's kind."""

    resources: Resources = Resources()
    """Resources of each pod."""
    command: Annotated[list[Argument], Field(min_length=1)] | None = None
    """Command of every pod, run in the directory of `files`. Either this or `script` is required."""
    script: Script | None = None
    """Python file of the project, `mine/train.py`, or of an installed package, `package:NAME/PATH`, run by `python3`.

    Its whole folder is mounted as the working directory, without hidden files and caches, so that it can import its
    neighbours; a file in the project's root is mounted alone. `files` adds others.
    """
    args: list[Argument] = Field(default_factory=list)
    """Arguments of `script`."""
    strategy: Strategy
    """How the job is distributed over pods: a strategy of `tf.distribute`."""
    image: In[Image] | None = None
    """Container image; by default TensorFlow for CPUs, in the version that tensorplane is built for. Required with
    `gpus`, except on `embedded`, because no public image is known that supports them; `examples/gpu-image` builds one.
    """
    packages: list[Package] = Field(default_factory=list)
    """Python packages in addition to those of the training image: `[pandas==2.2.3]`. On `embedded`, they are a layer of
    the image. Elsewhere the pods install them once, from an index that `egress` opens, on the volume of `checkpoints`
    or `model`. A job with `image` cannot have them; `tensorplane image build` makes such an image.

    `tensorplane image lock` resolves them to versions and hashes in packages.lock, which belongs into version control.
    Other versions are a new run.
    """
    files: dict[Target, Source] = Field(default_factory=dict)
    """Code and small data, at most 16 MiB in total. Maps a path in the pod to a file or folder of the project, or to
    `package:NAME/PATH`. The path `.` of a folder is the working directory itself."""
    env: dict[Variable, Value] = Field(default_factory=dict)
    """Environment variables, in addition to TF_CONFIG, MODEL_DIR and CHECKPOINT_DIR: text, or a key of an existing
    Secret, `{secret: NAME, key: KEY}`.

    A variable set with `pulumi config set --secret` is encrypted in the state. In the cluster it is in a Secret that
    the pods refer to.
    """
    volumes: dict[Name, MountArgs] = Field(default_factory=dict)
    """Volumes and their mount paths: `models: /models`."""
    model: Location | None = None
    """Folder for the trained model, in the variable MODEL_DIR. Versions are subfolders, numbered from 1."""
    checkpoints: Checkpoints | None = None
    """Folder for checkpoints, in the variable CHECKPOINT_DIR."""
    tensorboard: TensorBoard | None = None
    """Folder for TensorBoard's event files, in the variable TENSORBOARD_DIR."""
    on_success: OnSuccess | None = None
    """What the job does once its command has succeeded, such as publishing the model to a server of the stack:
    `{publish: digits-server}`. It requires a Python command."""
    egress: Egress = Field(default_factory=list)
    """Destinations that the pods may connect to, besides each other, DNS and the brokers of `streams`: `internet`, or a
    list such as `[{cidr: 10.20.0.0/16, ports: [443]}]`."""
    streams: dict[Name, StreamUseArgs] = Field(default_factory=dict)
    """Streams that the job reads in a consumer group or writes: `events: {group: trainer}`.
    `tensorplane.stream.Topic.from_environment` connects to them."""
    queue: str | None = None
    """Queue that admits the job. Without one, the job starts immediately."""
    within: Within | None = None
    """Topology level, such as `zone`: all GPU pods of the job run in one domain of it. The stack's `topology` has the
    levels."""
    attempt: Annotated[int, Field(ge=1, le=1_000_000)] = 1
    """Attempt number. Raise it to run the same job again, as a new run with checkpoints of its own."""
    max_restarts: Annotated[int, Field(ge=0, le=1000)] = 3
    """Restarts of the whole job after failures. Restarts after evictions do not count.

    Nor does exit code 75, with which tensorplane's library ends a pod that was asked to stop and has saved a
    checkpoint, or whose peer does not answer. Other failures because of another pod's end do count. A Python command
    that fails twice with the same exit code and last line before its first step ends the job at once; without
    tensorplane's library, the first two minutes count as before the first step.
    """
    deadline_seconds: Annotated[int, Field(ge=1, le=10**8)] | None = None
    """Seconds after which a job that still runs is stopped and fails. No limit by default.

    Time in the queue does not count. A restart of the job, after a failure or an eviction, begins a new period; for
    the whole run, set `totalDeadlineSeconds`.
    """
    total_deadline_seconds: Annotated[int, Field(ge=1, le=10**8)] | None = None
    """Seconds after the run's first start after which it is stopped and fails, over all restarts. No limit by default.

    Its pods save before they end. Time in the queue before the first start does not count, and after an eviction it
    does. It requires `checkpoints` and a Python command. A raised deadline continues the same run.
    """
    progress_deadline_seconds: Annotated[int, Field(ge=10, le=10**8)] | None = None
    """Seconds without a completed step after which a pod writes the stacks of its threads to its log and fails, so that
    the job restarts from its last checkpoint. No limit by default.

    It counts from the first completed step of each start on, in each pod that trains. A loss that stays the same to the
    last bit for that long, such as NaN or 0, is no progress either. These restarts count against `maxRestarts`.

    It requires a Python command, and `tensorplane.fit`, `Loop` or `Resume`, which report steps. Evaluations and saves
    count as progress only by the batches and steps that they report, so set more than the longest of them takes.
    """
    grace_seconds: Annotated[int, Field(ge=0, le=86400)] = 30
    """Seconds between SIGTERM and SIGKILL. Saving a checkpoint must not take longer."""

    @property
    def program(self) -> list[str]:
        """The command of every pod, whether the settings state it or a script."""
        if self.script:
            return ["python3", PurePosixPath(self.script).name, *self.args]
        return list(self.command or [])

    @property
    def sources(self) -> dict[str, str]:
        """All files and folders of the pods, those of the script included."""
        return {**(of_script(self.script) if self.script else {}), **self.files}

    def roles(self) -> Sequence[Role]:
        """The job's roles."""
        strategy = self.strategy
        added = auxiliary_roles.of(strategy.evaluator, strategy.data_service, resumes=self.resumes)
        return [*strategy.roles(self.resources), *added]

    @property
    def metrics_port(self) -> int | None:
        """The port of the library's metrics; None without the endpoint."""
        value = self.env.get("TENSORPLANE_METRICS_PORT")
        return int(value) if isinstance(value, str) and value.isdecimal() else None

    @property
    def resumes(self) -> bool:
        """Whether a stopped run resumes, so that its pods may run on spot nodes."""
        return self.checkpoints is not None
