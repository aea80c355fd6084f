"""Volumes, snapshots and leftovers as tables for the terminal, and as plain data."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from tensorplane.cli.commands.volumes.leftovers import Leftover
from tensorplane.cli.commands.volumes.rows import Mirror, Snapshot, Volume
from tensorplane.cli.output.tables import table
from tensorplane.cli.output.texts import first_names
from tensorplane.components.base.quantities import size
from tensorplane.core.times import age

_VOLUMES = ("volume", "storage", "size", "used", "access", "phase", "pods", "snapshots", "mirror", "protection")
_SNAPSHOTS = ("snapshot", "reason", "age", "size", "ready")
_LEFTOVERS = ("leftover", "was", "size", "age", "state")
_LEAST = ("access", "storage", "protection", "pods", "phase")
"""Columns that a narrow terminal leaves out, the least important first."""
_RIGHT = ("size", "used", "age")
_STYLES = {"Bound": "green", "Pending": "yellow", "Terminating": "yellow", "Lost": "red", "no": "red"}
_MAX_PODS = 2


def overview(
    volumes: Sequence[Volume], left: Sequence[Leftover], notes: Sequence[str], now: datetime
) -> RenderableType:
    """All volumes, and below them the leftovers of deleted ones."""
    parts: list[RenderableType] = []
    if volumes:
        rows = [
            (
                one.name,
                one.storage,
                size(one.size),
                size(one.used),
                ",".join(one.access) or "-",
                one.phase,
                _pods(one.pods),
                snapshots_text(one.snapshots, now),
                mirror_text(one.mirror, now),
                one.protection,
            )
            for one in volumes
        ]
        parts.append(table(_VOLUMES, rows, right=_RIGHT, unwrapped=_RIGHT, styles=_STYLES, least=_LEAST))
    else:
        parts.append(Text("No volumes."))
    parts += [Text(line, style="dim") for line in _requested(volumes)]
    if left:
        lost = [(f"{_KINDS[one.kind]} {one.name}", *_cells(one, now)) for one in left]
        parts += ["", table(_LEFTOVERS, lost, right=_RIGHT)]
    return Group(*parts, *(Text(f"could not read: {line}", style="yellow") for line in notes))


def commands(left: Sequence[Leftover], refresh: str) -> Iterator[str]:
    """The commands that restore and delete each leftover, as unwrapped lines to copy.

    `refresh`: the command that updates the stack and detects manual changes.
    """
    for one in left:
        yield ""
        yield f"{one.name} (was {one.was})"
        yield f"  restore: {one.back}"
        yield f"  delete:  {one.gone}"
    if any(one.kind == "PersistentVolume" for one in left):
        yield ""
        yield "A restored PersistentVolume waits for its claim: declare a volume of that name and size in the settings,"
        yield "with its former mirror (without a mirror if the settings did not declare it before), then run:"
        yield refresh


_KINDS = {"PersistentVolume": "pv", "VolumeSnapshotContent": "vsc"}


def _cells(one: Leftover, now: datetime) -> tuple[str, ...]:
    return one.was, size(one.size), age(one.since, now), one.state


def one_volume(volume: Volume, now: datetime) -> RenderableType:
    """The snapshots of one volume, a line each."""
    if not volume.snapshots:
        return Text(f"{volume.name} has no snapshots.")
    rows = [
        (one.name, one.reason, age(one.taken, now), size(one.size), "yes" if one.ready else one.error or "no")
        for one in volume.snapshots
    ]
    return table(_SNAPSHOTS, rows, right=_RIGHT, styles=_STYLES)


def snapshots_text(found: Sequence[Snapshot], now: datetime) -> str:
    """Their number and range of ages."""
    ready = [one for one in found if one.ready]
    if not found:
        return "-"
    summary = f"{len(ready)}"
    if ready:
        ages = age(ready[0].taken, now), age(ready[-1].taken, now)
        summary += f", {ages[0]} old" if ages[0] == ages[1] else f", {ages[0]} to {ages[1]} old"
    return summary + (f", {len(found) - len(ready)} not ready" if len(ready) < len(found) else "")


def mirror_text(mirror: Mirror | None, now: datetime) -> str:
    """The mirror's target and lag."""
    if mirror is None:
        return "-"
    return f"{mirror.to}, {age(mirror.reached, now)} behind" if mirror.reached else f"{mirror.to}, lag unknown"


def plain(volumes: Sequence[Volume], left: Sequence[Leftover], notes: Sequence[str], now: datetime) -> dict[str, Any]:
    """Everything for programs: bytes, and times as RFC 3339."""
    rows = [{**asdict(one), "mirror": _mirror_data(one.mirror, now)} for one in volumes]
    return {"volumes": rows, "leftovers": [asdict(one) for one in left], "notes": list(notes)}


def _mirror_data(mirror: Mirror | None, now: datetime) -> dict[str, Any] | None:
    if mirror is None:
        return None
    lag = round((now - mirror.reached).total_seconds()) if mirror.reached else None
    return {**asdict(mirror), "lag_seconds": lag}


def _requested(volumes: Sequence[Volume]) -> Iterator[str]:
    for one in volumes:
        if one.mirror and not one.mirror.reached and one.mirror.command:
            yield f"to see the lag of the mirror of {one.name}, run: {one.mirror.command}"


def _pods(names: Sequence[str]) -> str:
    return first_names(names, _MAX_PODS, between="\n", rest="\nand ") or "-"
