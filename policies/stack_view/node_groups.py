"""Node groups: those of tensorplane, as its components register them, and those that a program makes beside them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from gpu_usage.manifest import UncountableError, whole_number

from stack_view import cloud_groups
from stack_view.rule import Finding
from stack_view.view import Resource, View, known

_NODE_GROUP_COMPONENT = "tensorplane:index:NodeGroup"
# Taints of these effects keep pods out; PreferNoSchedule does not.
_KEEPS_OUT = ("NoSchedule", "NoExecute")


@dataclass(frozen=True)
class Taint:
    """A taint that keeps pods out."""

    key: str
    value: str
    effect: str


@dataclass(frozen=True)
class Group:
    """A node group when it is full."""

    resource: Resource
    accelerator: str
    gpus: int
    """Accelerators of all its nodes, TPU chips included."""
    spot: bool
    smallest: int
    """Nodes that always run."""
    largest: int
    labels: Mapping[str, Any]
    taints: tuple[Taint, ...]
    usd: float | None = None
    """Price per hour of all its nodes; None if it is unknown."""

    @property
    def name(self) -> str:
        """As in the settings."""
        return self.resource.name

    @property
    def is_of_cloud(self) -> bool:
        """Whether a program makes it in a cloud, beside tensorplane's components."""
        return self.resource.type != _NODE_GROUP_COMPONENT

    @property
    def machines(self) -> list[str]:
        """Types of its machines in its cloud; none of tensorplane's, which are named by their accelerator."""
        return self.accelerator.split(", ") if self.is_of_cloud else []


def of(view: View, machines: cloud_groups.Machines) -> Iterator[Group | tuple[Resource, Finding]]:
    """The groups, and the resources that may be groups with accelerators but do not tell how many."""
    for resource in view.all:
        try:
            if resource.type == _NODE_GROUP_COMPONENT:
                yield _ours(resource)
            elif (read := cloud_groups.reader(resource)) and not is_owned(resource):
                yield _of_cloud(resource, read(resource.body, machines))
        except UncountableError as error:
            yield resource, Finding(error.problem, error.remedy)


@lru_cache(maxsize=1)
def groups(view: View) -> list[Group]:
    """The groups, those of a machine with an unknown number of accelerators with one a node. fleet-gpus asks for it."""
    return [each for each in of(view, None) if isinstance(each, Group)]


def _ours(resource: Resource) -> Group:
    body = resource.body
    chips = sum(whole_number(known(body, key) or 0, (key,)) for key in ("gpusMax", "tpusMax"))
    usd = known(body, "hourlyUsdMax")
    return Group(
        resource,
        str(known(body, "accelerator") or "none"),
        chips,
        bool(known(body, "spot")),
        whole_number(known(body, "minNodes") or 0, ("minNodes",)),
        whole_number(known(body, "maxNodes") or 0, ("maxNodes",)),
        known(body, "labels") or {},
        tuple(_written(taint) for taint in known(body, "taints") or () if taint.rpartition(":")[2] in _KEEPS_OUT),
        None if usd is None else float(usd),
    )


def _of_cloud(resource: Resource, read: cloud_groups.Read) -> Group:
    taints = tuple(Taint(*each) for each in read.taints if each[2] in _KEEPS_OUT)
    return Group(
        resource, read.machine, read.gpus * read.largest, read.spot, read.smallest, read.largest, read.labels, taints
    )


def _written(taint: str) -> Taint:
    key_and_value, _, effect = taint.rpartition(":")
    key, _, value = key_and_value.partition("=")
    return Taint(key, value, effect)


def is_owned(resource: Resource) -> bool:
    """Whether a component of tensorplane made it, whose NodeGroup is counted."""
    parent = resource.parent
    while parent is not None:
        if parent.type.startswith("tensorplane:"):
            return True
        parent = parent.parent
    return False
