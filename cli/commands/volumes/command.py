"""A stack's volumes, their snapshots and mirrors, and data left from deleted ones."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime

from rich.console import Console

from tensorplane.cli.commands.volumes import leftovers, rows, tables
from tensorplane.cli.commands.volumes import objects as volume_objects
from tensorplane.core import command_lines
from tensorplane.core.errors import UserError
from tensorplane.driver import claims
from tensorplane.driver.stack_settings import StackSettings
from tensorplane.driver.target import Target
from tensorplane.stack_file import dumping
from tensorplane.stack_file.nearest import did_you_mean


@dataclass(frozen=True)
class VolumesOptions:
    """The command's arguments."""

    stack: str
    context: str = ""
    name: str | None = None
    """A volume whose snapshots to list, or a VolumeSnapshotContent to restore."""
    as_json: bool = False
    bring_back: bool = False


def run(options: VolumesOptions, console: Console) -> None:
    """Asks the stack's cluster, and prints."""
    target = Target.of(options.context, stack=options.stack)
    settings = StackSettings(options.stack, target.home)
    settings.source()
    objects = volume_objects.gather(target.answering_api(), settings.namespace)
    if options.bring_back:
        wanted = leftovers.brought_back(objects, options.name or "")
        # For `kubectl apply -f -`, so lines must not be wrapped.
        print(dumping.dumped_all(wanted), end="")
        return
    declared = settings.section("volumes")
    volumes = rows.volumes(objects, declared)
    names = {f"{settings.namespace}/{name}" for name in declared}
    left = leftovers.leftovers(objects, names, stack=options.stack, context=options.context)
    now = datetime.now(UTC)
    if options.name is not None:
        volumes, left = [_get(volumes, options.name, settings.namespace)], []
    if options.as_json:
        print(json.dumps(tables.plain(volumes, left, objects.notes, now), indent=2, default=_text))
    elif options.name is not None:
        console.print(tables.one_volume(volumes[0], now))
    else:
        console.print(tables.overview(volumes, left, objects.notes, now))
        lacking = [name for name in declared if name not in {one["metadata"]["name"] for one in objects.claims}]
        for line in claims.describe_missing(declared, settings.namespace, lacking, objects.volumes, options.stack):
            console.print(line, soft_wrap=True, markup=False, highlight=False)
        for line in tables.commands(left, command_lines.refresh(options.stack, options.context)):
            console.print(line, soft_wrap=True, markup=False)


def _get(volumes: list[rows.Volume], name: str, namespace: str) -> rows.Volume:
    names = [one.name for one in volumes]
    if name not in names:
        have = ", ".join(names) or "none"
        raise UserError(
            f"{name}: namespace {namespace} has no such volume; choose one of {have}{did_you_mean(name, names)}"
        )
    return volumes[names.index(name)]


def _text(value: object) -> str:
    return value.isoformat() if isinstance(value, datetime) else str(value)
