"""How much quota each queue can borrow from the others. All cohorts of a stack are in one root cohort."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import accumulate
from typing import Generic, Protocol, Self, TypeVar

from tensorplane.components.queues.quota import NOTHING, Amount, Quota
from tensorplane.components.queues.settings import ALONE, QueueArgs


class Summable(Protocol):
    """A number, or an amount of several resources."""

    def __add__(self, other: Self, /) -> Self: ...


Lent = TypeVar("Lent", bound=Summable)


class Cohort(Generic[Lent]):
    """What each queue lends of each flavor, and what the others can borrow. Linear in the number of queues."""

    def __init__(
        self, lent: Mapping[str, Mapping[str, Lent]], nothing: Lent, *, alone: Collection[str] = frozenset()
    ) -> None:
        """`lent`: by flavor, the queues that lend any of it. `alone`: the queues outside of the cohort."""
        self._lent, self._nothing, self._alone = lent, nothing, alone
        self._by_others = {flavor: _by_others(amounts, nothing) for flavor, amounts in lent.items()}
        self._by_all = {flavor: _total(amounts.values(), nothing) for flavor, amounts in lent.items()}

    def lenders(self, borrower: str, flavor: str) -> dict[str, Lent]:
        """The other queues that lend a flavor, and how much at most."""
        if borrower in self._alone:
            return {}
        return {name: lent for name, lent in self._lent.get(flavor, {}).items() if name != borrower}

    def borrowable(self, borrower: str, flavor: str) -> Lent:
        """How much of a flavor all other queues lend at most."""
        if borrower in self._alone:
            return self._nothing
        by_others = self._by_others.get(flavor, {})
        return by_others[borrower] if borrower in by_others else self._by_all.get(flavor, self._nothing)

    def borrowable_together(self, borrowers: Collection[str], flavor: str) -> Lent:
        """How much of a flavor the queues outside of these lend at most."""
        lent = self._lent.get(flavor, {})
        return _total((amount for name, amount in lent.items() if name not in borrowers), self._nothing)


def root_cohort(queues: Mapping[str, QueueArgs], quotas: Mapping[str, Sequence[Quota]]) -> Cohort[Amount]:
    """What the queues of these settings lend."""
    alone = {name for name, args in queues.items() if args.cohort == ALONE}
    found: dict[str, dict[str, Amount]] = {}
    for name in (name for name in queues if name not in alone):
        for quota in quotas[name]:
            lent = quota.lent or quota.guaranteed
            if lent.cpus or lent.gpus:
                found.setdefault(quota.flavor.name, {})[name] = lent
    return Cohort(found, NOTHING, alone=alone)


def max_quota(cohort: Cohort[Amount], queue: str, quota: Quota) -> Amount:
    """The most of a flavor that a queue's jobs can hold: its nominal quota and what it can borrow."""
    return quota.guaranteed + quota.borrowable.at_most(cohort.borrowable(queue, quota.flavor.name))


def _by_others(lent: Mapping[str, Lent], nothing: Lent) -> dict[str, Lent]:
    """What all other queues lend together, by queue. Sums only: amounts may be infinite, so none can be subtracted."""
    amounts = list(lent.values())
    before = list(accumulate(amounts, initial=nothing))
    after = list(accumulate(reversed(amounts), initial=nothing))
    return {name: before[index] + after[-index - 2] for index, name in enumerate(lent)}


def _total(amounts: Iterable[Lent], nothing: Lent) -> Lent:
    *_, total = accumulate(amounts, initial=nothing)
    return total
