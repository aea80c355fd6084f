"""How a rule becomes a policy: what it finds is reported per resource, or, if that is too much, as five and a count."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any

from gpu_usage import facts_version
from gpu_usage.manifest import UncountableError
from pulumi_policy import (
    EnforcementLevel,
    PolicyConfigSchema,
    ReportViolation,
    Severity,
    StackValidationArgs,
    StackValidationPolicy,
)

from stack_view.finding import Finding
from stack_view.view import Seen, View

Config = Mapping[str, Any]
Each = Callable[[Seen, View, Config], Iterable[Finding]]
Whole = Callable[[View, Config], Iterable[tuple[Seen | None, Finding]]]

NAMED = 5
"""Findings that are named if there are more."""
_last: list[View] = []


def of_each(check: Each) -> Whole:
    """A rule about single resources. What it cannot read or know is a finding of that resource."""

    def whole(view: View, config: Config) -> Iterator[tuple[Seen | None, Finding]]:
        for seen in view.all:
            for finding in asked(partial(check, seen, view, config)):
                yield seen, finding

    return whole


def asked(question: Callable[[], Iterable[Finding]]) -> list[Finding]:
    """The findings of a function, or a finding that it could not answer."""
    try:
        return list(question())
    except UncountableError as reason:
        return [Finding(reason.problem, reason.remedy)]
    except Exception as crash:  # its text may contain values of the object
        return [Finding(f"this rule cannot read it ({type(crash).__name__})", "write it as its API documents it")]


def rule(
    check: Whole,
    *,
    name: str,
    description: str,
    remedy: str,
    severity: Severity,
    tags: list[str],
    config: Mapping[str, Mapping[str, Any]] | None = None,
    level: EnforcementLevel = EnforcementLevel.MANDATORY,
    needs_facts: bool = True,
) -> StackValidationPolicy:
    """A policy of the pack. `config` has the JSON schema of each key, with its default.

    A stack whose facts are newer than these policies is not judged (`needs_facts`): `facts-version` refuses it.
    """
    schema = {key: dict(value) for key, value in (config or {}).items()}
    defaults = {key: value["default"] for key, value in schema.items() if "default" in value}

    def validate(args: StackValidationArgs, report: ReportViolation) -> None:
        view = view_of(args)
        if needs_facts and facts_version.too_new(view.resources):
            return
        given = {**defaults, **args.get_config()}
        tell(view, list(check(view, given)), report)

    return StackValidationPolicy(
        name=name,
        display_name=name.replace("-", " "),
        description=description,
        severity=severity,
        enforcement_level=level,
        tags=tags,
        remediation_steps=remedy,
        config_schema=PolicyConfigSchema(properties=schema) if schema else None,
        validate=validate,
    )


def view_of(args: StackValidationArgs) -> View:
    """The view of these resources, which the rules of one evaluation share: only the first is given any
    (`serving_once`)."""
    if args.resources:
        _last.clear()  # if this view cannot be made, no rule judges an earlier one
        _last.append(View(list(args.resources)))
    return _last[0]


def tell(view: View, found: list[tuple[Seen | None, Finding]], report: ReportViolation) -> None:
    """Reports each finding of a resource, or the largest and the number of the others; then those of the stack."""
    single = [(seen, finding) for seen, finding in found if seen]
    single.sort(key=lambda one: (-one[1].size, one[0].who))
    is_long = len(single) > NAMED + 1
    for seen, finding in single[:NAMED] if is_long else single:
        report(f"{seen.who}: {finding.problem}; {finding.remedy}", seen.urn)
    if is_long:
        report(f"and {len(single) - NAMED} more; repair the same in all, of which {NAMED} are named here", view.urn)
    for finding in (finding for seen, finding in found if seen is None):
        report(f"{finding.problem}; {finding.remedy}", view.urn)
