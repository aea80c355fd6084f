"""Who lends to whom: the queues of a stack's cohorts, which are all in one."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate

from components.queue.quota import NOTHING, Amount, Quota
from components.queue.settings import ALONE, QueueArgs


class Lending:
    """What each queue lends of each kind of machine, and what that makes for the others. Linear in the queues."""

    def __init__(self, queues: Mapping[str, QueueArgs], quotas: Mapping[str, Sequence[Quota]]) -> None:
        self._shares = {name for name, args in queues.items() if args.cohort != ALONE}
        self._lent: dict[str, dict[str, Amount]] = {}
        for name in queues:
            for quota in quotas[name] if name in self._shares else ():
                lent = quota.lent or quota.guaranteed
                if lent.cpus or lent.gpus:
                    self._lent.setdefault(quota.flavor.name, {})[name] = lent
        self._by_others = {kind: _by_others(lent) for kind, lent in self._lent.items()}
        self._by_all = {kind: _total(lent.values()) for kind, lent in self._lent.items()}

    def lenders(self, borrower: str, kind: str) -> dict[str, Amount]:
        """How much of a kind each other queue lends at most, those that lend any."""
        if borrower not in self._shares:
            return {}
        return {name: lent for name, lent in self._lent.get(kind, {}).items() if name != borrower}

    def lent_to(self, borrower: str, kind: str) -> Amount:
        """How much of a kind all the others lend at most."""
        if borrower not in self._shares:
            return NOTHING
        return self._by_others.get(kind, {}).get(borrower) or self._by_all.get(kind, NOTHING)

    def obtainable(self, queue: str, quota: Quota) -> Amount:
        """The most of a kind that a queue's jobs can hold together: its own, and what others lend of what it may."""
        return quota.guaranteed.plus(quota.borrowable.at_most(self.lent_to(queue, quota.flavor.name)))


def _by_others(lent: Mapping[str, Amount]) -> dict[str, Amount]:
    """What all but each lend together. Nothing is subtracted: of some kinds there is no end."""
    amounts = list(lent.values())
    before = list(accumulate(amounts, Amount.plus, initial=NOTHING))
    after = list(accumulate(reversed(amounts), Amount.plus, initial=NOTHING))
    return {name: before[index].plus(after[-index - 2]) for index, name in enumerate(lent)}


def _total(amounts: Iterable[Amount]) -> Amount:
    *_, total = accumulate(amounts, Amount.plus, initial=NOTHING)
    return total
