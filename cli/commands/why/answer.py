"""What was observed of a job, the answer of `why`, and the format of numbers and names in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from tensorplane.cli.api_values import Object
from tensorplane.cli.commands.why import limits
from tensorplane.cli.kueue.objects import ClusterObjects, JobObjects
from tensorplane.cli.kueue.quota_tree import QuotaTree
from tensorplane.cli.kueue.workloads import Pods, Work
from tensorplane.cli.output.texts import first_names
from tensorplane.components.base.plural import number_of
from tensorplane.components.base.quantities import size
from tensorplane.components.catalog import GPU_RESOURCE
from tensorplane.core.times import age

MAX_NAMES = 4
"""Maximum names in a sentence."""


@dataclass(frozen=True)
class Observed:
    """A job, and what the cluster says of it and its queue."""

    job_set: Object
    work: Work | None
    works: Sequence[Work]
    objects: ClusterObjects
    details: JobObjects
    quota: QuotaTree
    now: datetime
    deploy: str = "pulumi up"
    """The command that updates the stack."""
    refresh: str = "pulumi up --refresh"
    """The command that updates the stack and detects deleted objects."""

    @property
    def name(self) -> str:
        about = self.job_set["metadata"]
        inside = about["namespace"] == self.objects.namespace
        return str(about["name"] if inside else f"{about['namespace']}/{about['name']}")

    def name_of(self, work: Work) -> str:
        """Another job's name, as seen from the stack's namespace."""
        return work.name_from(self.objects.namespace)

    def crossed_limits(self, work: Work) -> tuple[str, ...]:
        """The limits of its namespace that its pods cross."""
        return limits.crossed(work.thing["spec"]["podSets"], self.details.limit_ranges)

    def ago(self, then: datetime | None) -> str:
        """A time, and how long ago it is."""
        return f"{then:%Y-%m-%d %H:%M:%S} UTC ({age(then, self.now)} ago)" if then else "an unknown time"


@dataclass(frozen=True)
class Answer:
    """The answer: the conclusion in a sentence, more sentences, and the flavors that are short."""

    conclusion: str
    state: str
    """For programs: waiting, admitted, running, finished, failed, or stuck if only a change of settings helps."""
    lines: tuple[str, ...] = ()
    headings: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    after: tuple[str, ...] = ()
    """Sentences below the table."""
    notes: tuple[str, ...] = ()
    """What could not be read."""


def some(names: Sequence[str], between: str = ", ") -> str:
    """Names; of many, the first ones."""
    return first_names(names, MAX_NAMES, between=between, rest=between)


def pods_text(pods: Pods) -> str:
    """Pods and what each requests."""
    each = amounts(pods.each)
    return f"1 {pods.role} pod with {each}" if pods.count == 1 else f"{pods.count} {pods.role} pods with {each} each"


def resource_name(resource: str) -> str:
    """A resource's name for people."""
    return {GPU_RESOURCE: "GPUs", "cpu": "CPUs", "memory": "memory", "": "nothing"}.get(resource, resource)


def amount(resource: str, number: float) -> str:
    """An amount of a resource."""
    return size(int(max(number, 0))) if resource == "memory" else f"{number:g}"


def _count(resource: str, count: float) -> str:
    name = resource_name(resource)
    return number_of(count, name.removesuffix("s")) if resource in (GPU_RESOURCE, "cpu") else f"{count:g} {name}"


def amounts(amounts: Mapping[str, float]) -> str:
    """Several resources, GPUs first."""
    order = {GPU_RESOURCE: 0, "cpu": 1, "memory": 2}
    found = sorted(((name, count) for name, count in amounts.items() if count), key=lambda each: order.get(each[0], 3))
    return ", ".join(amount(name, count) if name == "memory" else _count(name, count) for name, count in found)
