"""How a rule becomes a policy: what it finds is reported per resource, or, if that is too much, as five and a count."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any

from gpu_usage import facts_version
from gpu_usage.manifest import UncountableError
from pulumi_policy import (
    EnforcementLevel,
    PolicyConfigSchema,
    ReportViolation,
    Severity,
    StackValidationPolicy,
)

from stack_view.finding import Finding
from stack_view.view import Seen, View

Config = Mapping[str, Any]
Each = Callable[[Seen, View, Config], Iterable[Finding]]
Whole = Callable[[View, Config], Iterable[tuple[Seen | None, Finding]]]

NAMED = 5
"""Findings that are named if there are more."""


def of_each(check: Each) -> Whole:
    """A rule about single resources. What it cannot read or know is a finding of that resource."""

    def whole(view: View, config: Config) -> Iterator[tuple[Seen | None, Finding]]:
        for seen in view.all:
            for finding in _asked(check, seen, view, config):
                yield seen, finding

    return whole


def _asked(check: Each, seen: Seen, view: View, config: Config) -> list[Finding]:
    """The findings about a resource, or a finding that it cannot be judged."""
    try:
        return list(check(seen, view, config))
    except UncountableError as reason:
        return [Finding(reason.problem, reason.remedy)]
    except Exception as crash:  # its text may contain values of the object
        return [Finding(f"this rule cannot read it ({type(crash).__name__})", "write it as its API documents it")]


class Rule(StackValidationPolicy):
    """A policy of the pack. pulumi-policy describes it to the engine; `serving` asks it for its judgement."""

    def __init__(self, check: Whole, defaults: Config, needs_facts: bool, **described: Any) -> None:
        super().__init__(**described)
        self._check, self._defaults, self._needs_facts = check, defaults, needs_facts

    def judge(self, view: View, given: Config, report: ReportViolation) -> None:
        """Reports what is wrong with a stack, under the configuration that is given."""
        if not (self._needs_facts and _too_new(view)):
            tell(view, list(self._check(view, {**self._defaults, **given})), report)


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
) -> Rule:
    """A policy of the pack. `config` has the JSON schema of each key, with its default.

    A stack whose facts are newer than these policies is not judged (`needs_facts`): `facts-version` refuses it.
    """
    schema = {key: dict(value) for key, value in (config or {}).items()}
    return Rule(
        check,
        {key: value["default"] for key, value in schema.items() if "default" in value},
        needs_facts,
        name=name,
        display_name=name.replace("-", " "),
        description=description,
        severity=severity,
        enforcement_level=level,
        tags=tags,
        remediation_steps=remedy,
        config_schema=PolicyConfigSchema(properties=schema) if schema else None,
    )


@lru_cache(maxsize=1)
def _too_new(view: View) -> bool:
    return facts_version.too_new(view.all) is not None


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
