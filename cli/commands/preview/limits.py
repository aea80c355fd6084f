"""Changes that decide what pods may use, in words: tiers of node groups, quotas of queues and namespaces."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tensorplane.cli.commands.preview import occupants
from tensorplane.cli.commands.preview.report import Report
from tensorplane.cli.output.texts import bold
from tensorplane.components.base.labels import ACCELERATOR_YEAR

_QUOTA = "core/v1:ResourceQuota"
_CLUSTER_QUEUE = ":ClusterQueue"
_QUOTA_OF_FLAVOR = re.compile(
    r'\.flavors\["(?P<flavor>[^"]+)"\]\.resources\["(?P<resource>cpu|memory)"\]\.nominalQuota$'
)
_GPUS = 'spec.hard["requests.nvidia.com/gpu"]'


def lines(report: Report) -> Iterator[str]:
    """A line for each."""
    yield from _of_tiers(report)
    yield from _of_queues(report)
    yield from _of_namespaces(report)


def _of_tiers(report: Report) -> Iterator[str]:
    """Node groups whose tier changes, who else has the new one, and whose pods select it."""
    found = report.registered("NodeGroup")
    tiers = {
        name: tuple((side.get("labels") or {}).get(ACCELERATOR_YEAR) for side in both) for name, both in found.items()
    }
    for name, (old, new) in tiers.items():
        if not (old and new) or old == new:
            continue
        others = [other for other, (_, tier) in tiers.items() if tier == new and other != name]
        shared = f", which {', '.join(others)} {'have' if len(others) > 1 else 'has'} too" if others else ""
        selecting = list(dict.fromkeys(each.title for each in report.pods_after if each.selects_by(ACCELERATOR_YEAR)))
        own = f"of this stack, {occupants.shortened(selecting)} do" if selecting else "no workload of this stack does"
        yield (
            f"node group {bold(name)}: tier {old} → {new}, the year of its accelerator{shared}. Only pods that select"
            f" nodes by tier notice; {own}"
        )


def _of_queues(report: Report) -> Iterator[str]:
    """Flavors of which a queue's quota of cores and memory changes with its GPUs."""
    for change in report.changes:
        found: dict[str, list[str]] = {}
        for each in change.properties if change.type.endswith(_CLUSTER_QUEUE) else ():
            if (match := _QUOTA_OF_FLAVOR.search(each.path)) and each.old and each.new:
                before, after = (side.strip('"') for side in (each.old, each.new))
                found.setdefault(match["flavor"], []).append(f"{match['resource']} {before} → {after}")
        queue = max((q for q in report.registered("Queue") if change.name.endswith(f"-{q}")), key=len, default="")
        prefix = change.name.removesuffix(queue) if queue else ""
        for flavor, amounts in found.items():
            nodes = flavor.removeprefix(prefix)
            yield f"queue {bold(queue or change.name)}: on {nodes} nodes, guaranteed {', '.join(amounts)}"


def _of_namespaces(report: Report) -> Iterator[str]:
    for change in report.changes:
        for each in change.properties if change.type == _QUOTA else ():
            if each.path == _GPUS and each.old and each.new:
                before, after = each.old.strip('"'), each.new.strip('"')
                yield (
                    f"ResourceQuota {bold(change.name)}: all pods of the namespace together may request {after} GPUs of"
                    f" all kinds, before {before}"
                )
