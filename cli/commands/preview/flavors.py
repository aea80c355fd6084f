"""GPUs that queues cannot use after an update: those that no quota covers, and those that no node group has."""

from __future__ import annotations

from collections.abc import Iterator

from cli.commands.preview.report import Report
from cli.commands.preview.sections import queues
from cli.commands.tiers.rows import Flavor, flavors


def lines(report: Report) -> Iterator[str]:
    """A line for each flavor of which the update leaves more GPUs without quota, or none at all. None for a new stack,
    and none for one whose queues are deleted."""
    old, new = (
        {each.name: each for each in flavors(side(report)) if each.gpus} for side in (queues.before, queues.after)
    )
    if not (old and new):
        return
    for name in old:
        if name not in new:
            yield f"no node group has **{name}** any more: jobs that require it never start"
    for name, flavor in new.items():
        before = old[name].unreserved if name in old else 0
        if flavor.unreserved and before is not None and flavor.unreserved > before:
            yield _uncovered(flavor, old.get(name))


def _uncovered(flavor: Flavor, old: Flavor | None) -> str:
    before = f", before {old.unreserved:g} of {old.capacity:g}" if old else ""
    return (
        f"**no queue's quota covers {flavor.unreserved:g} of {flavor.capacity:g} {flavor.name}**{before}: jobs in"
        " queues cannot use them; raise a quota, or leave them to pods without a queue"
    )
