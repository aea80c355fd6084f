"""The queues of a preview as Markdown: who gets which machines, and who may be stopped for others."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from cli import queue_report, tier_text
from cli.queue_report import Queues

_WIDTH = 110
_STOPPED = (
    "These jobs may hold what is another queue's. When its owner wants it back, they are asked to stop, and go on from"
    " their checkpoint when there is room again."
)


def blocks(queues: Queues) -> Iterator[str]:
    """The sections, paragraph by paragraph; none for a stack without queues."""
    if not queues:
        return
    (before, after), (had, kinds) = queues.tiers, queues.kinds
    yield "## Queues"
    yield _table(tier_text.HEADINGS, tier_text.rows(before, after))
    yield _table(tier_text.KIND_HEADINGS, tier_text.kind_rows(had, kinds))
    if teams := tier_text.team_rows(after):
        yield _table(teams[0], teams[1:])
    drawn = tier_text.drawings(after, _WIDTH)
    if drawn:
        notes = [tier_text.LEGEND, *(note for each in drawn for note in each.scale)]
        lines = [line for each in drawn for line in each.lines()]
        yield "\n".join(["```", *lines, *notes, "```"])
    if queues.stakes:
        yield "## Preemption"
        yield _STOPPED
        yield _table(queue_report.STAKE_HEADINGS, (stake.cells for stake in queues.stakes))


def _table(headings: Sequence[str], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [f"| {' | '.join(line)} |" for line in (headings, *rows)]
    return "\n".join([lines[0], "|---" * len(headings) + "|", *lines[1:]])
