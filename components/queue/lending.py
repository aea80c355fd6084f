"""Who lends to whom: the queues of a stack's cohorts, which are all in one."""

from collections.abc import Mapping, Sequence

from components.queue.quota import Amount, Quota
from components.queue.settings import ALONE, QueueArgs


def lenders(
    borrower: str, kind: str, queues: Mapping[str, QueueArgs], quotas: Mapping[str, Sequence[Quota]]
) -> dict[str, Amount]:
    """How much of a kind each other queue lends at most, those that lend any."""
    if queues[borrower].cohort == ALONE:
        return {}
    return {
        name: lent
        for name, args in queues.items()
        if name != borrower and args.cohort != ALONE
        for quota in quotas[name]
        if quota.flavor.name == kind and (lent := quota.lent or quota.guaranteed).counted(quota.flavor)
    }


def obtainable(
    queue: str, quota: Quota, queues: Mapping[str, QueueArgs], quotas: Mapping[str, Sequence[Quota]]
) -> Amount:
    """The most of a kind that a queue's jobs can ever hold together: its own, and what others lend of what it may."""
    found = list(lenders(queue, quota.flavor.name, queues, quotas).values())
    lent = Amount(
        sum(each.cpus for each in found), sum(each.memory_gib for each in found), sum(each.gpus for each in found)
    )
    return quota.guaranteed.plus(quota.borrowable.at_most(lent))
