"""What a kind of cluster brings for its GPUs, and so which GPU runtime it may get."""

from dataclasses import dataclass


@dataclass(frozen=True)
class GpuSupport:
    """What is there before a GPU runtime is installed."""

    runtimes: tuple[str, ...]
    """Kinds of GPU runtime that can be had, the usual one first."""
    driver: bool = False
    """Whether driver and container toolkit are in the nodes' image."""
    left_to_operator: bool = False
    """Whether node pools get an image without them under the GPU Operator, which installs its own."""
    divided: bool = True
    """Whether the GPUs of a group with MIG are divided when its nodes appear."""
    simulated: bool = False
    """Whether the nodes with GPUs are simulated: what looks for a GPU there finds none."""
