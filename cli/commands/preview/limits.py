"""Changes that decide what pods may use, in words: the tier of node groups, and the GPUs of a whole namespace."""

from __future__ import annotations

from collections.abc import Iterator

from cli.commands.preview import occupants
from cli.commands.preview.report import Report
from components.base.labels import TIER

_QUOTA = "core/v1:ResourceQuota"
_GPUS = 'spec.hard["requests.nvidia.com/gpu"]'


def lines(report: Report) -> Iterator[str]:
    """A line for each."""
    yield from _of_tiers(report)
    yield from _of_namespaces(report)


def _of_tiers(report: Report) -> Iterator[str]:
    """Node groups whose tier changes, who else has the new one, and whose pods select it."""
    found = report.registered("NodeGroup")
    tiers = {name: tuple((side.get("labels") or {}).get(TIER) for side in both) for name, both in found.items()}
    for name, (old, new) in tiers.items():
        if not (old and new) or old == new:
            continue
        others = [other for other, (_, tier) in tiers.items() if tier == new and other != name]
        shared = f", which {', '.join(others)} {'have' if len(others) > 1 else 'has'} too" if others else ""
        selecting = list(dict.fromkeys(each.title for each in report.pods_after if each.selects_by(TIER)))
        own = f"of this stack, {occupants.listed(selecting)} do" if selecting else "no workload of this stack does"
        yield (
            f"node group **{name}**: tier {old} → {new}, the year of its accelerator{shared}. Only pods that select"
            f" nodes by tier notice; {own}"
        )


def _of_namespaces(report: Report) -> Iterator[str]:
    for change in report.changes:
        for each in change.properties if change.type == _QUOTA else ():
            if each.path == _GPUS and each.old and each.new:
                before, after = each.old.strip('"'), each.new.strip('"')
                yield (
                    f"ResourceQuota **{change.name}**: all pods of the namespace together may request {after} GPUs of"
                    f" all kinds, before {before}"
                )
