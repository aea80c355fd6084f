"""GPU components of a kind of cluster, and the GPU runtimes that it supports."""

from dataclasses import dataclass


@dataclass(frozen=True)
class GpuSupport:
    """Components that exist before a GPU runtime is installed."""

    runtimes: tuple[str, ...]
    """Supported kinds of GPU runtime, the default first."""
    driver: bool = False
    """Whether the node image has driver and container toolkit."""
    left_to_operator: bool = False
    """Whether node pools have an image without them if the GPU Operator is used, which installs its own."""
    divided: bool = True
    """Whether new nodes of a group with MIG are already partitioned."""
    simulated: bool = False
    """Whether the nodes with GPUs are simulated, so that discovery finds no GPUs."""
