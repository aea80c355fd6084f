"""What is asked about one job, what is answered, and how numbers and names are told in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from cli.queue_facts import Details, Facts, Object
from cli.queue_room import Room
from cli.queue_work import Pods, Work
from cli.volume_facts import age, size
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
        return f"{then:%Y-%m-%d %H:%M:%S} UTC ({age(then, self.now)} ago)" if then else "a time that nobody noted"


@dataclass(frozen=True)
class Answer:
    """What is told: the verdict in a sentence, more sentences, and the kinds of machines that are short."""

    verdict: str
    state: str
    """For programs: waiting, admitted, running, finished, failed, or stuck where only a change of settings helps."""
    lines: tuple[str, ...] = ()
    headings: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    after: tuple[str, ...] = ()
    """Sentences below the table."""
    notes: tuple[str, ...] = ()
    """What could not be asked."""


def some(names: Sequence[str], between: str = ", ") -> str:
    """Names; of many the first."""
    more = len(names) - SHOWN
    return between.join(names[:SHOWN]) + (f"{between}{more} more" if more > 0 else "")


def nth(number: int) -> str:
    """1st, 2nd, 3rd."""
    ending = {1: "st", 2: "nd", 3: "rd"}.get(number % 10 if number % 100 not in (11, 12, 13) else 0, "th")
    return f"{number}{ending}"


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


def amounts(amounts: Mapping[str, float]) -> str:
    """Several resources, GPUs first."""
    order = {GPU_RESOURCE: 0, "cpu": 1, "memory": 2}
    found = sorted(((name, count) for name, count in amounts.items() if count), key=lambda each: order.get(each[0], 3))
    return ", ".join(
        amount(name, count) if name == "memory" else f"{count:g} {resource_name(name)}" for name, count in found
    )
