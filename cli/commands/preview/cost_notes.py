"""Notes on the costs: which prices they are, training runs' shares of nodes, and storage, which they leave out."""

from __future__ import annotations

from collections.abc import Iterator

from tensorplane.cli.commands.preview import occupants
from tensorplane.cli.commands.preview.pods import Pods
from tensorplane.cli.commands.preview.report import OURS, Outputs, Report
from tensorplane.cli.output import aggregated
from tensorplane.cli.output.numbers import cost
from tensorplane.cli.output.texts import first_names
from tensorplane.components.base import outputs
from tensorplane.components.base.plural import number_of


def storage_note(report: Report) -> str:
    """Which volumes come, go, grow or shrink, and by how much together; empty if none does, or if none is known."""
    changes = list(_changes(report))
    if not changes:
        return ""
    rise = sum(after - before for _, before, after in changes)
    together = f"{abs(rise):,.12g} GiB {'more' if rise > 0 else 'less'}" if rise else "as much as before"
    volumes = [f"{name} {before:,.12g} → {after:,.12g} GiB" for name, before, after in changes]
    return f"without storage, of which volumes request {together} ({aggregated.names(volumes)})"


def _changes(report: Report) -> Iterator[tuple[str, float, float]]:
    for name, sides in sorted(report.registered(outputs.VOLUME.removeprefix(OURS)).items()):
        before, after = (side.get("sizeGib") if side else 0 for side in sides)
        # One that is secret, or that only the update knows, is no number.
        if isinstance(before, int | float) and isinstance(after, int | float) and before != after:
            yield name, before, after


_ESTIMATES = (
    "Estimates in US dollars without taxes, discounts, disks, network traffic and the cluster itself; - means unknown."
)
_BASES = {False: "List prices on demand", True: "Spot prices, which change daily"}
_NO_DATE = "an unknown date"
_MAX_NAMES = 8


def price_note(report: Report) -> str:
    """That they are estimates, and the machines of the node groups by date of their price, before and after."""
    found: dict[bool, dict[str, list[str]]] = {spot: {} for spot in _BASES}
    for _, both in sorted(report.registered("NodeGroup").items()):
        for group in filter(_is_priced, both):
            machines = found[bool(group["spot"])].setdefault(_date(group), [])
            if group["machine"] not in machines:
                machines.append(group["machine"])
    return " ".join([_ESTIMATES, *(f"{_BASES[spot]}: {'; '.join(_dated(by))}." for spot, by in found.items() if by)])


def basis(old: Outputs, new: Outputs) -> str:
    """`spot`, if a node group's price is one before or after the update, or what it changes to; else empty."""
    words = ["spot" if group["spot"] else "on demand" for group in (old, new) if group]
    return "" if "spot" not in words else " → ".join(dict.fromkeys(words))


def _is_priced(group: Outputs) -> bool:
    return group.get("machine") is not None and group.get("hourlyUsdMax") is not None


def _date(group: Outputs) -> str:
    return (group.get("cost") or {}).get("date") or _NO_DATE


def _dated(machines: dict[str, list[str]]) -> Iterator[str]:
    return (f"{first_names(names, _MAX_NAMES)} of {date}" for date, names in sorted(machines.items()))


def training_shares(report: Report) -> Iterator[str]:
    """A line for each training job whose nodes and their prices are known."""
    found = occupants.groups_of(report)
    for name, (_, new) in sorted(report.registered("TrainingJob").items()):
        groups = found.get(Pods(outputs.TRAINING_JOB, name, name).title, {}) if new else {}
        if groups and all(group.get("hourlyUsdMax") and group["maxNodes"] for group in groups.values()):
            yield _line(name, groups, int(new.get("gpus") or 0))


def _line(name: str, groups: dict[str, Outputs], gpus: int) -> str:
    each = {group: found["hourlyUsdMax"] / found["maxNodes"] for group, found in groups.items()}
    spot = {group: " (spot)" if found["spot"] else "" for group, found in groups.items()}
    prices = ", ".join(f"{group} ${cost(price)}{spot[group]}" for group, price in each.items())
    text = f"{name}: its share of its nodes, which cost per hour and node: {prices}"
    if not gpus:
        return text
    nodes = {group: -(-gpus // _per_node(found)) for group, found in groups.items()}
    cheapest = min(nodes, key=lambda group: nodes[group] * each[group])
    least = cost(nodes[cheapest] * each[cheapest])
    return f"{text}; while nothing else runs there, it costs at least ${least} ({number_of(nodes[cheapest], 'node')})"


def _per_node(group: Outputs) -> int:
    return int(group["gpusMax"] + group["tpusMax"]) // int(group["maxNodes"]) or 1
