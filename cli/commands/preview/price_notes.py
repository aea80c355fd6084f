"""What the report's prices are: on demand or spot, of which machines, and of when."""

from __future__ import annotations

from collections.abc import Iterator

from cli.commands.preview.report import Facts, Report
from cli.output.texts import first

_ESTIMATES = (
    "Estimates in US dollars without taxes, discounts, disks, network traffic and the cluster itself; - means unknown."
)
_BASES = {False: "List prices on demand", True: "Spot prices, which change daily"}
_NO_DATE = "an unknown date"
_MOST = 8


def text(report: Report) -> str:
    """That they are estimates, and the machines of the node groups by date of their price, before and after."""
    found: dict[bool, dict[str, list[str]]] = {spot: {} for spot in _BASES}
    for _, both in sorted(report.registered("NodeGroup").items()):
        for group in filter(_is_priced, both):
            machines = found[bool(group["spot"])].setdefault(_date(group), [])
            if group["machine"] not in machines:
                machines.append(group["machine"])
    return " ".join([_ESTIMATES, *(f"{_BASES[spot]}: {'; '.join(_dated(by))}." for spot, by in found.items() if by)])


def basis(old: Facts, new: Facts) -> str:
    """`spot`, if a node group's price is one before or after the update, or what it changes to; else empty."""
    words = ["spot" if group["spot"] else "on demand" for group in (old, new) if group]
    return "" if "spot" not in words else " → ".join(dict.fromkeys(words))


def _is_priced(group: Facts) -> bool:
    return group.get("machine") is not None and group.get("hourlyUsdMax") is not None


def _date(group: Facts) -> str:
    return (group.get("cost") or {}).get("date") or _NO_DATE


def _dated(machines: dict[str, list[str]]) -> Iterator[str]:
    return (f"{first(names, _MOST)} of {date}" for date, names in sorted(machines.items()))
