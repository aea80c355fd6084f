"""The arguments of stacks and workloads, as types, from the settings' models: UPDATE_GOLDEN=1 pytest
tests/unit/python/test_arguments.py"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, Required, TypedDict

import pulumi

from tensorplane.components.base.model import Resources
from tensorplane.components.clusters.aks import Aks
from tensorplane.components.clusters.eks import Eks
from tensorplane.components.clusters.embedded import Embedded
from tensorplane.components.clusters.existing import Existing
from tensorplane.components.clusters.gke import Gke
from tensorplane.components.controllers.registry import ControllersArgs
from tensorplane.components.datasets.settings import DatasetArgs
from tensorplane.components.gpu_runtime.operator import Operator
from tensorplane.components.gpu_runtime.plugin import Plugin
from tensorplane.components.gpu_runtime.present import Present
from tensorplane.components.lost_nodes.settings import NodesArgs
from tensorplane.components.node_groups.settings import NodeGroupArgs
from tensorplane.components.queues.settings import CohortArgs, QueueArgs, TeamArgs
from tensorplane.components.streams.settings import StreamArgs
from tensorplane.components.volumes.acknowledged import AcknowledgeArgs
from tensorplane.components.volumes.settings import VolumeArgs
from tensorplane.workloads.model_server.exposure.settings import ClientArgs, GatewayArgs, LoadBalancerArgs
from tensorplane.workloads.model_server.settings import BatchingArgs, ModelPageArgs, ServedModel
from tensorplane.workloads.pipeline.settings import StageArgs
from tensorplane.workloads.pipeline.triggers.settings import TriggerArgs
from tensorplane.workloads.pods.mounts import Location, MountArgs
from tensorplane.workloads.pods.objects import Destination
from tensorplane.workloads.pods.streams import StreamUseArgs
from tensorplane.workloads.recorder.settings import RecordedArgs, WindowArgs
from tensorplane.workloads.scaling.settings import ScalingArgs
from tensorplane.workloads.scorer.settings import InputArgs, LagScalingArgs, OutputArgs
from tensorplane.workloads.sweep.settings import Search
from tensorplane.workloads.tensorboard.settings import Logs
from tensorplane.workloads.training_job.settings import (
    Checkpoints,
    JobSettings,
    OnSuccess,
    SecretKey,
    TensorBoard,
    Within,
)
from tensorplane.workloads.training_job.strategies.mirrored import Mirrored
from tensorplane.workloads.training_job.strategies.multi_worker_mirrored import MultiWorkerMirrored
from tensorplane.workloads.training_job.strategies.parameter_server import ParameterServer
from tensorplane.workloads.training_job.strategies.single import Single
from tensorplane.workloads.training_job.strategies.tpu import Tpu

__all__ = [
    "AcknowledgeArgs",
    "Aks",
    "BatchingArgs",
    "Checkpoints",
    "ClientArgs",
    "CohortArgs",
    "ControllersArgs",
    "DatasetArgs",
    "Destination",
    "Eks",
    "Embedded",
    "Existing",
    "GatewayArgs",
    "Gke",
    "InputArgs",
    "JobSettings",
    "LagScalingArgs",
    "LoadBalancerArgs",
    "Location",
    "Logs",
    "Mirrored",
    "ModelPageArgs",
    "ModelServerArguments",
    "MountArgs",
    "MultiWorkerMirrored",
    "NodeGroupArgs",
    "NodesArgs",
    "NotebookArguments",
    "OnSuccess",
    "Operator",
    "OutputArgs",
    "ParameterServer",
    "PipelineArguments",
    "Plugin",
    "Present",
    "QueueArgs",
    "RecordedArgs",
    "RecorderArguments",
    "Resources",
    "ScalingArgs",
    "ScorerArguments",
    "Search",
    "SecretKey",
    "ServedModel",
    "Single",
    "StackArguments",
    "StageArgs",
    "StreamArgs",
    "StreamUseArgs",
    "SweepArguments",
    "TeamArgs",
    "TensorBoardArguments",
    "Tpu",
    "TrainingJobArguments",
    "TriggerArgs",
    "VolumeArgs",
    "WindowArgs",
    "Within",
]


class StackArguments(TypedDict, total=False):
    """Everything under `tensorplane:` in Pulumi.<stack>.yaml. Maps are keyed by name; other settings refer to the
    name."""

    cluster: Aks | Eks | Embedded | Existing | Gke | Mapping[str, Any]
    """The cluster: `embedded` (on this machine), `existing` (a context of your kubeconfig), or a new one in a cloud."""
    node_groups: Mapping[str, NodeGroupArgs | Mapping[str, Any]]
    """Node groups. On an existing cluster they describe the existing nodes."""
    nodes: NodesArgs | Mapping[str, Any]
    """What holds for all nodes."""
    gpu_runtime: Operator | Plugin | Present | Mapping[str, Any] | None
    """How GPUs become available to pods; by default what the kind of cluster requires, if a node group has GPUs."""
    namespace: str | None
    """Namespace of the stack's objects; `tensorplane-<stack>` by default."""
    gpus_in_other_namespaces: Literal["deny", "warn", "allow"] | None
    """What becomes of pods with GPUs in namespaces that no stack manages: `deny` by default on a new cluster that
    the stack creates, `allow` on an existing one. A stack that an earlier version deployed warns until this is
    set."""
    controllers: ControllersArgs | Mapping[str, Any]
    """Which controllers (Kueue, JobSet, VolSync, KEDA, metrics-server, Prometheus, Traefik, Argo Workflows) the
    stack installs."""
    volumes: Mapping[str, VolumeArgs | Mapping[str, Any]]
    """Persistent storage, which outlives the workloads that mount it."""
    streams: Mapping[str, StreamArgs | Mapping[str, Any]]
    """Kafka topics that workloads read and write."""
    datasets: Mapping[str, DatasetArgs | Mapping[str, Any]]
    """Named, versioned collections of files on volumes."""
    queues: Mapping[str, QueueArgs | Mapping[str, Any]]
    """Kueue queues, which share the cluster between jobs."""
    cohorts: Mapping[str, CohortArgs | Mapping[str, Any]]
    """Cohorts: queues that lend to each other before they borrow from others."""
    topology: Sequence[str] | None
    """Topology levels from wide to narrow, such as [zone, host], for topology-aware scheduling by Kueue. Requires
    groups with a fixed number of nodes. By default `[host]` if `min` equals `max` in all GPU groups, so that
    Kueue admits a job only when nodes have room for its pods; otherwise `[]`, with which queues only count GPUs
    and the scheduler places pods."""
    teams: Mapping[str, TeamArgs | Mapping[str, Any]]
    """Additional namespaces with queues."""
    acknowledge: AcknowledgeArgs | Mapping[str, Any]
    """Losses of data that this change intends. Remove the entries once they are deployed."""


