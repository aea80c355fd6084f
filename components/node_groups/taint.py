"""Taints of nodes."""

from dataclasses import dataclass

from tensorplane.components.node_groups.settings import Effect, TaintArgs


@dataclass(frozen=True)
class Taint:
    """A taint of the nodes."""

    key: str
    value: str
    effect: Effect
    by_cloud: bool = False
    """Whether the cloud sets it, so that it must not be declared to the cloud."""
    spot: bool = False
    """Whether it is the taint of spot nodes."""

    def __str__(self) -> str:
        return f"{self.key}={self.value}:{self.effect}"


def blocks_scheduling(taint: Taint | TaintArgs) -> bool:
    """Whether it keeps pods without a toleration out: not with effect PreferNoSchedule."""
    return taint.effect != "PreferNoSchedule"


def accelerator_taint(resource: str) -> tuple[str, str]:
    """Key and effect of the taint of nodes with accelerators. The key is their extended resource."""
    return resource, "NoSchedule"
