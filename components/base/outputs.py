"""What components register, a type for each token: policies, reports and the command line read these keys.

A component has inputs, the type of its name, and outputs, the type with `Outputs` where they differ. Reports read both.
The engine hands policies the outputs alone.

Keys are as the engine's state has them. A key that is renamed, or that means something else, raises `VERSION`; one that
is added does not. The cluster of every stack registers the version, and the stack's outputs have it. Policies import
nothing from here: a test compares the keys that they read, and the version, with these.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NotRequired, TypedDict

from tensorplane.components.base.sdk import pulumi

VERSION = 1
VERSION_KEY = "factsVersion"
"""Where the version is. A state without it is of version 1."""
PROGRAM_KEY = "tensorplaneVersion"
"""The stack's output that says which version of tensorplane deployed it last."""
SETTINGS_KEY = "tensorplaneSettings"
"""The stack's output with the settings that a program in Python declared, as JSON."""
GPU_GUARD_KEY = "gpuGuard"
"""The stack's output that says whether pods with GPUs that nobody gave them are denied: `deny` or `warn`."""

CLUSTER = "tensorplane:index:Cluster"
CONTROLLER = "tensorplane:index:Controller"
CEPH_MIRRORS = "tensorplane:index:CephMirrors"
GPU_RUNTIME = "tensorplane:index:GpuRuntime"
LOST_NODES = "tensorplane:index:LostNodes"
MODEL_SERVER = "tensorplane:index:ModelServer"
MOVERS = "tensorplane:index:Movers"
NAMESPACE = "tensorplane:index:Namespace"
NODE_GROUP = "tensorplane:index:NodeGroup"
NOTEBOOK = "tensorplane:index:Notebook"
PIPELINE = "tensorplane:index:Pipeline"
QUEUE = "tensorplane:index:Queue"
QUOTA_RETURN = "tensorplane:index:QuotaReturn"
RECORDER = "tensorplane:index:Recorder"
SCORER = "tensorplane:index:Scorer"
SNAPSHOTTER = "tensorplane:index:Snapshotter"
STREAM = "tensorplane:index:Stream"
SWEEP = "tensorplane:index:Sweep"
TENSORBOARD = "tensorplane:index:TensorBoard"
TRAINING_JOB = "tensorplane:index:TrainingJob"
USAGE = "tensorplane:index:Usage"
VOLUME = "tensorplane:index:Volume"


def too_new(version: float | None) -> str | None:
    """Why outputs of this version cannot be read; None for those that can."""
    if version is None or version <= VERSION:
        return None
    return (
        f"a newer tensorplane deployed this stack: its facts have version {version:g}, and this one reads {VERSION}; "
        "use the version that deployed it, or a newer one"
    )


class Cost(TypedDict):
    """An estimate in US dollars, at list prices."""

    figures: dict[str, list[float] | None]
    """From and to, by name: `components.cost.estimate` lists them. None where a figure is unknown."""
    missing: str
    """Why figures are unknown; empty if none is."""
    date: str
    """Date of the prices; empty for what follows from several."""


class Cluster(TypedDict):
    """A cluster. Without node groups in the stack, it registers nothing about nodes."""

    kind: str
    factsVersion: int
    """Version of what every component of the stack registers: `VERSION`."""
    gpusMax: NotRequired[int]
    """GPUs of the full node groups."""
    hourlyUsdMax: NotRequired[float | None]
    """Estimated price per hour of the full node groups; None if the price of one is unknown."""


class ClusterOutputs(Cluster):
    """A cluster once it exists."""

    kubeconfig: pulumi.Output[str | None]


class Controller(TypedDict):
    """A controller from its chart."""

    version: str
    image: NotRequired[str]


class GpuRuntime(TypedDict):
    """The GPU runtime of the cluster."""

    kind: str
    runtimeClass: str | None


class ModelServer(TypedDict):
    """A model server."""

    models: list[str]
    """Names of its models."""
    serves: dict[str, str]
    """What is served of each model, in words, for previews."""
    image: pulumi.Input[Any]
    replicas: int
    """The most, where it scales."""
    gpus: int
    """Of all replicas."""


class ModelServerOutputs(TypedDict):
    """A model server once it exists."""

    kind: str
    deployment: pulumi.Input[str]
    service: pulumi.Input[str]
    models: dict[str, pulumi.Input[str]]
    """URLs of the models' REST API, by model."""
    grpc: pulumi.Input[str]
    """Host and port of its gRPC API."""
    gpus: int
    page: NotRequired[pulumi.Input[str]]
    """URL of its web page, if it has one."""
    outside: NotRequired[pulumi.Input[Outside]]
    """Where clients outside of the cluster reach it, if it is exposed."""


