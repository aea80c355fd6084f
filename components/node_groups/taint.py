"""Taints as nodes have them."""

from dataclasses import dataclass

from components.node_groups.settings import Effect, TaintArgs


@dataclass(frozen=True)
class Taint:
    """A taint as the nodes have it."""

    key: str
    value: str
    effect: Effect
    by_cloud: bool = False
    """Whether the cloud sets it by itself: it counts, and is never declared to the cloud."""
    spot: bool = False
    """Whether it keeps work that cannot be interrupted from spot nodes."""

    def __str__(self) -> str:
        return f"{self.key}={self.value}:{self.effect}"


def keeps_out(taint: Taint | TaintArgs) -> bool:
    """Whether pods that do not tolerate it stay away; one that is a preference keeps none away."""
    return taint.effect != "PreferNoSchedule"


def accelerator_taint(resource: str) -> tuple[str, str]:
    """Key and effect of the taint of nodes with accelerators: it has the key of their extended resource."""
    return resource, "NoSchedule"
