"""Rows of the catalog: accelerators, machines and prices."""

from dataclasses import dataclass
from typing import Literal

Cloud = str
"""A cloud by the name of its folder in `data`, which is that of its kind of cluster: eks, gke, aks."""
GPU_RESOURCE = "nvidia.com/gpu"
"""The extended resource of GPUs."""
TPU_RESOURCE = "google.com/tpu"
"""The extended resource of TPU chips."""


@dataclass(frozen=True)
class Accelerator:
    """One GPU model or TPU chip, the same on every cloud."""

    name: str
    """Its name in settings: t4, a100-80gb, tpu-v5e."""
    kind: Literal["gpu", "tpu"]
    resource: str
    """Its extended resource, which is also the key of its nodes' taint."""
    product: str
    """Value of GPU Feature Discovery's product label; for a TPU, of GKE's label."""
    architecture: str
    year: int
    """Year of the architecture, which orders accelerators from old to new."""
    memory_gib: float
    """Of one GPU or chip."""
    compute_capability: str | None
    nvlink: bool
    mps: bool
    time_slicing: bool
    mig: tuple[str, ...]
    """MIG profiles, the smallest first; empty if the GPU does not support MIG."""
    tensorflow: bool
    """Whether TensorFlow's own wheels run on it."""
    source: str
    mig_instances: tuple[int, ...] = ()
    """Instances per GPU of each profile of `mig`, in the same order."""

    @property
    def counts_as_gpu(self) -> bool:
        """Whether it is a GPU that workloads request with `gpus` and queues have quota of."""
        return self.resource == GPU_RESOURCE

    def instances(self, profile: str) -> int:
        """MIG instances of one profile per GPU; 0 if it does not support the profile."""
        return dict(zip(self.mig, self.mig_instances, strict=True)).get(profile, 0)


@dataclass(frozen=True)
class Withdrawn:
    """A withdrawn accelerator or machine, and its successor."""

    name: str
    successor: str
    """The accelerator or machine to use instead."""
    reason: str
    source: str


@dataclass(frozen=True)
class Machine:
    """One machine type of one cloud."""

    cloud: Cloud
    name: str
    vcpus: int
    memory_gib: float
    arch: Literal["amd64", "arm64"]
    accelerator: str | None
    count: int
    """Accelerators per machine."""
    cloud_accelerator: str | None
    """The cloud's name of the accelerator, if required: GKE's guest accelerator type, a TPU's label value."""
    attached: bool
    """Whether the accelerators are attached to a plain machine (GKE's N1) instead of part of the type."""
    image: str
    """EKS: AMI type; GKE: image type; AKS: OS SKU."""
    efa: int
    """Number of EFA network interfaces."""
    gpudirect: str | None
    """GPUDirect variant of the network: RDMA, TCPX, TCPXO; None without GPUDirect."""
    topology: str | None
    """Chips of a TPU slice on one machine, such as 2x4."""
    source: str


@dataclass(frozen=True)
class Price:
    """List price in US dollars of one machine for one hour: an estimate, as of its date."""

    on_demand: float | None
    spot: float | None
    region: str
    date: str
    """Date of the on-demand price, such as 2026-08-03."""
    source: str
    spot_date: str | None
    """Date of the spot price, which changes daily; None without one."""
    spot_source: str | None
