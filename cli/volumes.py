"""`tensorplane volumes`: what a stack's volumes hold, their snapshots and mirrors, and what is left of former ones."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime

import yaml
from rich.console import Console

from cli import reach, volume_facts, volume_leftovers, volume_rows, volume_table
from components.faults import did_you_mean
from embedded.fault import Fault
from embedded.hosts.stack_settings import StackSettings
from embedded.target import Target


@dataclass(frozen=True)
class Question:
    """What somebody wants to know."""

    stack: str
    context: str = ""
    name: str | None = None
    """A volume, whose snapshots are told, or a VolumeSnapshotContent to bring back."""
    as_json: bool = False
    bring_back: bool = False


def run(question: Question, console: Console) -> None:
    """Asks the stack's cluster, and prints."""
    target = Target.of(question.context, stack=question.stack)
    settings = StackSettings(question.stack, target.home)
    settings.source()
    facts = volume_facts.gather(reach.reached(target), settings.namespace)
    if question.bring_back:
        wanted = volume_leftovers.brought_back(facts, question.name or "")
        # For `kubectl apply -f -`, so nothing may be folded.
        print(yaml.safe_dump_all(wanted, sort_keys=False), end="")
        return
    declared = settings.section("volumes")
    volumes = volume_rows.volumes(facts, declared)
    left = volume_leftovers.leftovers(facts, {f"{settings.namespace}/{name}" for name in declared})
    now = datetime.now(UTC)
    if question.name is not None:
        volumes, left = [_named(volumes, question.name, settings.namespace)], []
    if question.as_json:
        print(json.dumps(volume_table.plain(volumes, left, facts.notes, now), indent=2, default=_text))
    elif question.name is not None:
        console.print(volume_table.one_volume(volumes[0], now))
    else:
        console.print(volume_table.overview(volumes, left, facts.notes, now))
        for line in volume_table.commands(left):
            console.print(line, soft_wrap=True, markup=False)


def _named(volumes: list[volume_rows.Volume], name: str, namespace: str) -> volume_rows.Volume:
    names = [one.name for one in volumes]
    if name not in names:
        have = ", ".join(names) or "none"
        raise Fault(f"{name}: no such volume in namespace {namespace}, have {have}{did_you_mean(name, names)}")
    return volumes[names.index(name)]


def _text(value: object) -> str:
    return value.isoformat() if isinstance(value, datetime) else str(value)
