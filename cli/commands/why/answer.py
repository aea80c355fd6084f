"""A question about one job, its answer, and how numbers and names are written in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from cli.api_values import Object
from cli.kueue.facts import Details, Facts
from cli.kueue.quota_tree import Room
from cli.kueue.workloads import Pods, Work
from cli.output.texts import first
from cli.output.times import age
from components.base.plural import counted
from components.base.quantities import size
from components.catalog import GPU_RESOURCE

SHOWN = 4
"""Names that a sentence has room for."""


@dataclass(frozen=True)
class Asked:
    """One job, and everything that is known around it."""

    job_set: Object
    work: Work | None
    works: Sequence[Work]
    facts: Facts
    details: Details
    room: Room
    now: datetime
    deploy: str = "pulumi up"
    """The command that updates the stack."""
    refresh: str = "pulumi up --refresh"
    """The command that updates the stack and sees what was deleted of it."""

    @property
    def name(self) -> str:
        about = self.job_set["metadata"]
        inside = about["namespace"] == self.facts.namespace
        return str(about["name"] if inside else f"{about['namespace']}/{about['name']}")

    def told(self, work: Work) -> str:
        """Another job's name, as seen from the stack's namespace."""
        return work.told(self.facts.namespace)

    def ago(self, then: datetime | None) -> str:
        """A moment, and how long ago that is."""
        return f"{then:%Y-%m-%d %H:%M:%S} UTC ({age(then, self.now)} ago)" if then else "an unknown time"


@dataclass(frozen=True)
class Answer:
    """What is told: the verdict in a sentence, more sentences, and the flavors that are short."""

    verdict: str
    state: str
    """For programs: waiting, admitted, running, finished, failed, or stuck where only a change of settings helps."""
    lines: tuple[str, ...] = ()
    headings: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    after: tuple[str, ...] = ()
    """Sentences below the table."""
    notes: tuple[str, ...] = ()
    """What could not be read."""


def some(names: Sequence[str], between: str = ", ") -> str:
    """Names; of many the first."""
    return first(names, SHOWN, between=between, rest=between)


def pods_told(pods: Pods) -> str:
    """Pods and what each asks for."""
    each = amounts(pods.each)
    return f"1 {pods.role} pod with {each}" if pods.count == 1 else f"{pods.count} {pods.role} pods with {each} each"


def resource_name(resource: str) -> str:
    """What people call a resource."""
    return {GPU_RESOURCE: "GPUs", "cpu": "CPUs", "memory": "memory", "": "nothing"}.get(resource, resource)


def amount(resource: str, number: float) -> str:
    """A number of a resource."""
    return size(int(max(number, 0))) if resource == "memory" else f"{number:g}"


def _told(resource: str, count: float) -> str:
    name = resource_name(resource)
    return counted(count, name.removesuffix("s")) if resource in (GPU_RESOURCE, "cpu") else f"{count:g} {name}"


def amounts(amounts: Mapping[str, float]) -> str:
    """Several resources, GPUs first."""
    order = {GPU_RESOURCE: 0, "cpu": 1, "memory": 2}
    found = sorted(((name, count) for name, count in amounts.items() if count), key=lambda each: order.get(each[0], 3))
    return ", ".join(amount(name, count) if name == "memory" else _told(name, count) for name, count in found)
