"""What an update does to the stack's cost, in sentences."""

from __future__ import annotations

from collections.abc import Sequence

from tensorplane.cli.output.numbers import change, dollars
from tensorplane.cli.output.texts import first_names
from tensorplane.components.base.price import Usd
from tensorplane.components.cost.difference import Compared, total
from tensorplane.components.cost.estimate import EXPECTED, HOURS_PER_MONTH, MAX, MIN, OWNED

_MAX_NAMES = 8
"""Maximum names in a sentence."""


def sentence(found: Sequence[Compared]) -> str:
    """How much more, or less, full node groups cost per hour and month, and groups at `min`; and what queues can keep
    busy, if only that changes."""
    groups = [each for each in found if each.kind == "group"]
    known = [each for each in groups if each.change(MAX) is not None]
    if not known:
        return ""
    old = total((each.before for each in known if each.before), MAX).usd
    new = total((each.after for each in known if each.after), MAX).usd
    excluded = [each.name for each in groups if each not in known]
    lacking = f", without {first_names(excluded, _MAX_NAMES)}, whose price is unknown" if excluded else ""
    before, after = f"${dollars(old)}", f"${dollars(new)}"
    if before == after:
        most = f"at most {after} per hour ({_month(new)} a month{lacking}), as before"
        return f"{most}{_at_least(known)}{_busier(found)}"
    months = f"a month {_month(old)} → {_month(new)}"
    return f"{change(new.high - old.high)} per hour at most ({before} → {after}, {months}{lacking}){_at_least(known)}"


def _month(hourly: Usd) -> str:
    """A month of full node groups, in dollars."""
    return f"${hourly.high * HOURS_PER_MONTH:,.0f}"


def _at_least(groups: Sequence[Compared]) -> str:
    """What groups at `min` cost, where that changes."""
    floors = _sums(groups, MIN)
    return (
        f", {change(floors[1] - floors[0])} at least ({_from_to(*floors)})" if floors and floors[0] != floors[1] else ""
    )


def _busier(found: Sequence[Compared]) -> str:
    """How much more of full groups the queues can keep busy."""
    sums = _sums([each for each in found if each.kind == "queue"], OWNED)
    if not sums or sums[0] == sums[1]:
        return ""
    more = "more" if sums[1] > sums[0] else "less"
    by = abs(sums[1] - sums[0])
    month = f"a month ${by * HOURS_PER_MONTH:,.0f}"
    return f", but jobs in queues can keep nodes for up to ${by:,.2f} {more} per hour ({month}) busy"


def covered(found: Sequence[Compared]) -> str:
    """How much of the cost of full groups the queues' quotas can use; empty without queues, or if it is unknown."""
    sums = _sums([each for each in found if each.kind == "queue"], OWNED)
    if not sums or not any(each.after for each in found):
        return ""
    as_before = ", as before" if sums[0] == sums[1] else ""
    if as_before and any((each.change(MAX) or 0) > 0 for each in found if each.kind == "group"):
        as_before = ", as before: jobs in queues use no more of them"
    return f"The queues' guaranteed quotas cover nodes for {_from_to(*sums)} per hour{as_before}"


def expected(found: Sequence[Compared]) -> str:
    """Which settings the likely cost lacks; empty if it is known."""
    names = [each.name for each in found if is_undeclared(each)]
    if not names:
        return ""
    return (
        f"The likely cost is unknown: set nodeGroups.*.expected of {first_names(names, _MAX_NAMES)} to the average"
        " number of nodes, and this report shows the cost per hour and month on average"
    )


def is_undeclared(one: Compared) -> bool:
    """Whether a node group has a price, but no declared average."""
    figures = one.after.figures if one.kind == "group" and one.after else {}
    return figures.get(MAX) is not None and EXPECTED in figures and figures[EXPECTED] is None


def _sums(found: Sequence[Compared], figure: str) -> tuple[float, float] | None:
    """The sum of a figure before and after; None if there is none, or if one is unknown."""
    both = [each.figures(figure) for each in found]
    known = [(before.high, after.high) for before, after in both if before is not None and after is not None]
    if not both or len(known) < len(both):
        return None
    return sum(before for before, _ in known), sum(after for _, after in known)


def _from_to(before: float, after: float) -> str:
    old, new = f"${before:,.2f}", f"${after:,.2f}"
    return new if old == new else f"{old} → {new}"
