"""What a preview found, from the engine's events: changes by property, policy verdicts, faults. No text layout here."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from cli import fleet, property_path, queue_report
from embedded import protected

Event = Mapping[str, Any]

# In the order in which a reader wants them; what the engine does inside a replacement is one `replace` here.
OPERATIONS = ("delete", "replace", "update", "create", "import", "refresh", "discard")
_STACK = "pulumi:pulumi:Stack"
_TOLD = (fleet.COMPONENT, queue_report.QUEUE, queue_report.JOB)
# The CLI says it on each use of a plugin that it did not install; on an embedded machine that is every time.
_NOISE = ("using pulumi-language-", "using pulumi-resource-")
# How the engine introduces what a provider finds wrong with a resource's inputs.
_PROBLEM = re.compile(r"^(\S+) resource '(.*?)' has a problem: ")
_EMPTY = ("preview failed", "update failed")


@dataclass(frozen=True)
class Property:
    """One changed property; `old` and `new` are texts fit to be shown, empty where there is nothing."""

    path: str
    old: str
    new: str
    replaces: bool


@dataclass(frozen=True)
class Change:
    """What would happen to one resource."""

    operation: str
    type: str
    name: str
    properties: tuple[Property, ...] = ()


@dataclass(frozen=True)
class Verdict:
    """What one policy says; no messages means that the stack keeps to it."""

    policy: str
    pack: str
    level: str = ""
    messages: tuple[str, ...] = ()


@dataclass(frozen=True)
class Report:
    """One preview of one stack."""

    stack: str
    changes: tuple[Change, ...] = ()
    unchanged: int = 0
    groups: tuple[fleet.Group, ...] = ()
    """The node groups, those that stay as they are too; none where the program declares none."""
    queues: queue_report.Queues = field(default_factory=queue_report.Queues)
    """The queues, and the jobs that may be stopped for others."""
    verdicts: tuple[Verdict, ...] = ()
    faults: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    stand_ins: tuple[tuple[str, str], ...] = ()
    """Packages of which a preview-only provider was asked, each with the reason why not the real one."""
    failed: bool = False

    @property
    def banner(self) -> tuple[str, ...]:
        """What a reader must know first of a preview that asked no cloud, a line each; none for a real one."""
        if not self.stand_ins:
            return ()
        told = "; ".join(f"{package}: {why}" for package, why in self.stand_ins)
        return (
            f"Checked against the SDK's types, not by the cloud ({told}).",
            "Permissions, quotas, names in use and which changes replace a resource are not judged here.",
        )

    @property
    def refused(self) -> bool:
        """Whether a policy that must be kept is not."""
        return any(verdict.messages and verdict.level == "mandatory" for verdict in self.verdicts)

    def count(self, operation: str) -> int:
        """How many resources an operation would touch."""
        return sum(change.operation == operation for change in self.changes)


@dataclass
class _Verdicts:
    """Collects per policy, because passing is told once per pack and each violation by itself."""

    found: dict[tuple[str, str], tuple[str, list[str]]] = field(default_factory=dict)

    def passed(self, pack: str, policy: str) -> None:
        self.found.setdefault((pack, policy), ("", []))

    def violated(self, event: Event) -> None:
        key = _pack(event), event["policyName"]
        level, messages = self.found.setdefault(key, (event["enforcementLevel"], []))
        self.found[key] = (level or event["enforcementLevel"], messages)
        # The first line repeats the policy's description.
        messages.append(event["message"].strip().split("\n", 1)[-1])

    def all(self) -> tuple[Verdict, ...]:
        return tuple(
            Verdict(policy, pack, level, tuple(sorted(messages)))
            for (pack, policy), (level, messages) in sorted(self.found.items())
        )


def of(
    stack: str, events: Iterable[Event], *, failed: bool = False, stand_ins: Mapping[str, str] = MappingProxyType({})
) -> Report:
    """The report of one preview. `failed` is what the CLI's exit status said.

    `stand_ins` are the packages that a preview-only provider stood ready for, and why; those in use are told.
    """
    changes: dict[str, Change] = {}
    unchanged: set[str] = set()
    components: dict[str, dict[str, tuple[Event, Event]]] = {}
    verdicts = _Verdicts()
    diagnostics: dict[str, list[str]] = {"error": [], "warning": []}
    packages: set[str] = set()
    for event in events:
        if step := event.get("resourcePreEvent"):
            _note_step(step["metadata"], changes, unchanged)
            _note_component(step["metadata"], components)
            packages.add(step["metadata"]["type"].partition(":")[0])
        elif policy := event.get("policyEvent"):
            verdicts.violated(policy)
        elif summary := event.get("policyAnalyzeStackSummaryEvent") or event.get("policyAnalyzeSummaryEvent"):
            for name in [*summary.get("passed", ()), *summary.get("failed", ())]:
                verdicts.passed(_pack(summary), name)
        elif (said := event.get("diagnosticEvent")) and said["severity"] in diagnostics:
            diagnostics[said["severity"]] += _lines(said["message"])
            packages.add(_type(said.get("urn", "")).partition(":")[0])
    groups = {name: fleet.Group(name, *states) for name, states in components.get(fleet.COMPONENT, {}).items()}
    order = {operation: index for index, operation in enumerate(OPERATIONS)}
    return Report(
        stack=stack,
        changes=tuple(sorted(changes.values(), key=lambda c: (order.get(c.operation, len(order)), c.type, c.name))),
        unchanged=len(unchanged),
        groups=tuple(groups[name] for name in sorted(groups)),
        queues=queue_report.of(components),
        verdicts=verdicts.all(),
        faults=tuple(dict.fromkeys(diagnostics["error"])),
        warnings=tuple(dict.fromkeys(diagnostics["warning"])),
        stand_ins=tuple((package, why) for package, why in sorted(stand_ins.items()) if package in packages),
        failed=failed,
    )


def _note_step(step: Event, changes: dict[str, Change], unchanged: set[str]) -> None:
    operation, urn = step["op"], step["urn"]
    if step["type"] == _STACK:
        return
    if operation == "same":
        unchanged.add(urn)
    elif operation in OPERATIONS:
        changes[urn] = Change(operation, _short(step["type"]), urn.rpartition("::")[2], tuple(_properties(step)))


def _note_component(step: Event, components: dict[str, dict[str, tuple[Event, Event]]]) -> None:
    """What one of the stack's components registers: by its type and its name, what it was and what it will be."""
    if step["type"] in _TOLD:
        old, new = ((state or {}).get("inputs") or {} for state in (step.get("old"), step.get("new")))
        name = step["urn"].rpartition("::")[2]
        components.setdefault(step["type"], {})[name] = old, {} if step["op"] == "delete" else new


