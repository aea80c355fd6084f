"""What of a cluster decides how its node groups come out."""

from dataclasses import dataclass

from components.catalog import Cloud
from components.node_groups.taint import Taint


@dataclass(frozen=True)
class NodeTraits:
    """What a kind of cluster does with its nodes, and what it can do."""

    taints: tuple[Taint, ...] = ()
    """Taints that every node of every group has."""
    spot_taints: tuple[Taint, ...] = ()
    """Taints that the cloud sets on spot nodes by itself."""
    automatic_taints: frozenset[str] = frozenset()
    """Keys of the taints of accelerators that the cloud sets by itself."""
    label_domains: frozenset[str] = frozenset()
    """Domains of labels that the cloud refuses in a group's settings, or sets by itself."""
    taint_domains: frozenset[str] = frozenset()
    """Domains of taints that the cloud sets by itself."""
    provisioner: bool = False
    """Whether the cloud can choose the machines of a group (`provisioner: automatic`)."""
    class_label: str | None = None
    """Label by which pods select the nodes that the cloud provisions for a group, with the group's name as its value;
    None where any label does."""
    replaces_by_age: bool = False
    """Whether its provisioner replaces nodes of a given age."""
    capacity_blocks: bool = False
    """Whether it sells GPUs for a fixed time."""
    slices: bool = False
    """Whether it wires TPUs of several machines to a slice."""
    mps_of_old_gpus: float = 7.5
    """Compute capability below which fewer pods can share a GPU by MPS. The limit is that of Pascal's hardware, and
    NVIDIA's daemon counts Volta in (NVIDIA/k8s-device-plugin@b5b9ab7, cmd/mps-control-daemon/mps/device.go)."""


@dataclass(frozen=True)
class Site:
    """What of a cluster decides how its node groups come out."""

    kind: str
    """Kind of the cluster."""
    cloud: Cloud | None
    """Whose machines; None where no catalog lists them."""
    region: str | None
    traits: NodeTraits = NodeTraits()
