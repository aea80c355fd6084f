"""How much more, or less, storage the stack's volumes request. The estimates of its cost have no prices of storage."""

from __future__ import annotations

from collections.abc import Iterator

from cli.commands.preview.report import OURS, Report
from cli.output import aggregated
from components.base import outputs


def sentence(report: Report) -> str:
    """Which volumes come, go, grow or shrink, and by how much together; empty if none does, or if none is known."""
    changes = list(_changes(report))
    if not changes:
        return ""
    rise = sum(after - before for _, before, after in changes)
    together = f"{abs(rise):,.12g} GiB {'more' if rise > 0 else 'less'}" if rise else "as much as before"
    named = [f"{name} {before:,.12g} → {after:,.12g} GiB" for name, before, after in changes]
    return f"without storage, of which volumes request {together} ({aggregated.names(named)})"


def _changes(report: Report) -> Iterator[tuple[str, float, float]]:
    for name, sides in sorted(report.registered(outputs.VOLUME.removeprefix(OURS)).items()):
        before, after = (side.get("sizeGib") if side else 0 for side in sides)
        # One that is secret, or that only the update knows, is no number.
        if isinstance(before, int | float) and isinstance(after, int | float) and before != after:
            yield name, before, after
