"""What each queue has of each flavor: guaranteed, borrowable and lent, as amounts and as Kueue's quotas."""

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import astuple, dataclass
from typing import Any

from tensorplane.components.base import quantities
from tensorplane.components.catalog import GPU_RESOURCE
from tensorplane.components.cost.estimate import Estimate, Part, of_quotas
from tensorplane.components.node_groups.labels import CPU
from tensorplane.components.queues.flavors import ANY, Flavor
from tensorplane.components.queues.settings import ALONE, QueueArgs

CPU_RESOURCE, MEMORY_RESOURCE = "cpu", "memory"
COVERED = (CPU_RESOURCE, MEMORY_RESOURCE, GPU_RESOURCE)
"""One resource group: CPU and GPUs of a pod must be of the same flavor. Kueue never admits a job that requests a
resource which its queue does not cover."""
_UNRATIONED = {CPU_RESOURCE: "1M", MEMORY_RESOURCE: "1Ei"}
"""More than any cluster has."""


@dataclass(frozen=True)
class Amount:
    """CPU cores, memory and GPUs of one flavor."""

    cpus: float
    memory_gib: float
    gpus: int

    def of_key(self, name: str) -> float:
        """Cores for the name `cpu`, else GPUs."""
        return self.cpus if name == CPU else self.gpus

    def __add__(self, other: "Amount") -> "Amount":
        """Both together."""
        return Amount(self.cpus + other.cpus, self.memory_gib + other.memory_gib, self.gpus + other.gpus)

    def times(self, count: int) -> "Amount":
        """This amount, multiplied."""
        return Amount(self.cpus * count, self.memory_gib * count, self.gpus * count)

    def at_most(self, other: "Amount") -> "Amount":
        """The smaller amount of each resource."""
        return Amount(min(self.cpus, other.cpus), min(self.memory_gib, other.memory_gib), min(self.gpus, other.gpus))

    def holds(self, other: "Amount", times: int) -> bool:
        """Whether the other amount fits this many times."""
        return (
            other.cpus * times <= self.cpus + _ROUNDING
            and other.memory_gib * times <= self.memory_gib + _ROUNDING
            and other.gpus * times <= self.gpus
        )


_ROUNDING = 1e-6


@dataclass(frozen=True)
class Quota:
    """What one queue has of one flavor."""

    flavor: Flavor
    guaranteed: Amount
    borrowable: Amount
    lent: Amount | None
    """Lending limit; None for no limit."""

    @property
    def is_nothing(self) -> bool:
        """Whether the queue has no quota of the flavor."""
        return not any(amount.cpus or amount.gpus for amount in (self.guaranteed, self.borrowable))


def of(queue: QueueArgs, flavors: Mapping[str, Flavor]) -> list[Quota]:
    """The quotas of a queue in the order in which it uses the flavors: nodes without GPUs first, so that pods without
    GPUs get no GPU nodes; then from the oldest accelerator to the newest, reversed for high priority."""
    found = [quota for flavor in flavors.values() if not (quota := _of(queue, flavor)).is_nothing]
    plain = [quota for quota in found if not quota.flavor.is_gpu]
    with_gpus = [quota for quota in found if quota.flavor.is_gpu]
    return [*plain, *(reversed(with_gpus) if queue.priority == "high" else with_gpus)]


def _of(queue: QueueArgs, flavor: Flavor) -> Quota:
    own = {**queue.gpus, CPU: queue.cpus}
    # Flavors without a lending limit are lent completely.
    lent = _amount(queue, flavor, {**own, **queue.lends}) if any(n in queue.lends for n in flavor.quota_keys) else None
    return Quota(flavor, _amount(queue, flavor, own), _amount(queue, flavor, queue.may_borrow), lent)


NOTHING = Amount(0, 0, 0)
_GIB_PER_CORE = 4
"""GiB of memory per core of most clouds' general-purpose machines; for a queue without cores of its own."""


def _amount(queue: QueueArgs, flavor: Flavor, counts: Mapping[str, float]) -> Amount:
    """The amount of a flavor for quotas by name, with memory in proportion to its cores."""
    gpus = int(counts.get(flavor.name, 0))
    if flavor.is_gpu:
        return _with_gpus(flavor, gpus)
    cpus = counts.get(CPU, 0)
    memory_gib = cpus * (queue.memory_gib / queue.cpus if queue.cpus else _GIB_PER_CORE)
    # Without nodeGroups, one flavor has both cores and GPUs.
    return Amount(cpus, memory_gib, gpus if flavor.name == ANY else 0)


def _with_gpus(flavor: Flavor, gpus: int) -> Amount:
    share = flavor.share
    if share is None:
        return Amount(math.inf, math.inf, gpus) if gpus else NOTHING
    with_gpus = share.times(gpus)
    return Amount(with_gpus.cpus, with_gpus.memory_gib, gpus)


def estimate(queue: str, quotas: Iterable[Quota]) -> Estimate:
    """What the quotas of a queue cost per hour while jobs use all of them."""
    return of_quotas(
        queue,
        (
            Part(each.flavor.name, each.flavor.prices, astuple(each.guaranteed), astuple(each.borrowable))
            for each in quotas
        ),
    )


def in_cohort(queue: QueueArgs, quotas: Iterable[Quota]) -> bool:
    """Whether the ClusterQueue is in a cohort. With a topology, one that neither lends nor borrows is in it, too: when
    a job ends, Kueue retries pending jobs of the same cohort only."""
    return queue.cohort != ALONE or any(quota.flavor.levels for quota in quotas)


def resources(quota: Quota, queue: QueueArgs, *, in_cohort: bool) -> Iterator[dict[str, Any]]:
    """The quotas of a flavor in a ClusterQueue, for every covered resource."""
    nominal, borrowing, lent = (
        _spelled(amount) for amount in (quota.guaranteed, quota.borrowable, quota.lent or NOTHING)
    )
    for name in COVERED:
        found = {"name": name, "nominalQuota": nominal[name]}
        # Kueue refuses limits for a queue that is in no cohort.
        if in_cohort:
            found["borrowingLimit"] = "0" if queue.cohort == ALONE else borrowing[name]
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