class Outside(TypedDict):
    """Where clients outside of the cluster reach a model server."""

    rest: list[str]
    """Host and port of its load balancer, or the hosts of its Gateway."""
    grpc: list[str]


class Namespace(TypedDict):
    """The stack's namespace."""

    name: str
    protect: bool


class NamespaceOutputs(TypedDict):
    """The stack's namespace once it exists, and those of its teams."""

    name: pulumi.Input[str]
    teams: dict[str, str]
    """The namespace of each team. Missing in states of versions that did not register it."""


class NodeGroup(TypedDict):
    """A node group."""

    accelerator: str
    """Its name in the catalog; `none` without one."""
    machine: str | None
    minNodes: int
    maxNodes: int
    expectedNodes: NotRequired[float | None]
    """On average; None where it is not declared."""
    spot: bool
    gpusMax: int
    """GPUs of the full group."""
    tpusMax: int
    hourlyUsdMax: float | None
    """Estimated price of the full group per hour; None where it is unknown."""
    labels: dict[str, str]
    taints: list[str]
    """As `key=value:effect`."""
    cost: NotRequired[Cost]


class Notebook(TypedDict):
    """A notebook. Its GPUs are those that it uses while it runs."""

    queue: str | None
    gpus: int


class NotebookOutputs(TypedDict):
    """A notebook once it is declared."""

    kind: str
    namespace: str
    """Missing in states of versions that did not register it."""
    queue: str | None
    gpus: int


class QueueFlavor(TypedDict):
    """What a queue has of one flavor, in GPUs, or in cores where the flavor has none."""

    name: str
    guaranteed: float
    borrowable: float
    lends: float


class Flavor(TypedDict):
    """A flavor of the cluster."""

    name: str
    gpus: bool
    """Whether GPUs are counted, or cores."""
    max: float | None
    """Capacity of its full node groups; None where it is unknown."""


class Queue(TypedDict):
    """A queue."""

    priority: str
    cpus: float
    memoryGib: float
    gpus: int
    """Guaranteed, of all flavors together."""
    teams: list[str]
    cohort: str
    """Empty for the stack's own."""
    kinds: list[QueueFlavor]
    """In the order in which the queue uses them."""
    machines: list[Flavor]
    """Every flavor of the cluster, from the oldest accelerator to the newest."""
    cost: NotRequired[Cost]


class QueueOutputs(TypedDict):
    """A queue once it exists."""

    name: str
    gpus: int
    priority: str
    """Missing in states of versions that did not register it."""


class Recorder(TypedDict):
    """A recorder."""

    dataset: str
    image: pulumi.Input[Any]
    gpus: int


class Scorer(TypedDict):
    """A scorer."""

    server: str
    """Its model server, or SERVER/MODEL."""
    image: pulumi.Input[Any]
    replicas: int
    """The most, where it scales."""
    gpus: int


class ScorerOutputs(TypedDict):
    """A scorer or recorder once it exists."""

    kind: str
    deployment: pulumi.Input[str]
    input: str
    """Its topic, as STREAM/TOPIC."""
    output: str
    """The same, or of a recorder DATASET@BRANCH."""
    gpus: int


class Stream(TypedDict):
    """A stream."""

    broker: str
    topics: list[str]
    retain: bool


class StreamOutputs(TypedDict):
    """A stream once it exists."""

    topics: list[str]
    groups: list[str]


class TensorBoard(TypedDict):
    """A TensorBoard."""

    volume: str
    path: str
    """Folder of the event files on the volume."""
    image: pulumi.Input[Any]
    gpus: int


class TensorBoardOutputs(TypedDict):
    """A TensorBoard once it exists."""

    kind: str
    deployment: pulumi.Input[str]
    volume: str
    gpus: int


class Preemption(TypedDict):
    """What a preemption of the job stops, and how much work it loses."""

    borrowed: list[str]
    """Flavors that it may borrow."""
    saveSeconds: float
    graceSeconds: int
    steps: int | None
    """Steps between two checkpoints; None if the job computes them."""
    pods: int
    gpus: int


class Sweep(TypedDict):
    """A sweep. Counts are of as many trials as may run at once."""

    trials: int
    parallel: int
    image: pulumi.Input[Any]
    queue: str | None
    pods: int
    cpus: float
    memoryGib: float
    gpus: int


