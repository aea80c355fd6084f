"""Workloads that mount another volume than before, from the claims of their pods."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from cli.commands.preview.report import OURS, Change, Report
from cli.output.texts import first
from components.base import facts

_CLAIM = ".persistentVolumeClaim.claimName"
_MOST = 6


def lines(report: Report) -> list[str]:
    """A line for each volume that takes another's place: which workloads mount it, and whether it is empty."""
    moved: dict[tuple[str, str], list[str]] = {}
    for change in report.changes:
        for pair in _moved(change):
            moved.setdefault(pair, []).append(f"**{change.name}**")
    volumes = report.registered(facts.VOLUME.removeprefix(OURS))
    made = {name for name, (old, new) in volumes.items() if new and not old}
    return [_line(names, old, new, new in made) for (old, new), names in moved.items()]


def _moved(change: Change) -> Iterator[tuple[str, str]]:
    """The volumes that a workload no longer mounts, each with one that it mounts instead."""
    claims = [each for each in change.properties if each.path.endswith(_CLAIM) and each.old and each.new]
    old, new = ([each.strip('"') for each in side] for side in ([c.old for c in claims], [c.new for c in claims]))
    yield from zip((name for name in old if name not in new), (name for name in new if name not in old), strict=False)


def _line(names: Sequence[str], old: str, new: str, is_new: bool) -> str:
    mount = "mounts" if len(names) == 1 else "mount"
    empty = (
        f". {new} is new, and empty unless its settings restore a copy: a server has no model there to load, and a job"
        " no checkpoint to resume from"
    )
    return f"{first(names, _MOST)} {mount} volume **{new}** instead of **{old}**{empty if is_new else ''}"
