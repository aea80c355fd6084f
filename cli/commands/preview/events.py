"""The report of a preview, from the engine's events."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from tensorplane.cli.commands.preview import properties
from tensorplane.cli.commands.preview.declared import Declared
from tensorplane.cli.commands.preview.report import OPERATIONS, Change, PolicyResult, Report
from tensorplane.components.base import outputs
from tensorplane.driver import crash_reports
from tensorplane.driver.update import protected_resources
from tensorplane.driver.update.data_at_risk import Risk
from tensorplane.plugins.cloud_models.coverage import Coverage

Event = Mapping[str, Any]

_STACK = "pulumi:pulumi:Stack"
# The CLI warns on each use of a plugin that it did not install; on an embedded machine that is every time.
_NOISE = ("using pulumi-language-", "using pulumi-resource-")
# The engine's prefix of problems that a provider finds in a resource's inputs.
_PROBLEM = re.compile(r"^(\S+) resource '(.*?)' has a problem: ")
_EMPTY = ("preview failed", "update failed")


def report(
    stack: str, events: Iterable[Event], *, failed: bool = False, stand_ins: Mapping[str, str] = MappingProxyType({})
) -> Report:
    """The report of a preview.

    `failed`: according to the CLI's exit status. `stand_ins`: the packages with a preview-only provider, and why; the
    report names those in use.
    """
    events = list(events)
    steps = [event["resourcePreEvent"]["metadata"] for event in events if event.get("resourcePreEvent")]
    changes, unchanged = _changes(steps)
    results = _results(events)
    diagnostics = _diagnostics(events)
    packages = {step["type"].partition(":")[0] for step in steps} | diagnostics.packages
    warnings = diagnostics.lines["warning"]
    declared = Declared()
    for step in steps:
        declared.note(step)
    components = declared.components
    if refusal := _too_new(components):
        components = {token: {name: ({}, new) for name, (_, new) in of.items()} for token, of in components.items()}
        warnings.append(f"{refusal}. This report shows what would be, not what is deployed")
    order = {operation: index for index, operation in enumerate(OPERATIONS)}
    return Report(
        stack=stack,
        changes=tuple(sorted(changes, key=lambda c: (order.get(c.operation, len(order)), c.type, c.name))),
        unchanged=unchanged,
        components=components,
        pods_before=declared.pods("old"),
        pods_after=declared.pods("new"),
        starts=declared.starts,
        admission=declared.admission,
        unprotected=tuple(declared.unprotected),
        policy_results=results,
        errors=tuple(dict.fromkeys(diagnostics.lines["error"])),
        warnings=tuple(dict.fromkeys(warnings)),
        risks=tuple(Risk(line, stops_update=True) for line in dict.fromkeys(diagnostics.refusals)),
        stand_ins=tuple((package, why) for package, why in sorted(stand_ins.items()) if package in packages),
        values=tuple(diagnostics.values[token] for token in sorted(diagnostics.values)),
        failed=failed,
    )


def _changes(steps: Iterable[Event]) -> tuple[list[Change], int]:
    """The changes, and the number of resources without one."""
    found: dict[str, Change] = {}
    unchanged: set[str] = set()
    for step in steps:
        operation, urn = step["op"], step["urn"]
        if step["type"] == _STACK:
            continue
        if operation == "same":
            unchanged.add(urn)
        elif operation in OPERATIONS:
            name, changed = urn.rpartition("::")[2], tuple(properties.of(step))
            found[urn] = Change(operation, _short(step["type"]), name, changed, is_protected=_is_protected(step))
    return list(found.values()), len(unchanged)


def _is_protected(step: Event) -> bool:
    """Whether it is protected; of the stack's own components, whether their data is."""
    old = step.get("old") or {}
    of_component = old.get("inputs") or {} if step["type"] in (outputs.VOLUME, outputs.NAMESPACE) else {}
    is_protected = old.get("protect") or of_component.get("retain") or of_component.get("protect")
    return step["op"] in ("delete", "replace") and bool(is_protected)


def _results(events: Iterable[Event]) -> tuple[PolicyResult, ...]:
    """The result of each policy: passing is one event per pack, and each violation an event of its own."""
    found: dict[tuple[str, str], tuple[str, list[str]]] = {}
    for event in events:
        if violation := event.get("policyEvent"):
            key, level = (_pack(violation), violation["policyName"]), violation["enforcementLevel"]
            known, messages = found.get(key, ("", []))
            # The first line repeats the policy's description.
            found[key] = known or level, [*messages, violation["message"].strip().split("\n", 1)[-1]]
        elif summary := event.get("policyAnalyzeStackSummaryEvent") or event.get("policyAnalyzeSummaryEvent"):
            for name in [*summary.get("passed", ()), *summary.get("failed", ())]:
                found.setdefault((_pack(summary), name), ("", []))
    return tuple(
        PolicyResult(policy, pack, level, tuple(sorted(messages)))
        for (pack, policy), (level, messages) in sorted(found.items())
    )


def _pack(event: Event) -> str:
    return f"{event['policyPackName']} {event['policyPackVersion']}"


@dataclass
class _Diagnostics:
    """What the engine and its plugins say besides steps and results."""

    lines: dict[str, list[str]] = field(default_factory=lambda: {"error": [], "warning": []})
    """By severity."""
    refusals: list[str] = field(default_factory=list)
    """Deletions that the engine refuses."""
    values: dict[str, Coverage] = field(default_factory=dict)
    """Which values the preview-only providers could check, by type of resource."""
    packages: set[str] = field(default_factory=set)
    """The packages of the resources that they are about."""


def _diagnostics(events: Iterable[Event]) -> _Diagnostics:
    found = _Diagnostics()
    for diagnostic in (event["diagnosticEvent"] for event in events if event.get("diagnosticEvent")):
        message, severity = diagnostic["message"], diagnostic["severity"]
        if checked := Coverage.read(message):
            known = found.values.get(checked.token)
            found.values[checked.token] = known.and_of(checked) if known else checked
        elif severity in found.lines:
            refusals = protected_resources.refusals(message)
            text = protected_resources.reword(message.strip())
            found.refusals += refusals
            found.lines[severity] += [] if refusals else _lines(text)
            found.packages.add(_type(diagnostic.get("urn", "")).partition(":")[0])
    return found


def _too_new(components: Mapping[str, Mapping[str, tuple[Event, Event]]]) -> str | None:
    """Why the deployed state cannot be read; None if it can."""
    deployed = (old.get(outputs.VERSION_KEY) for old, _ in components.get(outputs.CLUSTER, {}).values())
    return next(filter(None, map(outputs.too_new, deployed)), None)


def _type(urn: str) -> str:
    """The resource's own type in `urn:pulumi:stack::project::parent$type::name`."""
    return urn.split("::")[2].rpartition("$")[2] if urn.count("::") > 2 else ""


def _short(token: str) -> str:
    """`kubernetes:apps/v1:Deployment` as `apps/v1:Deployment`, and our own components only by their kind."""
    package, _, rest = token.partition(":")
    return rest.removeprefix("index:") if package in {"kubernetes", "tensorplane"} else token


def _lines(text: str) -> list[str]:
    lines = [_PROBLEM.sub(r"\1 \2: ", line.rstrip()) for line in text.splitlines() if line.strip()]
    if crash_reports.TRACEBACK in text:
        lines = crash_reports.fold_traceback(lines, crash_reports.save("tensorplane preview", text))
    return [line for line in lines if not line.startswith(_NOISE) and line not in _EMPTY]
