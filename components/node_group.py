"""Node groups: machines of one kind, from a few settings and what the catalog knows about the rest."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

import pulumi
from pydantic import Field

from components.catalog import Accelerator, Machine
from components.model import Filled, Line, Model

DOMAIN = "tensorplane.dev"
GROUP, FLAVOR, ACCELERATOR, PRODUCT, GENERATION, TIER, SPOT = (
    f"{DOMAIN}/{key}" for key in ("node-group", "flavor", "accelerator", "product", "generation", "tier", "spot")
)
AKS_SPOT = "kubernetes.azure.com/scalesetpriority"
"""Key of the taint, and the label, that AKS puts on spot nodes by itself."""
SPOT_TAINTS = frozenset({SPOT, AKS_SPOT})
"""Keys of the taints that keep work which cannot be interrupted from spot nodes."""
GPU_PRESENT = "nvidia.com/gpu.present"
PLUGIN_CONFIG = "nvidia.com/device-plugin.config"
NO_ACCELERATOR = "none"
CPU = "cpu"
"""Flavor of nodes without accelerators."""
SIMULATED = "kwok.x-k8s.io/node"
"""Key of the taint, label and annotation of nodes that KWOK simulates: the pods on them run nothing."""

Effect = Literal["NoSchedule", "NoExecute", "PreferNoSchedule"]


class TaintArgs(Model):
    """A taint: pods that do not tolerate it stay away."""

    key: Filled
    """The taint's key, such as team."""
    value: Line = ""
    """The taint's value."""
    effect: Effect = "NoSchedule"
    """What happens to pods that do not tolerate it, in Kubernetes' spelling on every cloud."""


class TimeSlicing(Model):
    """Several pods take turns on one GPU, without protection of memory from each other."""

    kind: Literal["timeSlicing"] = "timeSlicing"
    replicas: Annotated[int, Field(ge=2, le=64)]
    """Pods per GPU."""


class Mps(Model):
    """Several pods share one GPU at the same time, each with a part of its memory."""

    kind: Literal["mps"] = "mps"
    replicas: Annotated[int, Field(ge=2, le=48)]
    """Pods per GPU."""


class Mig(Model):
    """Each GPU is divided into instances of its hardware."""

    kind: Literal["mig"] = "mig"
    profile: Filled
    """Size of each instance, such as 1g.10gb."""


Sharing = Annotated[TimeSlicing | Mps | Mig, Field(discriminator="kind")]


class Reservation(Model):
    """Machines that were reserved beforehand."""

    id: Filled
    """The reservation: EKS a capacity reservation (cr-…), GKE its name, AKS the capacity reservation group's id."""
    capacity_block: bool = False
    """Whether it is an EKS capacity block: GPUs reserved for a fixed time."""


class NodeGroupArgs(Model):
    """Settings of one node group: an accelerator or a machine, and how many."""

    accelerator: Filled | None = None
    """The card of each node, as the catalog names it: t4, a100-80gb, tpu-v5e. The catalog gives the machine."""
    per_node: Annotated[int, Field(ge=1, le=16)] = 1
    """Accelerators of each node."""
    machine: Filled | None = None
    """Machine type in the cloud's own name. With `accelerator`, the machine to prefer among those that have it."""
    topology: Filled | None = None
    """GKE: how the chips of a TPU slice of several machines are wired, such as 4x4. The group is one such slice."""
    min: Annotated[int, Field(ge=0, le=5000)] = 0
    """Nodes that are always there."""
    max: Annotated[int, Field(ge=1, le=5000)]
    """Nodes that may be there at most."""
    spot: bool = False
    """Cheaper machines that the cloud may take back. Only workloads that can be interrupted get in."""
    zones: tuple[Filled, ...] = ()
    """Zones of the nodes; those of the cluster by default."""
    reserved: Reservation | None = None
    """A reservation that the nodes are taken from."""
    sharing: Sharing | None = None
    """How several pods share one GPU; a GPU is one pod's by default."""
    provisioner: Literal["group", "automatic"] = "group"
    """`group` is a group of fixed machines; `automatic` lets Karpenter (EKS) or node auto-provisioning (GKE) choose."""
    max_age_days: Annotated[int, Field(ge=1, le=3650)] | None = None
    """Days after which Karpenter (EKS, `automatic`) replaces a node, and so brings a newer image to it; by default 30,
    and never with accelerators. Jobs with checkpoints are asked to stop and save, others finish first."""
    disk_gib: Annotated[int, Field(ge=30, le=65536)] = 100
    """Boot disk of each node in GiB. Images with TensorFlow and CUDA take 15."""
    labels: Annotated[dict[Filled, Line], Field(default_factory=dict)]
    """More labels of the nodes."""
    taints: tuple[TaintArgs, ...] = ()
    """More taints of the nodes."""


