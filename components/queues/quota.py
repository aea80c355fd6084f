"""What each queue has of each kind of machine: sure, to borrow, to lend; in GPUs and as Kueue's quotas."""

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from components.base import quantities
from components.catalog import GPU_RESOURCE
from components.node_groups.labels import CPU
from components.queues.flavors import ANY, Flavor
from components.queues.settings import ALONE, QueueArgs

CPU_RESOURCE, MEMORY_RESOURCE = "cpu", "memory"
COVERED = (CPU_RESOURCE, MEMORY_RESOURCE, GPU_RESOURCE)
"""One group for all resources: a pod's CPU and GPU must come from the same machine. Kueue admits no job that asks for
what a queue does not cover."""
_UNRATIONED = {CPU_RESOURCE: "1M", MEMORY_RESOURCE: "1Ei"}
"""More than any cluster has."""


@dataclass(frozen=True)
class Amount:
    """Processors, memory and GPUs of one kind of machine."""

    cpus: float
    memory_gib: float
    gpus: int

    def counted(self, name: str) -> float:
        """What settings count by this name: cores as `cpu`, GPUs as any other."""
        return self.cpus if name == CPU else self.gpus

    def __add__(self, other: "Amount") -> "Amount":
        """Both together."""
        return Amount(self.cpus + other.cpus, self.memory_gib + other.memory_gib, self.gpus + other.gpus)

    def times(self, count: int) -> "Amount":
        """So many of it."""
        return Amount(self.cpus * count, self.memory_gib * count, self.gpus * count)

    def at_most(self, other: "Amount") -> "Amount":
        """Of each resource the smaller number."""
        return Amount(min(self.cpus, other.cpus), min(self.memory_gib, other.memory_gib), min(self.gpus, other.gpus))

    def holds(self, other: "Amount", times: int) -> bool:
        """Whether there is room for so many of the other."""
        return (
            other.cpus * times <= self.cpus + _ROUNDING
            and other.memory_gib * times <= self.memory_gib + _ROUNDING
            and other.gpus * times <= self.gpus
        )


_ROUNDING = 1e-6


@dataclass(frozen=True)
class Quota:
    """What one queue has of one kind of machine."""

    flavor: Flavor
    guaranteed: Amount
    borrowable: Amount
    lent: Amount | None
    """At most this much; None for all."""

    @property
    def is_nothing(self) -> bool:
        """Whether no pod could ever get any of it."""
        return not any(amount.cpus or amount.gpus for amount in (self.guaranteed, self.borrowable))


def of(queue: QueueArgs, flavors: Mapping[str, Flavor]) -> list[Quota]:
    """The kinds of machines that a queue may use, in the order in which it takes them: nodes without GPUs first, so
    that what needs none holds none; then, for high priority, from the newest card to the oldest, or the other way."""
    found = [quota for flavor in flavors.values() if not (quota := _of(queue, flavor)).is_nothing]
    plain = [quota for quota in found if not quota.flavor.is_gpu]
    cards = [quota for quota in found if quota.flavor.is_gpu]
    return [*plain, *(reversed(cards) if queue.priority == "high" else cards)]


def _of(queue: QueueArgs, flavor: Flavor) -> Quota:
    own = {**queue.gpus, CPU: queue.cpus}
    # Of what it does not name, it lends all.
    lent = _amount(queue, flavor, {**own, **queue.lends}) if any(n in queue.lends for n in flavor.counted) else None
    return Quota(flavor, _amount(queue, flavor, own), _amount(queue, flavor, queue.may_borrow), lent)


NOTHING = Amount(0, 0, 0)
_GIB_PER_CORE = 4
"""Of most clouds' general machines; for a queue that has no cores of its own."""


def _amount(queue: QueueArgs, flavor: Flavor, counts: Mapping[str, float]) -> Amount:
    """What numbers by name come to of one kind of machine, with the memory that goes with its cores."""
    gpus = int(counts.get(flavor.name, 0))
    if flavor.is_gpu:
        return _with_gpus(flavor, gpus)
    cpus = counts.get(CPU, 0)
    memory_gib = cpus * (queue.memory_gib / queue.cpus if queue.cpus else _GIB_PER_CORE)
    # On a cluster whose nodes nobody describes, GPUs are on the same ones.
    return Amount(cpus, memory_gib, gpus if flavor.name == ANY else 0)


def _with_gpus(flavor: Flavor, gpus: int) -> Amount:
    share = flavor.share
    if share is None:
        return Amount(math.inf, math.inf, gpus) if gpus else NOTHING
    return Amount(share.cpus * gpus, share.memory_gib * gpus, gpus)


def in_cohort(queue: QueueArgs, quotas: Iterable[Quota]) -> bool:
    """Whether Kueue has the queue in a cohort. One that neither lends nor borrows is there, too, where Kueue places
    pods by node: when a job ends, it looks again for room for those that wait in the same cohort, and in no other."""
    return queue.cohort != ALONE or any(quota.flavor.levels for quota in quotas)


def resources(quota: Quota, queue: QueueArgs, *, in_cohort: bool) -> Iterator[dict[str, Any]]:
    """The quota as a flavor of a ClusterQueue lists it: every resource, in one order."""
    sure, more, lent = (_spelled(amount) for amount in (quota.guaranteed, quota.borrowable, quota.lent or NOTHING))
    for name in COVERED:
        found = {"name": name, "nominalQuota": sure[name]}
        # Outside of a cohort there is nobody to borrow from, and Kueue refuses to be told how much.
        if in_cohort:
            found["borrowingLimit"] = "0" if queue.cohort == ALONE else more[name]
            if queue.cohort == ALONE:
                found["lendingLimit"] = "0"
            elif quota.lent is not None:
                found["lendingLimit"] = lent[name]
        yield found


def _spelled(amount: Amount) -> dict[str, str]:
    if math.isinf(amount.cpus):
        return {**_UNRATIONED, GPU_RESOURCE: str(amount.gpus)}
    return {
        CPU_RESOURCE: quantities.cpus(amount.cpus),
        MEMORY_RESOURCE: quantities.gibibytes(amount.memory_gib),
        GPU_RESOURCE: str(amount.gpus),
    }
