"""Who has which cards now, as tables for the terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from cli.tier_table import table
from cli.top_rows import CORES, Kind, Namespace, Share, Top

_KINDS = ("kind", "nodes", "in nodes", "queues' own", "used", "no queue", "use")
_SHARES = ("queue", "kind", "used", "its own", "borrowed", "lent", "jobs")
_BAR = 16
_NOTHING = "-"


def render(top: Top) -> RenderableType:
    """Kinds of machines, queues, and namespaces."""
    parts: list[RenderableType] = [table(_KINDS, [_kind(kind) for kind in top.kinds]), ""]
    parts.append(table(_SHARES, _queues(top)))
    if any(share.lent and share.several for share in top.shares):
        parts.append(Text("≤: several queues lend it, and Kueue does not say whose part is in use.", style="dim"))
    names = [kind.name for kind in top.kinds]
    headings = ("namespace", *names, "running", "waiting", "GPUs waited for")
    parts += ["", table(headings, [_namespace(each, top.kinds) for each in top.namespaces])]
    return Group(*parts)


def _kind(kind: Kind) -> tuple[str, ...]:
    nodes = str(kind.nodes) if kind.nodes == kind.ready else f"{kind.ready} of {kind.nodes}"
    whole = max(kind.capacity, kind.quota)
    full = round(min((kind.used + kind.unqueued) / whole, 1) * _BAR) if whole else 0
    counts = (_count(kind.resource, each) for each in (kind.capacity, kind.quota, kind.used, kind.unqueued))
    return (kind.name, nodes, *counts, "█" * full + "░" * (_BAR - full))


def _queues(top: Top) -> Iterator[tuple[str, ...]]:
    for queue in top.queues:
        starting = f"{queue.starting} starting, " if queue.starting else ""
        jobs = f"{queue.running} running, {starting}{queue.waiting} waiting"
        jobs += "" if queue.admits else "; admits nothing"
        name = queue.name
        for share in (each for each in top.shares if each.queue == queue.name):
            yield (name, *_share(share), jobs)
            name = jobs = ""
        if name:
            yield (name, *(_NOTHING,) * (len(_SHARES) - 2), jobs)


def _share(share: Share) -> tuple[str, ...]:
    used, own, borrowed, lent = (
        _count(share.resource, each) for each in (share.used, share.quota, share.borrowed, share.lent)
    )
    return share.kind, used, own, borrowed, f"≤ {lent}" if share.several and share.lent else lent


def _namespace(one: Namespace, kinds: Sequence[Kind]) -> tuple[str, ...]:
    used = (_count(kind.resource, one.used.get(kind.name, 0)) for kind in kinds)
    running = ", ".join(
        told for count, told in ((one.running, f"{one.running}"), (one.starting, f"{one.starting} starting")) if count
    )
    return (
        one.name,
        *used,
        running or _NOTHING,
        *(str(each) if each else _NOTHING for each in (one.waiting, one.wanted)),
    )


def _count(resource: str, number: float) -> str:
    if not number:
        return _NOTHING
    unit = (" core" if number == 1 else " cores") if resource == CORES else ""
    return f"{number:g}{unit}"