@dataclass(frozen=True)
class Taint:
    """A taint as the nodes have it."""

    key: str
    value: str
    effect: Effect
    by_cloud: bool = False
    """Whether the cloud sets it by itself: it counts, and is never declared to the cloud."""

    def __str__(self) -> str:
        return f"{self.key}={self.value}:{self.effect}"


def keeps_out(taint: Taint | TaintArgs) -> bool:
    """Whether pods that do not tolerate it stay away; one that is a preference keeps none away."""
    return taint.effect != "PreferNoSchedule"


@dataclass(frozen=True)
class Shape:
    """A node group with everything that follows from its settings."""

    name: str
    args: NodeGroupArgs
    machine: Machine | None
    """None where no catalog lists the machines: on a cluster of yours, and on the embedded one."""
    alternatives: tuple[Machine, ...]
    """Other machines that would do as well, for spot capacity."""
    accelerator: Accelerator | None
    per_node: int
    """Accelerators of each node; 0 on a CPU group."""
    labels: Mapping[str, str]
    taints: tuple[Taint, ...]
    hourly_usd: float | None
    """Estimated price of one node; None where the catalog has none."""
    resources: Mapping[str, int] = field(default_factory=dict)
    """Extended resources of each node, as pods ask for them: shared GPUs count once per pod that they take."""
    selector: Mapping[str, str] = field(default_factory=dict)
    """Labels of the cloud's own that a pod has to select: without them, no nodes are provisioned for it."""

    @property
    def flavor(self) -> str:
        """What queues call nodes of this kind."""
        return self.labels[FLAVOR]

    @property
    def declared_taints(self) -> tuple[Taint, ...]:
        """The taints that have to be declared to the cloud."""
        return tuple(taint for taint in self.taints if not taint.by_cloud)

    @property
    def accelerators_max(self) -> int:
        """Accelerators of the group when it is full."""
        return self.per_node * self.args.max

    @property
    def hourly_usd_max(self) -> float | None:
        """Estimated price of the full group per hour."""
        return None if self.hourly_usd is None else self.hourly_usd * self.args.max


class NodeGroup(pulumi.ComponentResource):
    """One node group of a cluster. The cluster's kind creates what is below it."""

    def __init__(self, shape: Shape, opts: pulumi.ResourceOptions) -> None:
        self.shape = shape
        super().__init__("tensorplane:index:NodeGroup", shape.name, _facts(shape), opts)

    def done(self, native: pulumi.Resource | None = None) -> None:
        """Say that everything below it is declared."""
        self.native = native
        self.register_outputs(_facts(self.shape))


def _facts(shape: Shape) -> dict[str, Any]:
    """What policies read: plain values, known before anything exists."""
    card, args = shape.accelerator, shape.args
    return {
        "accelerator": card.name if card else NO_ACCELERATOR,
        "machine": shape.machine.name if shape.machine else None,
        "minNodes": args.min,
        "maxNodes": args.max,
        "spot": args.spot,
        "gpusMax": shape.accelerators_max if card and card.kind == "gpu" else 0,
        "tpusMax": shape.accelerators_max if card and card.kind == "tpu" else 0,
        "hourlyUsdMax": shape.hourly_usd_max,
        "labels": dict(shape.labels),
        "taints": [str(taint) for taint in shape.taints],
    }