class SweepOutputs(TypedDict):
    """A sweep once it exists."""

    kind: str
    run: pulumi.Input[str]
    queue: str | None
    trials: int
    gpus: int


class Run(TypedDict):
    """A run of a training job, as the next deployment identifies it."""

    name: str
    decisive: Mapping[str, str]
    """Hashes of what decides its result: command, code, environment, image, strategy, data, model."""
    manifest: str
    """Hash of its JobSet, without tensorplane's library."""
    kept: bool
    """Whether the JobSet was kept as the deployment before had it."""
    library: str
    """Pulumi's name of the ConfigMap with the library that its pods mount."""


class TrainingJob(TypedDict):
    """A training job. Counts are of all its pods together."""

    strategy: str
    image: pulumi.Input[Any]
    queue: str | None
    pods: int
    cpus: float
    memoryGib: float
    gpus: int
    mayBeStopped: NotRequired[Preemption]
    """What it loses when borrowed quota is reclaimed; missing if it borrows nothing."""
    cost: NotRequired[Cost]


class TrainingJobOutputs(TypedDict):
    """A training job once it exists."""

    kind: str
    namespace: str
    jobSet: pulumi.Input[str]
    run: pulumi.Input[Run]
    queue: str | None
    pods: int
    gpus: int


class Volume(TypedDict):
    """A volume."""

    sizeGib: float
    backend: str
    accessModes: Sequence[str]
    retain: bool
    datasets: NotRequired[Mapping[str, str]]
    """The folder of each dataset on it, from the volume's root, by name."""


class VolumeOutputs(TypedDict):
    """A volume once it exists."""

    claimName: pulumi.Input[str]
    sizeGib: float
    retain: bool


class Request(TypedDict):
    """Accelerators of equal pods of a workload, while all of them run. Policies count them for each group."""

    gpus: int
    """GPUs or TPU chips of all these pods."""
    priority: str
    """That of their queue; empty without a queue."""
    accelerators: list[str]
    """Every one that they may get, by its name in the catalog; empty if they may get any."""


class Requests(TypedDict):
    """What a workload registers beside its outputs. Missing in states of versions that did not register it."""

    requests: list[Request]
    """Its pods with accelerators."""
    team: str
    """The team in whose namespace they run; empty in the stack's own."""


class PipelineStage(TypedDict):
    """A stage of a pipeline."""

    after: list[str]
    """The stages that it waits for."""
    reads: list[str]
    """Datasets, as DATASET or DATASET@BRANCH."""
    writes: str
    queue: str
    """Empty without one."""
    gpus: int
    """The most that its pods use at once."""
    parallel: int
    """The most pods at once; of a stage that is a job, the jobs."""
    program: str
    """A digest of what decides its results besides the input."""
    keys: NotRequired[dict[str, str]]
    """What parts of joined inputs are joined by, where that is not the name of files without their ending."""


class Pipeline(TypedDict):
    """A pipeline. Its GPUs are the most that its pods use at once."""

    stages: list[str]
    dag: dict[str, PipelineStage]
    """What each stage waits for and does. Missing in states of versions that did not register it."""
    images: pulumi.Input[Any]
    """Of its stages' programs."""
    datasets: list[str]
    """That it reads and writes."""
    gpus: int


class PipelineOutputs(TypedDict):
    """A pipeline once it exists."""

    kind: str
    workflowTemplate: str
    """Of which each run is a Workflow."""
    stages: list[str]
    gpus: int
    queues: list[str]
    """Of the stages with GPUs, with an empty name if one has no queue. Missing in states of versions that did not
    register them."""


class QuotaReturn(TypedDict):
    """The agent that returns the quota of jobs that cannot start."""

    teams: list[str]


class LostNodes(TypedDict):
    """The agent that ends or replaces pods on lost nodes."""

    teams: list[str]


class TeamBudget(TypedDict):
    """The budget of a team for a month, and what it has used of it."""

    gpuHours: float
    used: float | None
    """GPU-hours this month; None where the cluster was not asked, or did not answer."""
    month: str
    """As 2026-11; empty where `used` is None."""
    gpus: int
    """The most that pods of the team can hold."""


class Usage(TypedDict):
    """The agent that records GPU-hours."""

    teams: list[str]


class UsageOutputs(TypedDict):
    """The budgets that the records are compared with. Outputs: use is no change of the stack."""

    budgets: dict[str, TeamBudget]
    """By team."""


class CephMirrors(TypedDict):
    """What the CephFS mirrors of a stack share."""

    clusterId: str


class Snapshotter(TypedDict):
    """The agent that takes scheduled snapshots."""

    drivers: list[str]