def _properties(step: Event) -> Iterator[Property]:
    old, new = step.get("old") or {}, step.get("new") or {}
    is_secret = step["type"] == "kubernetes:core/v1:Secret"
    for path, kind in _differences(step):
        yield Property(
            path=path,
            old="" if kind.startswith("add") else _shown(old, path, is_secret),
            new="" if kind.startswith("delete") else _shown(new, path, is_secret),
            replaces=kind.endswith("-replace") or path in (step.get("keys") or ()),
        )


def _differences(step: Event) -> list[tuple[str, str]]:
    """Path and kind of each change. Providers tell them; of components the engine says only that they changed."""
    if step["op"] in {"create", "delete"}:
        return []
    detailed = step.get("detailedDiff")
    if detailed is not None:
        return [(path, difference["diffKind"]) for path, difference in sorted(detailed.items())]
    old, new = (state.get("inputs") or {} for state in (step.get("old") or {}, step.get("new") or {}))
    return list(property_path.differences(old, new)) or [(name, "update") for name in step.get("diffs") or ()]


def _shown(state: Event, path: str, is_secret: bool) -> str:
    if is_secret and path.split(".")[0].split("[")[0] in {"data", "stringData"}:
        return property_path.SECRET
    return property_path.text(property_path.find(state.get("inputs") or {}, path))


def _type(urn: str) -> str:
    """The resource's own type out of `urn:pulumi:stack::project::parent$type::name`."""
    return urn.split("::")[2].rpartition("$")[2] if urn.count("::") > 2 else ""


def _short(token: str) -> str:
    """`kubernetes:apps/v1:Deployment` as `apps/v1:Deployment`, and our own components by their kind alone."""
    package, _, rest = token.partition(":")
    return rest.removeprefix("index:") if package in {"kubernetes", "tensorplane"} else token


def _pack(event: Event) -> str:
    return f"{event['policyPackName']} {event['policyPackVersion']}"


def _lines(message: str) -> list[str]:
    text = protected.explained(message.strip())
    lines = [_PROBLEM.sub(r"\1 \2: ", line.rstrip()) for line in text.splitlines() if line.strip()]
    return [line for line in lines if not line.startswith(_NOISE) and line not in _EMPTY]
