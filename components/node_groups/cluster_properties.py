"""Properties of a cluster that node groups depend on."""

from dataclasses import dataclass

from tensorplane.components.catalog import Cloud
from tensorplane.components.node_groups.taint import Taint


@dataclass(frozen=True)
class NodeTraits:
    """Properties of a kind of cluster for its nodes."""

    taints: tuple[Taint, ...] = ()
    """Taints that every node of every group has."""
    spot_taints: tuple[Taint, ...] = ()
    """Taints that the cloud sets on spot nodes."""
    automatic_taints: frozenset[str] = frozenset()
    """Keys of accelerator taints that the cloud sets."""
    label_domains: frozenset[str] = frozenset()
    """Domains of labels that the cloud refuses or sets."""
    taint_domains: frozenset[str] = frozenset()
    """Domains of taints that the cloud sets."""
    provisioner: bool = False
    """Whether the cloud can choose the machines of a group (`provisioner: automatic`)."""
    class_label: str | None = None
    """Label with the group's name, by which pods select nodes that the cloud provisions for it; None for any label."""
    replaces_by_age: bool = False
    """Whether its provisioner replaces nodes of a given age."""
    capacity_blocks: bool = False
    """Whether it has capacity blocks."""
    slices: bool = False
    """Whether it has multi-host TPU slices."""
    mps_of_old_gpus: float = 7.5
    """Compute capability below which fewer pods can share a GPU by MPS. A limit of Pascal, which NVIDIA's
    daemon also applies to Volta (NVIDIA/k8s-device-plugin@b5b9ab7, cmd/mps-control-daemon/mps/device.go)."""


@dataclass(frozen=True)
class ClusterProperties:
    """Properties of a cluster that node groups depend on."""

    kind: str
    """Kind of the cluster."""
    cloud: Cloud | None
    """Cloud of the machines; None without a catalog."""
    region: str | None
    traits: NodeTraits = NodeTraits()
