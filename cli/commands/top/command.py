"""Who has which accelerators now, and the queues' history."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from rich.console import Console
from rich.text import Text

from tensorplane.cli.commands.top import history as queue_history
from tensorplane.cli.commands.top import rows, tables
from tensorplane.cli.kueue import objects as queue_objects
from tensorplane.cli.kueue import workloads
from tensorplane.core.errors import UserError
from tensorplane.driver.stack_settings import StackSettings
from tensorplane.driver.target import Target

_MOST_HOURS = 24 * 90
HISTORY_NOTE = (
    "Times are UTC. The history comes from the Workloads that still exist: deleted ones are missing, and of one that"
    " was evicted several times only the last is known. Prometheus has the full history: docs/queues.md."
)


@dataclass(frozen=True)
class TopOptions:
    """The command's arguments."""

    stack: str
    context: str = ""
    hours: str = "3"
    """Of history; 0 for none."""
    as_json: bool = False


def run(options: TopOptions, console: Console) -> None:
    """Asks the stack's cluster, and prints."""
    hours = _hours(options.hours)
    target = Target.of(options.context, stack=options.stack)
    settings = StackSettings(options.stack, target.home)
    settings.source()
    objects = queue_objects.gather(target.answering_api(), settings.namespace)
    works, now = workloads.works(objects), datetime.now(UTC)
    found = rows.of(objects, works)
    cluster_queues = {queue.cluster_queue for queue in found.queues}
    queue_works = [work for work in works if work.cluster_queue in cluster_queues]
    points = queue_history.history(queue_works, now - timedelta(hours=hours), now)
    if options.as_json:
        print(json.dumps(plain(found, points if hours else [], objects.notes), indent=2))
        return
    show(found, points if hours else [], objects.notes, console)


def show(found: rows.Top, points: Sequence[queue_history.Point], notes: Sequence[str], console: Console) -> None:
    """Everything for people."""
    nothing = "You have no permission to list queues." if notes else "The stack has no queues in the cluster."
    console.print(tables.render(found) if found.queues else Text(nothing))
    for note in notes:
        console.print(Text(f"could not read: {note}", style="yellow"))
    if points and found.queues:
        console.print()
        for line in queue_history.draw_history(points, console.width):
            console.print(Text(line, no_wrap=True, overflow="crop"))
        console.print(Text(HISTORY_NOTE, style="dim"))


def plain(found: rows.Top, points: Sequence[queue_history.Point], notes: Sequence[str]) -> dict[str, Any]:
    """Everything for programs."""
    history = [{"at": point.at.isoformat(), "waiting": point.waiting, "gpus": point.gpus} for point in points]
    return {**asdict(found), "history": history, "notes": list(notes)}


def _hours(text: str) -> float:
    try:
        hours = float(text)
    except ValueError:
        hours = -1
    if not 0 <= hours <= _MOST_HOURS:
        raise UserError(f"--history: {text!r} is not a number of hours; set 0 to {_MOST_HOURS}")
    return hours
