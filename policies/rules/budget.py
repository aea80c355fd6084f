"""The GPU-hours that teams have used this month, as the cluster recorded them, against their budgets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from stack_view.rule import Config, Finding, Level, Rule, Severity, of_each
from stack_view.view import Resource, View, known

_USAGE = "tensorplane:index:Usage"


def _budgets(resource: Resource) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """By team. Raises UncountableError if they are unknown."""
    if resource.type == _USAGE:
        yield from sorted((known(resource.body, "budgets") or {}).items())


def _spent(resource: Resource, view: View, config: Config) -> Iterator[Finding]:
    for team, budget in _budgets(resource):
        used, allowed = budget["used"], budget["gpuHours"]
        if used is not None and used > allowed and budget["gpus"]:
            problem = f"team {team} has used {used:,.12g} GPU-hours in {budget['month']}; its budget is {allowed:,.12g}"
            remedy = f"raise `teams.{team}.budget.gpuHours`, or set `teams.{team}.gpus` to 0 until the month ends"
            yield Finding(problem, remedy, used - allowed)


def _known(resource: Resource, view: View, config: Config) -> Iterator[Finding]:
    for team, budget in _budgets(resource):
        if budget["used"] is None:
            problem = f"it is unknown what team {team} has used of its {budget['gpuHours']:,.12g} GPU-hours"
            yield Finding(
                problem, "run `tensorplane preview` where the cluster answers, or set TENSORPLANE_USAGE (docs/cost.md)"
            )


POLICIES = [
    Rule(
        of_each(_spent),
        name="team-budget",
        description="No team that gets GPUs has used more GPU-hours this month than its budget.",
        remedy="Raise the team's budget, or give it no GPUs until the month ends.",
        severity=Severity.HIGH,
        tags=["cost", "gpu"],
    ),
    Rule(
        of_each(_known),
        name="team-budget-known",
        description="It is known what teams with a budget have used this month.",
        remedy="Preview where the cluster answers, or hand the program what teams have used.",
        severity=Severity.LOW,
        tags=["cost", "gpu"],
        level=Level.ADVISORY,
    ),
]
