"""Settings of node groups, as people write them under `nodeGroups`."""

from typing import Annotated, Literal

from pydantic import Field

from components.base.model import Filled, Line, Model

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
    """Several pods time-slice one GPU, without isolation of their memory."""

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
    """The accelerator of each node, by its name in the catalog, which gives the machine: t4, a100-80gb, tpu-v5e."""
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
    """Zones of the nodes; those of the cluster by default. With accelerators, it is all that sell them on GKE, and none
    on AKS, unless the cluster's settings name zones."""
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
