"""A node group, resolved with the catalog and the kind of cluster."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from tensorplane.components.base.labels import FLAVOR
from tensorplane.components.base.price import NodePrice
from tensorplane.components.catalog import Accelerator, Machine
from tensorplane.components.node_groups.settings import NodeGroupArgs, TaintArgs
from tensorplane.components.node_groups.taint import Taint, blocks_scheduling


@dataclass(frozen=True)
class Shape:
    """A resolved node group."""

    name: str
    args: NodeGroupArgs
    machine: Machine | None
    """None without a catalog of machines: on an existing cluster, and on the embedded one."""
    alternatives: tuple[Machine, ...]
    """Alternative machines, for spot capacity."""
    accelerator: Accelerator | None
    per_node: int
    """Accelerators per node; 0 without accelerators."""
    labels: Mapping[str, str]
    taints: tuple[Taint, ...]
    hourly_usd: float | None
    """Estimated price of one node; None if the catalog has none."""
    resources: Mapping[str, int] = field(default_factory=dict)
    """Extended resources of each node; a shared GPU counts once per pod."""
    selector: Mapping[str, str] = field(default_factory=dict)
    """Labels that a pod must select so that the cloud provisions nodes for it."""
    driver_in_image: bool = True
    """Whether nodes with GPUs have NVIDIA's driver; False if the GPU runtime installs it, on AKS."""
    price_date: str = ""
    """Date of the price; empty without one."""
    price_missing: str = ""
    """Why the price is unknown; empty if it is known."""

    @property
    def own_taint(self) -> TaintArgs | None:
        """The first taint of the settings with effect NoSchedule or NoExecute."""
        return next((taint for taint in self.args.taints if blocks_scheduling(taint)), None)

    @property
    def flavor(self) -> str:
        """The flavor's name."""
        return self.labels[FLAVOR]

    @property
    def declared_taints(self) -> tuple[Taint, ...]:
        """The taints to declare to the cloud."""
        return tuple(taint for taint in self.taints if not taint.by_cloud)

    @property
    def accelerators_max(self) -> int:
        """Accelerators of the full group."""
        return self.per_node * self.args.max

    @property
    def price(self) -> NodePrice | None:
        """The price of one node, to be shared between pods; None if the catalog has none."""
        if self.hourly_usd is None or self.machine is None:
            return None
        gpus = self.resources.get(self.accelerator.resource) if self.accelerator else None
        return NodePrice(self.hourly_usd, self.machine.vcpus, self.machine.memory_gib, gpus or self.per_node)

    @property
    def hourly_usd_max(self) -> float | None:
        """Estimated price of the full group per hour."""
        return None if self.hourly_usd is None else round(self.hourly_usd * self.args.max, 4)
