"""Who has which accelerators now, as tables for the terminal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from tensorplane.cli.commands.top.rows import CORES, Flavor, Namespace, Share, Top
from tensorplane.cli.output.numbers import NOTHING, count
from tensorplane.cli.output.tables import table

_FLAVORS = ("flavor", "nodes", "capacity", "guaranteed", "used", "unqueued", "usage")
_SHARES = ("queue", "flavor", "used", "guaranteed", "borrowed", "lent", "jobs")
_BAR = 16
_LEAST = ("usage", "unqueued", "lent", "borrowed")
"""Columns that a narrow terminal leaves out, the least important first."""


def render(top: Top) -> RenderableType:
    """Flavors, queues, and namespaces."""
    parts: list[RenderableType] = [_table(_FLAVORS, [_flavor(flavor) for flavor in top.flavors])]
    parts += [*(Text(trouble, style="yellow") for trouble in top.troubles), ""]
    parts.append(_table(_SHARES, _queues(top)))
    if any(share.lent and share.several for share in top.shares):
        parts.append(
            Text("≤: several queues lend this flavor, and Kueue does not tell whose quota is in use.", style="dim")
        )
    names = [flavor.name for flavor in top.flavors]
    headings = ("namespace", *names, "running", "waiting", "GPUs pending")
    parts += ["", _table(headings, [_namespace(each, top.flavors) for each in top.namespaces])]
    return Group(*parts)


def _table(headings: Sequence[str], rows: Iterable[tuple[str, ...]]) -> RenderableType:
    return table(headings, rows, unwrapped=("jobs",), least=_LEAST)


def _flavor(flavor: Flavor) -> tuple[str, ...]:
    nodes = str(flavor.nodes) if flavor.nodes == flavor.ready else f"{flavor.ready} of {flavor.nodes}"
    total = max(flavor.capacity, flavor.guaranteed)
    full = round(min((flavor.used + flavor.unqueued) / total, 1) * _BAR) if total else 0
    counts = (
        _count(flavor.resource, each) for each in (flavor.capacity, flavor.guaranteed, flavor.used, flavor.unqueued)
    )
    return (flavor.name, nodes, *counts, "█" * full + "░" * (_BAR - full))


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
            yield (name, *(NOTHING,) * (len(_SHARES) - 2), jobs)


def _share(share: Share) -> tuple[str, ...]:
    used, own, borrowed, lent = (
        _count(share.resource, each) for each in (share.used, share.guaranteed, share.borrowed, share.lent)
    )
    return share.flavor, used, own, borrowed, f"≤ {lent}" if share.several and share.lent else lent


def _namespace(one: Namespace, flavors: Sequence[Flavor]) -> tuple[str, ...]:
    used = (_count(flavor.resource, one.used.get(flavor.name, 0)) for flavor in flavors)
    running = ", ".join(
        text for count, text in ((one.running, f"{one.running}"), (one.starting, f"{one.starting} starting")) if count
    )
    return (
        one.name,
        *used,
        running or NOTHING,
        *(str(each) if each else NOTHING for each in (one.waiting, one.wanted)),
    )


def _count(resource: str, number: float) -> str:
    return count(number, cores=resource == CORES)
