"""The report of a preview, from the engine's events."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from cli.commands.preview import properties
from cli.commands.preview.declared import Declared
from cli.commands.preview.report import OPERATIONS, Change, PolicyResult, Report
from components.base import outputs
from driver import crash_reports
from driver.update import protected_resources
from driver.update.data_at_risk import Risk
from plugins.cloud_models.coverage import Coverage

Event = Mapping[str, Any]

_STACK = "pulumi:pulumi:Stack"
# The CLI warns on each use of a plugin that it did not install; on an embedded machine that is every time.
_NOISE = ("using pulumi-language-", "using pulumi-resource-")
# The engine's prefix of problems that a provider finds in a resource's inputs.
_PROBLEM = re.compile(r"^(\S+) resource '(.*?)' has a problem: ")
_EMPTY = ("preview failed", "update failed")


@dataclass
class _Results:
    """Collects per policy: passing is one event per pack, and each violation an event of its own."""

    found: dict[tuple[str, str], tuple[str, list[str]]] = field(default_factory=dict)

    def passed(self, pack: str, policy: str) -> None:
        self.found.setdefault((pack, policy), ("", []))

    def violated(self, event: Event) -> None:
        key = _pack(event), event["policyName"]
        level, messages = self.found.setdefault(key, (event["enforcementLevel"], []))
        self.found[key] = (level or event["enforcementLevel"], messages)
        # The first line repeats the policy's description.
        messages.append(event["message"].strip().split("\n", 1)[-1])

    def all(self) -> tuple[PolicyResult, ...]:
        return tuple(
            PolicyResult(policy, pack, level, tuple(sorted(messages)))
            for (pack, policy), (level, messages) in sorted(self.found.items())
        )


def report(
    stack: str, events: Iterable[Event], *, failed: bool = False, stand_ins: Mapping[str, str] = MappingProxyType({})
) -> Report:
    """The report of a preview.

    `failed`: according to the CLI's exit status. `stand_ins`: the packages with a preview-only provider, and why; the
    report names those in use.
    """
    changes: dict[str, Change] = {}
    unchanged: set[str] = set()
    declared = Declared()
    results = _Results()
    diagnostics: dict[str, list[str]] = {"error": [], "warning": []}
    packages: set[str] = set()
    values: dict[str, Coverage] = {}
    refused: list[str] = []
    for event in events:
        if step := event.get("resourcePreEvent"):
            _note_step(step["metadata"], changes, unchanged)
            declared.note(step["metadata"])
            packages.add(step["metadata"]["type"].partition(":")[0])
        elif policy := event.get("policyEvent"):
            results.violated(policy)
        elif summary := event.get("policyAnalyzeStackSummaryEvent") or event.get("policyAnalyzeSummaryEvent"):
            for name in [*summary.get("passed", ()), *summary.get("failed", ())]:
                results.passed(_pack(summary), name)
        elif not (diagnostic := event.get("diagnosticEvent")):
            continue
        elif found := Coverage.read(diagnostic["message"]):
            values[found.token] = values[found.token].and_of(found) if found.token in values else found
        elif diagnostic["severity"] in diagnostics:
            refused += (lines := protected_resources.refusals(diagnostic["message"]))
            diagnostics[diagnostic["severity"]] += [] if lines else _lines(diagnostic["message"])
            packages.add(_type(diagnostic.get("urn", "")).partition(":")[0])
    components = declared.components
    if refusal := _too_new(components):
        components = {token: {name: ({}, new) for name, (_, new) in of.items()} for token, of in components.items()}
        diagnostics["warning"].append(f"{refusal}. This report shows what would be, not what is deployed")
    order = {operation: index for index, operation in enumerate(OPERATIONS)}
    return Report(
        stack=stack,
        changes=tuple(sorted(changes.values(), key=lambda c: (order.get(c.operation, len(order)), c.type, c.name))),
        unchanged=len(unchanged),
        components=components,
        pods_before=declared.pods("old"),
        pods_after=declared.pods("new"),
        starts=declared.starts,
        admission=declared.admission,
        unprotected=tuple(declared.unprotected),
        policy_results=results.all(),
        errors=tuple(dict.fromkeys(diagnostics["error"])),
        warnings=tuple(dict.fromkeys(diagnostics["warning"])),
        risks=tuple(Risk(line, stops=True) for line in dict.fromkeys(refused)),
        stand_ins=tuple((package, why) for package, why in sorted(stand_ins.items()) if package in packages),
        values=tuple(values[token] for token in sorted(values)),
        failed=failed,
    )


def _note_step(step: Event, changes: dict[str, Change], unchanged: set[str]) -> None:
    operation, urn = step["op"], step["urn"]
    if step["type"] == _STACK:
        return
    if operation == "same":
        unchanged.add(urn)
    elif operation in OPERATIONS:
        name, changed = urn.rpartition("::")[2], tuple(properties.of(step))
        changes[urn] = Change(operation, _short(step["type"]), name, changed, blocked=_blocked(step))


def _blocked(step: Event) -> bool:
    """Whether it is protected; of the stack's own components, whether their data is."""
    old = step.get("old") or {}
    of_component = old.get("inputs") or {} if step["type"] in (outputs.VOLUME, outputs.NAMESPACE) else {}
    is_protected = old.get("protect") or of_component.get("retain") or of_component.get("protect")
    return step["op"] in ("delete", "replace") and bool(is_protected)


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


def _pack(event: Event) -> str:
    return f"{event['policyPackName']} {event['policyPackVersion']}"


def _lines(message: str) -> list[str]:
    text = protected_resources.reword(message.strip())
    lines = [_PROBLEM.sub(r"\1 \2: ", line.rstrip()) for line in text.splitlines() if line.strip()]
    if crash_reports.TRACEBACK in text:
        lines = crash_reports.fold_traceback(lines, crash_reports.save("make preview", text))
    return [line for line in lines if not line.startswith(_NOISE) and line not in _EMPTY]
