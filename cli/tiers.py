"""`tensorplane tiers`: who gets which machines, from the settings alone."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.console import Console

from cli import check, tier_rows, tier_table
from components.queue import facts, quota
from embedded.fault import Fault
from stack import StackConfig


def run(file: Path, console: Console, *, as_json: bool) -> None:
    """Prints the tiers of a Pulumi.<stack>.yaml. A Fault with a line for each thing that is wrong with it."""
    if unread := check.encrypted(file, "cluster", "nodeGroups", "queues", "cohorts", "teams", "topology"):
        raise Fault(f"{', '.join(unread)}: Pulumi alone can read what is encrypted; `make preview` has the table")
    queues = registered(check.load(file))
    if not queues and not as_json:
        raise Fault(f"{file.name}: no queues are declared. Settings: docs/queues.md")
    tiers, kinds = tier_rows.tiers(queues), tier_rows.kinds(queues)
    if as_json:
        print(json.dumps(plain(tiers, kinds), indent=2))
    else:
        console.print(tier_table.render(tiers, kinds, console.width))


def registered(config: StackConfig) -> dict[str, dict[str, Any]]:
    """What each queue of these settings will register."""
    kinds = config.kinds
    return {name: facts(args, quota.of(args, kinds), kinds) for name, args in config.queues.items()}


def plain(tiers: list[tier_rows.Tier], kinds: list[tier_rows.Kind]) -> dict[str, Any]:
    """Everything for programs."""
    return {
        "queues": [asdict(tier) for tier in tiers],
        "kinds": [{**asdict(kind), "free": kind.free} for kind in kinds],
        "teams": {
            team: {kind: {"guaranteed": sure, "borrowable": more} for kind, (sure, more) in shares.items()}
            for team, shares in tier_rows.by_team(tiers).items()
        },
    }
