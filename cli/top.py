"""`tensorplane top`: who has which cards now, and the queues' history."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from rich.console import Console
from rich.text import Text

from cli import history_plot, queue_facts, queue_history, queue_work, reach, top_rows, top_table
from embedded.fault import Fault
from embedded.hosts.stack_settings import StackSettings
from embedded.target import Target

_LONGEST = 24 * 90
SEEN = (
    "UTC. Of the Workloads that are there, by the times that they keep: one that was deleted is missing, and of one"
    " that was stopped several times only the last is known. Prometheus has the rest: docs/queues.md."
)


@dataclass(frozen=True)
class Question:
    """What somebody wants to know."""

    stack: str
    context: str = ""
    hours: str = "3"
    """Of history; 0 for none."""
    as_json: bool = False


def run(question: Question, console: Console) -> None:
    """Asks the stack's cluster, and prints."""
    hours = _hours(question.hours)
    target = Target.of(question.context, stack=question.stack)
    settings = StackSettings(question.stack, target.home)
    settings.source()
    facts = queue_facts.gather(reach.reached(target), settings.namespace)
    works, now = queue_work.works(facts), datetime.now(UTC)
    found = top_rows.of(facts, works)
    shown = {queue.cluster_queue for queue in found.queues}
    seen = [work for work in works if work.cluster_queue in shown]
    points = queue_history.history(seen, now - timedelta(hours=hours), now)
    if question.as_json:
        print(json.dumps(plain(found, points if hours else [], facts.notes), indent=2))
        return
    show(found, points if hours else [], facts.notes, console)


def show(found: top_rows.Top, points: Sequence[queue_history.Point], notes: Sequence[str], console: Console) -> None:
    """Everything for people."""
    nothing = "You may see no queues." if notes else "The stack has no queues in the cluster."
    console.print(top_table.render(found) if found.queues else Text(nothing))
    for note in notes:
        console.print(Text(f"not asked: {note}", style="yellow"))
    if points and found.queues:
        console.print()
        for line in history_plot.draw(points, console.width):
            console.print(Text(line, no_wrap=True, overflow="crop"))
        console.print(Text(SEEN, style="dim"))


def plain(found: top_rows.Top, points: Sequence[queue_history.Point], notes: Sequence[str]) -> dict[str, Any]:
    """Everything for programs."""
    history = [{"at": point.at.isoformat(), "waiting": point.waiting, "gpus": point.gpus} for point in points]
    return {**asdict(found), "history": history, "notes": list(notes)}


def _hours(text: str) -> float:
    try:
        hours = float(text)
    except ValueError:
        hours = -1
    if not 0 <= hours <= _LONGEST:
        raise Fault(f"--history: got {text}, need a number of hours from 0 to {_LONGEST}")
    return hours
