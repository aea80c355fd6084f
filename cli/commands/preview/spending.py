"""What an update does to the stack's cost, in sentences."""

from __future__ import annotations

from collections.abc import Sequence

from cli.output.numbers import change, dollars
from components.cost.difference import Compared, total
from components.cost.estimate import MAX, MIN, OWNED


def sentence(found: Sequence[Compared]) -> str:
    """How much more, or less, the full node groups cost per hour."""
    groups = [each for each in found if each.kind == "group"]
    known = [each for each in groups if each.change(MAX) is not None]
    if not known:
        return ""
    old = total((each.before for each in known if each.before), MAX).usd
    new = total((each.after for each in known if each.after), MAX).usd
    before, after = f"${dollars(old)}", f"${dollars(new)}"
    spans = after if before == after else f"{before} → {after}"
    excluded = [each.name for each in groups if each not in known]
    lacking = f", without {', '.join(excluded)}, whose price is unknown" if excluded else ""
    return f"{change(new.high - old.high)} per hour at most ({spans}{lacking}){_at_least(known)}"


def _at_least(groups: Sequence[Compared]) -> str:
    """What groups at `min` cost, where that changes."""
    floors = _sums(groups, MIN)
    return (
        f", {change(floors[1] - floors[0])} at least ({_from_to(*floors)})" if floors and floors[0] != floors[1] else ""
    )


def covered(found: Sequence[Compared]) -> str:
    """How much of the cost of full groups the queues' quotas can use; empty without queues, or if it is unknown."""
    sums = _sums([each for each in found if each.kind == "queue"], OWNED)
    if not sums or not any(each.after for each in found):
        return ""
    as_before = ", as before" if sums[0] == sums[1] else ""
    return f"The queues' guaranteed quotas cover nodes for {_from_to(*sums)} per hour{as_before}"


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