class ModelServerArguments(TypedDict, total=False):
    """Settings of a model server."""

    resources: Resources | Mapping[str, Any]
    """Resources of each pod."""
    model: ServedModel | Mapping[str, Any] | None
    """The model. The last element of its path is its name for clients."""
    models: Mapping[str, ServedModel | Mapping[str, Any]]
    """Several models instead of `model`, by their names for clients."""
    batching: BatchingArgs | Mapping[str, Any] | None
    """Compute requests of several clients together: more requests per second, and each one waits longer. Off by
    default; `{}` has defaults for a processor."""
    gpu_memory_fraction: float | None
    """Part of the GPU's memory that each pod reserves; by default all of it, or where pods take turns on a GPU
    (`timeSlicing`), an equal part each."""
    replicas: int
    """Number of server pods."""
    scaling: ScalingArgs | Mapping[str, Any] | None
    """Instead of `replicas`: as many pods as the load requires."""
    image: pulumi.Input[str] | None
    """Container image that serves TensorFlow Serving's API; tensorflow/serving by default, a stand-in on `embedded`."""
    expose: GatewayArgs | LoadBalancerArgs | Mapping[str, Any] | None
    """How clients outside of the cluster's network reach the server; by default, only those inside do."""
    clients: Sequence[ClientArgs | Mapping[str, Any]] | None
    """The only pods that may connect: `[{workload: web}, {namespace: shop}]`. By default all of the cluster's
    network."""
    page: ModelPageArgs | Mapping[str, Any] | None
    """A web page for people who try the model in a browser; none by default. `{}` has the defaults."""
    streams: Mapping[str, StreamUseArgs | Mapping[str, Any]]
    """Streams that a custom `image` reads or writes: `events: {group: ranker}`. The variable STREAMS describes them."""


