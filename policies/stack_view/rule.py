"""What a rule is. What it finds is reported per resource, or, if that is too much, as five and a count."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import lru_cache
from typing import Any

from gpu_usage import facts_version
from gpu_usage.manifest import UncountableError

from stack_view.view import Resource, View


@dataclass(frozen=True)
class Finding:
    """One problem of one resource, or of the stack."""

    problem: str
    """What was found, and what is allowed."""
    remedy: str
    """What to change."""
    size: float = 0
    """What decides which findings are named if there are many: GPUs, dollars. 0 if they are alike."""


class Severity(StrEnum):
    """How bad a finding is."""

    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"
    CRITICAL = "critical"


class Level(StrEnum):
    """What a finding means for the update."""

    ADVISORY = "advisory"
    """It is shown."""
    MANDATORY = "mandatory"
    """The engine refuses the update."""


Config = Mapping[str, Any]
Each = Callable[[Resource, View, Config], Iterable[Finding]]
Whole = Callable[[View, Config], Iterable[tuple[Resource | None, Finding]]]

MAX_NAMED_FINDINGS = 5
"""Findings that are named if there are more."""


def of_each(check: Each) -> Whole:
    """A rule about single resources. What it cannot read or know is a finding of that resource."""

    def whole(view: View, config: Config) -> Iterator[tuple[Resource | None, Finding]]:
        for resource in view.all:
            for finding in _findings(check, resource, view, config):
                yield resource, finding

    return whole


def _findings(check: Each, resource: Resource, view: View, config: Config) -> list[Finding]:
    """The findings about a resource, or a finding that it cannot be judged."""
    try:
        return list(check(resource, view, config))
    except UncountableError as reason:
        return [Finding(reason.problem, reason.remedy)]
    except Exception as crash:  # its text may contain values of the object
        return [Finding(f"this rule cannot read it ({type(crash).__name__})", "write it as its API documents it")]


@dataclass(frozen=True)
class Rule:
    """A rule of the pack."""

    check: Whole
    name: str = field(kw_only=True)
    description: str = field(kw_only=True)
    """What holds in a stack that it accepts."""
    remedy: str = field(kw_only=True)
    severity: Severity = field(kw_only=True)
    tags: list[str] = field(kw_only=True)
    config: Mapping[str, Mapping[str, Any]] = field(default_factory=dict, kw_only=True)
    """The JSON schema of each key of its configuration, with its default."""
    level: Level = field(default=Level.MANDATORY, kw_only=True)
    """What a finding means, unless the configuration says otherwise."""
    needs_view: bool = field(default=True, kw_only=True)
    """Whether it judges only a stack that can be read: whose outputs are not newer than these rules, and of which the
    engine shows every resource. `facts-version` and `resources-shown` refuse other stacks."""

    def evaluate(self, view: View, given: Config) -> list[tuple[str, str]]:
        """What it reports on a stack under a configuration: messages, each with the URN of its resource."""
        if self.needs_view and not _is_readable(view):
            return []
        defaults = {key: schema["default"] for key, schema in self.config.items() if "default" in schema}
        return list(reported(view, list(self.check(view, {**defaults, **given}))))


@lru_cache(maxsize=1)
def _is_readable(view: View) -> bool:
    return facts_version.too_new(view.all) is None and not view.hidden


def reported(view: View, found: list[tuple[Resource | None, Finding]]) -> Iterator[tuple[str, str]]:
    """Each finding of a resource, or the largest and the number of the others; then those of the stack."""
    single = [(resource, finding) for resource, finding in found if resource]
    single.sort(key=lambda one: (-one[1].size, one[0].who))
    is_long = len(single) > MAX_NAMED_FINDINGS + 1
    for resource, finding in single[:MAX_NAMED_FINDINGS] if is_long else single:
        yield f"{resource.who}: {finding.problem}; {finding.remedy}", resource.urn
    if is_long:
        others = len(single) - MAX_NAMED_FINDINGS
        yield f"and {others} more; repair the same in all, of which {MAX_NAMED_FINDINGS} are named here", view.urn
    for finding in (finding for resource, finding in found if resource is None):
        yield f"{finding.problem}; {finding.remedy}", view.urn
