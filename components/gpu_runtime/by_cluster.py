"""What each kind of cluster brings for its GPUs, and so which runtime it may get."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Brings:
    """What is there before a GPU runtime is installed."""

    runtimes: tuple[str, ...]
    """Kinds of GPU runtime that can be had, the usual one first."""
    driver: bool = False
    """Whether driver and container toolkit are in the nodes' image."""
    divided: bool = True
    """Whether the GPUs of a group with MIG are divided when its nodes appear."""
    simulated: bool = False
    """Whether the nodes with GPUs are simulated: what looks for a GPU there finds none."""


_BRINGS = {
    # AL2023's NVIDIA image has no device plugin, and nothing in it makes MIG instances.
    "eks": Brings(("plugin", "operator", "present"), driver=True, divided=False),
    # Google installs its own plugin on every node with GPUs; the node pool tells it how to share them.
    "gke": Brings(("present",), driver=True),
    # AKS installs the driver and divides GPUs as the node pool says; the plugin is the user's.
    "aks": Brings(("plugin", "operator", "present"), driver=True),
    # It may well have a plugin already, and two of them hand out every GPU twice.
    "existing": Brings(("present", "plugin", "operator")),
    "embedded": Brings(("plugin", "present"), simulated=True),
}


def of(cluster_kind: str) -> Brings:
    """What a kind of cluster brings. One that is not listed is treated as one of yours."""
    return _BRINGS.get(cluster_kind, _BRINGS["existing"])