class NotebookArguments(TypedDict, total=False):
    """Settings of a notebook. `tensorplane notebook NAME` starts and opens it; it ends when nobody uses it."""

    resources: Resources | Mapping[str, Any]
    """Resources of its pod."""
    volumes: Required[Mapping[str, MountArgs | Mapping[str, Any] | str]]
    """Volumes and their mount paths: `models: /models`."""
    folder: Required[Location | Mapping[str, Any]]
    """Folder of the notebooks, on one of these volumes: they outlive the pod."""
    packages: Sequence[str]
    """Python packages in addition to those of the training image, as for training jobs: `[jupyterlab==4.6.6]` and
    what the notebooks import."""
    image: pulumi.Input[str] | None
    """Container image with Python and JupyterLab, instead of `packages`; by default that of training jobs."""
    queue: str | None
    """Queue that admits the notebook, as it admits training jobs. Without one, it starts immediately."""
    idle_minutes: int
    """Minutes without a running cell after which a kernel is stopped, and without kernels after which the pod ends
    and gives back its quota."""
    env: Mapping[str, pulumi.Input[str | SecretKey | Mapping[str, Any]]]
    """Environment variables: text, or a key of an existing Secret, `{secret: NAME, key: KEY}`."""
    egress: Sequence[Destination | Mapping[str, Any] | str]
    """Destinations that the pod may connect to, as for training jobs."""


class PipelineArguments(TypedDict, total=False):
    """Settings of a pipeline. Each run reads one version of each dataset that it begins with, and makes one of each
    stage's output; only what changed since former runs is worked on."""

    stages: Required[Mapping[str, StageArgs | Mapping[str, Any]]]
    """Its stages. A stage that reads the output of another one runs after it."""
    triggers: Mapping[str, TriggerArgs | Mapping[str, Any]]
    """What starts runs, by names of your choice: `new: {}` for each new version. Without any, only `tensorplane runs
    start` does. The same pipeline on the same versions is one run, until something else replaces what it made."""


class RecorderArguments(TypedDict, total=False):
    """Settings of a recorder. Each window of a topic's records becomes one version of a dataset, and each record is
    in it exactly once."""

    input: Required[RecordedArgs | Mapping[str, Any]]
    """Topic that it reads."""
    dataset: Required[str]
    """Dataset of `datasets` whose versions it makes. Each has the records of all windows so far."""
    branch: str
    """Branch of the dataset that gets the versions."""
    window: WindowArgs | Mapping[str, Any]
    """When a version is made."""
    layout: Literal["lines", "files"]
    """Files of a window. `lines`: one per partition with JSON lines, `PARTITION/OFFSET.jsonl` by its first record;
    values that are no JSON are `no-json/PARTITION/OFFSET`. `files`: one per record with its value as it is,
    `PARTITION/OFFSET`."""
    lost: Literal["stop", "skip"]
    """What happens where retention of the topic has deleted records before they were recorded: the recorder stops
    with an error, or goes on with the first record that is there, and the commit says how many are missing."""
    resources: Resources | Mapping[str, Any]
    """Resources of its pod."""
    image: pulumi.Input[str] | None
    """Container image with Python and Kafka's client; by default that of training jobs on `embedded`. Required
    elsewhere: TensorFlow's public image has no client of Kafka."""


class ScorerArguments(TypedDict, total=False):
    """Settings of a scorer. It gives each record of a topic one result of a model server, in another topic."""

    server: Required[str]
    """Model server of the stack, as `SERVER/MODEL` if it has several models."""
    input: Required[InputArgs | Mapping[str, Any]]
    """Topic that it reads."""
    output: Required[OutputArgs | Mapping[str, Any]]
    """Topic that it writes."""
    replicas: int
    """Number of pods. Each reads some of the topic's partitions."""
    scaling: LagScalingArgs | Mapping[str, Any] | None
    """Instead of `replicas`: as many pods as the lag requires."""
    batch: int
    """The most records of one request to the server."""
    resources: Resources | Mapping[str, Any]
    """Resources of each pod."""
    image: pulumi.Input[str] | None
    """Container image with Python and Kafka's client; by default that of training jobs on `embedded`. Required
    elsewhere: TensorFlow's public image has no client of Kafka."""


class SweepArguments(TypedDict, total=False):
    """Settings of a sweep. A change that affects the result of its trials starts a new sweep, whose predecessor's
    trials are deleted; more trials or more at once continue it."""

    search: Required[Search | Mapping[str, Any]]
    """Parameters, how their values are chosen, and which trials are stopped early."""
    trial: Required[JobSettings | Mapping[str, Any]]
    """Settings of the job that every trial runs, as of a training job. It finds its parameters in environment
    variables and needs `checkpoints`."""
    controller_image: pulumi.Input[str] | None
    """Container image of the controller, with Python, numpy and Optuna. Required except on `embedded`; `tensorplane
    image build optuna==5.0.0` makes one."""


