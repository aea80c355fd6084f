"""Settings of node groups."""

from typing import Annotated, Literal

from pydantic import Field

from tensorplane.components.base.model import Line, Model, NonEmptyStr, Zones

Effect = Literal["NoSchedule", "NoExecute", "PreferNoSchedule"]


class TaintArgs(Model):
    """A taint, which pods must tolerate to run on the nodes."""

    key: NonEmptyStr
    """The taint's key, such as team."""
    value: Line = ""
    """The taint's value."""
    effect: Effect = "NoSchedule"
    """What happens to pods that do not tolerate it, in Kubernetes' spelling on every cloud."""


class TimeSlicing(Model):
    """Time-slicing: several pods share a GPU in turns, without memory isolation."""

    kind: Literal["timeSlicing"] = "timeSlicing"
    replicas: Annotated[int, Field(ge=2, le=64)]
    """Pods per GPU."""


class Mps(Model):
    """MPS: several pods share a GPU at the same time, each with a part of its memory."""

    kind: Literal["mps"] = "mps"
    replicas: Annotated[int, Field(ge=2, le=48)]
    """Pods per GPU."""


class Mig(Model):
    """MIG: each GPU is partitioned into instances in hardware."""

    kind: Literal["mig"] = "mig"
    profile: NonEmptyStr
    """Size of each instance, such as 1g.10gb."""


Sharing = Annotated[TimeSlicing | Mps | Mig, Field(discriminator="kind")]


class Reservation(Model):
    """A capacity reservation."""

    id: NonEmptyStr
    """The reservation: on EKS a capacity reservation (cr-…), on GKE its name, on AKS the id of a capacity reservation
    group."""
    capacity_block: bool = False
    """Whether it is an EKS capacity block: GPUs reserved for a fixed time."""


class NodeGroupArgs(Model):
    """Settings of one node group: an accelerator or a machine, and how many."""

    accelerator: NonEmptyStr | None = None
    """Accelerator of each node, by its name in the catalog, which selects the machine: t4, a100-80gb, tpu-v5e."""
    per_node: Annotated[int, Field(ge=1, le=16)] = 1
    """Number of accelerators per node."""
    machine: NonEmptyStr | None = None
    """Machine type in the cloud's own name. With `accelerator`, the machine to prefer among those that have it."""
    topology: NonEmptyStr | None = None
    """GKE: topology of a multi-host TPU slice, such as 4x4. The group is one such slice."""
    min: Annotated[int, Field(ge=0, le=5000)] = 0
    """Minimum number of nodes."""
    max: Annotated[int, Field(ge=1, le=5000)]
    """Maximum number of nodes."""
    expected: Annotated[float, Field(ge=0, le=5000)] | None = None
    """Number of nodes that run on average, from `min` to `max`, for estimates of cost. Without it, the cost per month
    is unknown, unless `min` equals `max`."""
    spot: bool = False
    """Whether to use spot machines, which are cheaper and may be reclaimed by the cloud. Only interruptible workloads
    run on them."""
    zones: Zones = ()
    """Zones of the nodes; those of the cluster by default. For accelerators, the default is all zones that have them on
    GKE, and none on AKS, unless the cluster's settings name zones."""
    reserved: Reservation | None = None
    """A capacity reservation for the nodes."""
    sharing: Sharing | None = None
    """How several pods share a GPU; one pod per GPU by default."""
    provisioner: Literal["group", "automatic"] = "group"
    """`group` is an autoscaled group of one machine type, `automatic` uses Karpenter (EKS) or node auto-provisioning
    (GKE)."""
    max_age_days: Annotated[int, Field(ge=1, le=3650)] | None = None
    """Days after which Karpenter (EKS, `automatic`) replaces a node, with a newer image; 30 by default, and never with
    accelerators. Jobs with checkpoints save and stop; others finish first."""
    disk_gib: Annotated[int, Field(ge=30, le=65536)] = 100
    """Boot disk of each node in GiB. Images with TensorFlow and CUDA require 15."""
    labels: dict[NonEmptyStr, Line] = Field(default_factory=dict)
    """Additional labels of the nodes."""
    taints: tuple[TaintArgs, ...] = ()
    """Additional taints of the nodes."""
