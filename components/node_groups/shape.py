"""A node group with everything that follows from its settings, the catalog and the cluster."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from components.base.labels import FLAVOR
from components.catalog import Accelerator, Machine
from components.node_groups.settings import NodeGroupArgs, TaintArgs
from components.node_groups.taint import Taint, keeps_out


@dataclass(frozen=True)
class Shape:
    """A node group with everything that follows from its settings."""

    name: str
    args: NodeGroupArgs
    machine: Machine | None
    """None where no catalog lists the machines: on an existing cluster, and on the embedded one."""
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
    driver_in_image: bool = True
    """Whether nodes with GPUs come with NVIDIA's driver; False where the GPU runtime installs it, on AKS."""

    @property
    def own_taint(self) -> TaintArgs | None:
        """The first taint of the settings that keeps pods out; one that is a preference does not."""
        return next((taint for taint in self.args.taints if keeps_out(taint)), None)

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
        return None if self.hourly_usd is None else round(self.hourly_usd * self.args.max, 4)
