"""Reads every resource of a stack, and says which are not as they were deployed. Changes nothing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rich.console import Console

from tensorplane.cli.commands.preview import engine, events, property_path
from tensorplane.cli.output import markdown as md
from tensorplane.components.base.plural import number_of
from tensorplane.core import command_lines
from tensorplane.core.errors import UserError
from tensorplane.driver.update.engine_events import Event
from tensorplane.driver.update.policy_pack import Policies

DRIFTED = 3
"""The exit code if something has drifted; 2 is that of a wrong usage."""


def run(stack: str, context: str, file: Path, console: Console) -> int:
    """Prints a line for each resource that has drifted, and writes the report to `file`."""
    with engine.opened(stack, context) as preview, console.status(f"reading {stack}"):
        if not preview.stays:
            raise UserError(f"stack {stack} is not deployed, so nothing of it can drift; deploy it with {_up(stack)}")
        streamed = replace(preview, policies=Policies.SKIP, refresh=True).stream()
        known = streamed.explained(events.report(stack, streamed.events, failed=streamed.failed))
        needed = tuple(
            f"{package}: {why}" for package, why in preview.stand_ins.items() if package in _used(streamed.events)
        )
    if needed:
        raise UserError(f"drift of stack {stack} is not known: its cloud cannot be asked ({'; '.join(needed)})")
    if streamed.failed:
        raise UserError(*(known.errors or tuple(risk.text for risk in known.risks)))
    drift = drift_of(streamed.events)
    for line in lines(drift, stack):
        console.print(line, markup=False, highlight=False, soft_wrap=True)
    file.write_text(markdown(drift, stack))
    return DRIFTED if drift.drifted else 0


def lines(drift: DriftReport, stack: str) -> list[str]:
    """The report for the terminal."""
    return [*map(str, drift.drifted), *_conclusion(drift, stack)]


def markdown(drift: DriftReport, stack: str) -> str:
    """The report as Markdown."""
    blocks = [f"# Drift of stack `{stack}`", *([md.bullets(map(str, drift.drifted))] if drift.drifted else [])]
    return "\n\n".join([*blocks, *_conclusion(drift, stack)]) + "\n"


def _conclusion(drift: DriftReport, stack: str) -> list[str]:
    count = len(drift.drifted)
    what = f"{number_of(count, 'resource')} {'differs' if count == 1 else 'differ'}"
    found = [f"{what} from the deployed state; to repair: {command_lines.repair(stack)}" if count else "No drift."]
    if drift.undeployed:
        newer = number_of(drift.undeployed, "resource")
        found.append(f"The settings are newer than the deployed state ({newer}): {_preview(stack)}")
    return found


def _used(streamed: list[events.Event]) -> set[str]:
    steps = (event.get("resourcePreEvent") for event in streamed)
    return {step["metadata"]["type"].partition(":")[0] for step in steps if step}


def _up(stack: str) -> str:
    return command_lines.of_stack("up", stack)


def _preview(stack: str) -> str:
    return command_lines.of_stack("preview", stack)


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


def drift_of(events: Iterable[Event]) -> DriftReport:
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
