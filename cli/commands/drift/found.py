"""Drift, from the events of a preview that reads every resource first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from cli.commands.preview import property_path
from driver.runs.steps import Event

_READ, _PLANNED = "resOutputsEvent", "resourcePreEvent"
_UNCHANGED = frozenset({"same", "read", "refresh"})
_SECRETS = frozenset({"data", "stringData"})


@dataclass(frozen=True)
class Drift:
    """One resource that is not as it was deployed."""

    type: str
    name: str
    changes: tuple[tuple[str, str, str], ...] = ()
    """Path, deployed value and present value of each property; empty if the resource was deleted."""

    def __str__(self) -> str:
        thing = f"{self.type.rpartition(':')[2]} {self.name}"
        if not self.changes:
            return f"{thing} was deleted"
        return f"{thing} was changed: {'; '.join(f'{path} {_change(old, new)}' for path, old, new in self.changes)}"


@dataclass(frozen=True)
class DriftReport:
    """What differs from the deployed state, and what the program would change anyway."""

    drifted: tuple[Drift, ...]
    undeployed: int
    """Resources that an update changes although nobody touched them: the settings or the program are newer."""


def of(events: Iterable[Event]) -> DriftReport:
    """The drift in the events of `pulumi preview --refresh`.

    A resource whose present state an update would leave as it is does not count: something else owns the difference,
    such as an autoscaler.
    """
    read: dict[str, Mapping[str, Any]] = {}
    repaired: set[str] = set()
    for event in events:
        if (step := event.get(_READ, {}).get("metadata")) and step["op"] == "refresh":
            read[step["urn"]] = step
        elif (step := event.get(_PLANNED, {}).get("metadata")) and step["op"] not in _UNCHANGED:
            repaired.add(step["urn"])
    drifted = {urn: drift for urn, step in read.items() if urn in repaired and (drift := _drift(step))}
    return DriftReport(
        tuple(sorted(drifted.values(), key=lambda each: (each.type, each.name))), len(repaired - drifted.keys())
    )


def _drift(step: Mapping[str, Any]) -> Drift | None:
    old, new = (step.get(state) for state in ("old", "new"))
    if old is None or not old.get("custom"):
        return None
    token, name = str(step["type"]), str(step["urn"]).rpartition("::")[2]
    if new is None:
        return Drift(token, name)
    changes = tuple(_changes(token, old.get("inputs") or {}, new.get("inputs") or {}))
    return Drift(token, name, changes) if changes else None


def _changes(token: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    for path, _ in property_path.differences(dict(old), dict(new)):
        if path.startswith("__"):
            continue
        hidden = token.endswith(":Secret") and path.split(".")[0].split("[")[0] in _SECRETS
        before, after = (property_path.find(state, path) for state in (old, new))
        shown = (property_path.SECRET,) * 2 if hidden else (property_path.text(before), property_path.text(after))
        yield path, *shown


def _change(old: str, new: str) -> str:
    if not new:
        return f"{old} was removed"
    return f"{old} → {new}" if old else f"{new} was added"
