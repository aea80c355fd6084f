"""GPUs outside of the queues' quotas after an update: how many, and who uses them; and those that no node group has."""

from __future__ import annotations

from collections.abc import Iterator

from tensorplane.cli.commands.preview import occupants
from tensorplane.cli.commands.preview.report import Report
from tensorplane.cli.commands.preview.sections import queues
from tensorplane.cli.commands.tiers.rows import Flavor, flavors
from tensorplane.cli.output.texts import bold
from tensorplane.components.base.labels import FLAVOR


def lines(report: Report) -> Iterator[str]:
    """A line for each flavor of which the update leaves more or fewer GPUs without quota, or none at all. None for a
    new stack, and none for one whose queues are deleted."""
    old, new = (
        {each.name: each for each in flavors(side(report)) if each.gpus} for side in (queues.before, queues.after)
    )
    if not (old and new):
        return
    for name in old:
        if name not in new:
            stranded = occupants.stranded(report, name)
            own = (
                f"; of this stack: {occupants.shortened(stranded)}"
                if stranded
                else "; none of this stack's workloads does"
            )
            yield f"no node group has {bold(name)} any more: jobs that require it never start{own}"
    renamed = _renamed(report)
    for name, flavor in new.items():
        yield from _free(report, flavor, old.get(name) or old.get(renamed.get(name, "")))


def _free(report: Report, flavor: Flavor, old: Flavor | None) -> Iterator[str]:
    """What changes of the GPUs of a flavor that no quota covers; a flavor takes the place of that of the same nodes."""
    before, after = (old.unreserved if old else 0), flavor.unreserved
    if before is None or after is None:
        return
    if after > max(before, 0):
        yield f"{bold(_uncovered(flavor))}{_before(flavor, old)}: {_use(report, flavor)}"
    elif after > 0 and old and old.name != flavor.name:
        yield f"{_uncovered(flavor)}, as before of {old.name}: {_use(report, flavor)}"
    elif before > max(after, 0):
        rest = f"left for pods without a queue: {before:g} → {max(after, 0):g}"
        yield f"{bold(flavor.name)} that no quota covers, {rest}. {_without(report, flavor)}"


def _uncovered(flavor: Flavor) -> str:
    return f"{flavor.unreserved:g} of {flavor.capacity:g} {flavor.name} are in no queue's quota"


def _before(flavor: Flavor, old: Flavor | None) -> str:
    if not old:
        return ""
    name = "" if old.name == flavor.name else f" {old.name}"
    return f" (before: {old.unreserved:g} of {old.capacity:g}{name})"


def _use(report: Report, flavor: Flavor) -> str:
    """Who can use GPUs that no quota covers, and what to do about it."""
    most = f"at most {flavor.guaranteed:g} at a time" if flavor.guaranteed else "none"
    remedy = "For jobs, raise queues.*.gpus; else lower nodeGroups.*.max"
    return f"jobs in queues use {most}. {_without(report, flavor)}. {remedy}"


def _without(report: Report, flavor: Flavor) -> str:
    """Who takes GPUs of a flavor without a queue."""
    own = occupants.unqueued(report, flavor.name)
    what = f"{flavor.name} without a queue"
    text = (
        f"Of this stack, {occupants.shortened(own)} may use {what}" if own else f"No workload of this stack uses {what}"
    )
    if not occupants.guard_refuses(report):
        return text
    return f"{text}, and its namespaces refuse other pods that try (ValidatingAdmissionPolicy)"


def _renamed(report: Report) -> dict[str, str]:
    """The flavor that the nodes of a flavor had before, by its name, where the node groups change theirs."""
    both = (
        [str((group.get("labels") or {}).get(FLAVOR, "")) for group in pair]
        for pair in report.registered("NodeGroup").values()
    )
    return {new: old for old, new in both if old and new and old != new}
