"""What a row of the catalog says: accelerators, the machines that carry them, what those cost."""

from dataclasses import dataclass
from typing import Literal

Cloud = str
"""A cloud by the name of its folder in `data`, which is that of its kind of cluster: eks, gke, aks."""
GPU_RESOURCE = "nvidia.com/gpu"
"""The extended resource by which pods ask for GPUs."""
TPU_RESOURCE = "google.com/tpu"
"""The extended resource by which pods ask for the chips of TPUs."""


@dataclass(frozen=True)
class Accelerator:
    """One GPU model or TPU chip, the same on every cloud."""

    name: str
    """As settings name it: t4, a100-80gb, tpu-v5e."""
    kind: Literal["gpu", "tpu"]
    resource: str
    """The extended resource by which pods ask for it, and the key of the taint of its nodes."""
    product: str
    """As GPU Feature Discovery labels it; a TPU's, as GKE does."""
    architecture: str
    year: int
    """Of the architecture; orders accelerators from old to new."""
    memory_gib: float
    """Of one GPU or chip."""
    compute_capability: str | None
    nvlink: bool
    mps: bool
    time_slicing: bool
    mig: tuple[str, ...]
    """MIG profiles, the smallest first; none where the GPU cannot be partitioned."""
    tensorflow: bool
    """Whether TensorFlow's own wheels run on it."""
    source: str
    mig_instances: tuple[int, ...] = ()
    """How many instances of each profile of `mig` one GPU holds, in the same order."""

    @property
    def counts_as_gpu(self) -> bool:
        """Whether workloads ask for it by `gpus`, and queues count it: it is the resource that these are about."""
        return self.resource == GPU_RESOURCE

    def instances(self, profile: str) -> int:
        """How many MIG instances of one profile a GPU holds; 0 for a profile that it does not support."""
        return dict(zip(self.mig, self.mig_instances, strict=True)).get(profile, 0)


@dataclass(frozen=True)
class Withdrawn:
    """What was sold once, and what to use now."""

    name: str
    successor: str
    """The accelerator, or the machine, to use now."""
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
    """What the cloud calls the accelerator where it wants that: GKE's guest accelerator type, a TPU's label value."""
    attached: bool
    """Whether the accelerators are added to a plain machine (GKE's N1) and are no part of the type."""
    image: str
    """EKS: AMI type; GKE: image type; AKS: OS SKU."""
    efa: int
    """EFA network interfaces; 0 where there are none."""
    gpudirect: str | None
    """GPUDirect variant of the network: RDMA, TCPX, TCPXO; None where there is none."""
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
    """Day of the snapshot that the price on demand is from, as 2026-08-03."""
    source: str
    spot_date: str | None
    """Day of the spot price, which changes daily; None where there is none."""
    spot_source: str | None
