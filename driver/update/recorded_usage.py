"""Reads from the cluster what teams with a budget have used, for the stack's program."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from tensorplane.components.base.recorded_usage import VARIABLE, Used
from tensorplane.core.errors import UserError
from tensorplane.core.kube import Kube
from tensorplane.driver.stack_settings import StackSettings
from tensorplane.driver.target import Target

_RECORD = "/api/v1/namespaces/{}/configmaps/usage.{}"
"""What the agent of `agents/usage` writes."""


def variables(settings: StackSettings, target: Target) -> dict[str, str]:
    """The variable for `pulumi`; none if no team has a budget, or the cluster does not answer."""
    teams = {name: args for name, args in settings.section("teams").items() if isinstance(args, Mapping)}
    namespaces = {name: args.get("namespace") or name for name, args in teams.items() if args.get("budget")}
    if not namespaces:
        return {}
    try:
        return {VARIABLE: used(target.api(), settings.namespace, namespaces, datetime.now(UTC)).written()}
    except UserError:
        # The policy says that the budget could not be compared.
        return {}


def used(api: Kube, home: str, namespaces: Mapping[str, str], now: datetime) -> Used:
    """The GPU-hours of this month. `home`: the stack's namespace. `namespaces`: those of the teams."""
    month = f"{now:%Y-%m}"
    records = {team: api.get(_RECORD.format(home, namespace)) for team, namespace in namespaces.items()}
    return Used(month, {team: _hours(record, month) for team, record in records.items() if record})


def _hours(record: Mapping[str, Any], month: str) -> float:
    queues = json.loads((record.get("data") or {}).get("usage") or "{}").get(month, {})
    seconds: float = sum(used for flavors in queues.values() for used in flavors.values())
    return round(seconds / 3600, 2)
