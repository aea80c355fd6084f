"""What the price of a training run is a share of: the nodes that it may run on."""

from __future__ import annotations

from collections.abc import Iterator

from cli.commands.preview import occupants
from cli.commands.preview.pods import Pods
from cli.commands.preview.report import Facts, Report
from cli.output.numbers import cost
from components.base import outputs
from components.base.plural import counted


def lines(report: Report) -> Iterator[str]:
    """A line for each training job whose nodes and their prices are known."""
    found = occupants.groups_of(report)
    for name, (_, new) in sorted(report.registered("TrainingJob").items()):
        groups = found.get(Pods(outputs.TRAINING_JOB, name, name).title, {}) if new else {}
        if groups and all(group.get("hourlyUsdMax") and group["maxNodes"] for group in groups.values()):
            yield _line(name, groups, int(new.get("gpus") or 0))


def _line(name: str, groups: dict[str, Facts], gpus: int) -> str:
    each = {group: found["hourlyUsdMax"] / found["maxNodes"] for group, found in groups.items()}
    spot = {group: " (spot)" if found["spot"] else "" for group, found in groups.items()}
    prices = ", ".join(f"{group} ${cost(price)}{spot[group]}" for group, price in each.items())
    said = f"{name}: its share of its nodes, which cost per hour and node: {prices}"
    if not gpus:
        return said
    nodes = {group: -(-gpus // _per_node(found)) for group, found in groups.items()}
    cheapest = min(nodes, key=lambda group: nodes[group] * each[group])
    least = cost(nodes[cheapest] * each[cheapest])
    return f"{said}; while nothing else runs there, it costs at least ${least} ({counted(nodes[cheapest], 'node')})"


def _per_node(group: Facts) -> int:
    return int(group["gpusMax"] + group["tpusMax"]) // int(group["maxNodes"]) or 1
