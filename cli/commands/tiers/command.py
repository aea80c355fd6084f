"""Which queue gets which flavors, from the settings alone."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.console import Console

from tensorplane.cli import stack_config
from tensorplane.cli.commands.tiers import rows, tables
from tensorplane.components.base import outputs
from tensorplane.components.queues import manifest as queue_manifest
from tensorplane.core import command_lines
from tensorplane.core.errors import UserError
from tensorplane.stack import ResolvedStack


def run(file: Path, console: Console, *, as_json: bool) -> None:
    """Prints the tiers of a Pulumi.<stack>.yaml. A UserError with a line for each problem in it."""
    if unread := stack_config.encrypted(file, "cluster", "nodeGroups", "queues", "cohorts", "teams", "topology"):
        shown = command_lines.of_stack("preview", file.stem.removeprefix("Pulumi."))
        raise UserError(f"{', '.join(unread)}: only Pulumi can read encrypted values; for the table, run: {shown}")
    queues = registered(stack_config.load(file))
    if not queues and not as_json:
        raise UserError(f"{file.name}: no queues are declared; add tensorplane:queues (docs/queues.md)")
    tiers, flavors = rows.tiers(queues), rows.flavors(queues)
    if as_json:
        print(json.dumps(plain(tiers, flavors), indent=2))
    else:
        console.print(tables.render(tiers, flavors, console.width))


def registered(resolved: ResolvedStack) -> dict[str, outputs.Queue]:
    """What each queue of these settings will register."""
    queues = resolved.config.queues.items()
    return {name: queue_manifest.registered(args, resolved.quotas[name], resolved.flavors) for name, args in queues}


def plain(tiers: list[rows.Tier], flavors: list[rows.Flavor]) -> dict[str, Any]:
    """Everything for programs."""
    return {
        "queues": [asdict(tier) for tier in tiers],
        "flavors": [{**asdict(flavor), "unreserved": flavor.unreserved} for flavor in flavors],
        "teams": {
            team: {flavor: {"guaranteed": own, "borrowable": more} for flavor, (own, more) in shares.items()}
            for team, shares in rows.by_team(tiers).items()
        },
    }