class TensorBoardArguments(TypedDict, total=False):
    """Settings of a TensorBoard. `tensorplane tensorboard NAME` opens it."""

    resources: Resources | Mapping[str, Any]
    """Resources of its pod."""
    logs: Required[Logs | Mapping[str, Any]]
    """Folder with the event files: `{volume: models}` for those of training jobs with `tensorboard: {volume:
    models}`."""
    image: pulumi.Input[str] | None
    """Container image with Python and TensorBoard. Required except on `embedded`, because TensorFlow's public image
    has no TensorBoard."""


class TrainingJobArguments(TypedDict, total=False):
    """Settings of a training job. A change of a setting that affects the result starts a new run; a change of
    resources or workers continues it."""

    resources: Resources | Mapping[str, Any]
    """Resources of each pod."""
    command: Sequence[str] | None
    """Command of every pod, run in the directory of `files`. Either this or `script` is required."""
    script: str | None
    """Python file of the project, `mine/train.py`, or of an installed package, `package:NAME/PATH`, run by
    `python3`."""
    args: Sequence[str]
    """Arguments of `script`."""
    strategy: Required[Mirrored | MultiWorkerMirrored | ParameterServer | Single | Tpu | Mapping[str, Any]]
    """How the job is distributed over pods: a strategy of `tf.distribute`."""
    image: pulumi.Input[str] | None
    """Container image; by default TensorFlow for CPUs, in the version that tensorplane is built for. Required with
    `gpus`, except on `embedded`, because no public image is known that supports them; `examples/gpu-image` builds
    one."""
    packages: Sequence[str]
    """Python packages in addition to those of the training image: `[pandas==2.2.3]`. On `embedded`, they are a layer
    of the image. Elsewhere the pods install them once, from an index that `egress` opens, on the volume of
    `checkpoints` or `model`. A job with `image` cannot have them; `tensorplane image build` makes such an image."""
    files: Mapping[str, str]
    """Code and small data, at most 16 MiB in total. Maps a path in the pod to a file or folder of the project, or to
    `package:NAME/PATH`. The path `.` of a folder is the working directory itself."""
    env: Mapping[str, pulumi.Input[str | SecretKey | Mapping[str, Any]]]
    """Environment variables, in addition to TF_CONFIG, MODEL_DIR and CHECKPOINT_DIR: text, or a key of an existing
    Secret, `{secret: NAME, key: KEY}`."""
    volumes: Mapping[str, MountArgs | Mapping[str, Any] | str]
    """Volumes and their mount paths: `models: /models`."""
    model: Location | Mapping[str, Any] | None
    """Folder for the trained model, in the variable MODEL_DIR. Versions are subfolders, numbered from 1."""
    checkpoints: Checkpoints | Mapping[str, Any] | None
    """Folder for checkpoints, in the variable CHECKPOINT_DIR."""
    tensorboard: TensorBoard | Mapping[str, Any] | None
    """Folder for TensorBoard's event files, in the variable TENSORBOARD_DIR."""
    on_success: OnSuccess | Mapping[str, Any] | None
    """What the job does once its command has succeeded, such as publishing the model to a server of the stack:
    `{publish: digits-server}`. It requires a Python command."""
    egress: Sequence[Destination | Mapping[str, Any] | str]
    """Destinations that the pods may connect to, besides each other, DNS and the brokers of `streams`: `internet`,
    or a list such as `[{cidr: 10.20.0.0/16, ports: [443]}]`."""
    streams: Mapping[str, StreamUseArgs | Mapping[str, Any]]
    """Streams that the job reads in a consumer group or writes: `events: {group: trainer}`.
    `tensorplane.stream.Topic.from_environment` connects to them."""
    queue: str | None
    """Queue that admits the job. Without one, the job starts immediately."""
    within: Within | Mapping[str, Any] | str | None
    """Topology level, such as `zone`: all GPU pods of the job run in one domain of it. The stack's `topology` has
    the levels."""
    attempt: int
    """Attempt number. Raise it to run the same job again, as a new run with checkpoints of its own."""
    max_restarts: int
    """Restarts of the whole job after failures. Restarts after evictions do not count."""
    deadline_seconds: int | None
    """Seconds after which a job that still runs is stopped and fails. No limit by default."""
    total_deadline_seconds: int | None
    """Seconds after the run's first start after which it is stopped and fails, over all restarts. No limit by
    default."""
    progress_deadline_seconds: int | None
    """Seconds without a completed step after which a pod writes the stacks of its threads to its log and fails, so
    that the job restarts from its last checkpoint. No limit by default."""
    grace_seconds: int
    """Seconds between SIGTERM and SIGKILL. Saving a checkpoint must not take longer."""
    team: str | None
    """A team in whose namespace the job runs, in one of its queues and with its volumes, instead of the stack's
    namespace."""
