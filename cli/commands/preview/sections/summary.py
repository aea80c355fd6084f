"""How many resources would change, and how."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence

from rich.text import Text

from tensorplane.cli.commands.preview.kinds import KIND_NAMES
from tensorplane.cli.commands.preview.property_path import truncate_start
from tensorplane.cli.commands.preview.report import OPERATIONS, OURS, Change, Report
from tensorplane.cli.commands.preview.sections import policies
from tensorplane.cli.output.escaping import line
from tensorplane.cli.output.texts import bold, first_names
from tensorplane.components.base.plural import plural
from tensorplane.core import command_lines

_MAX_NAMES = 3
"""Resources that the sentence names of each operation, instead of counting them by kind."""
_MAX_KINDS = 4
"""Kinds of resources that the sentence names of each operation."""
_NAME_LIMIT = 60
"""Characters of a name in the sentence."""


def sentence(report: Report) -> str:
    """`2 to replace (JobSet a, JobSet b), 41 to update (1 Role, 40 Deployments), 7 unchanged`."""
    return _sentence(report, dict.fromkeys(OPERATIONS, _kinds))


def _sentence(report: Report, details: Mapping[str, Callable[[Sequence[Change]], str]]) -> str:
    counts = []
    for operation in OPERATIONS:
        if found := report.of(operation):
            detail = details[operation](found) if operation in details else ""
            counts.append(f"{len(found):,} to {operation}{f' ({detail})' if detail else ''}")
    unchanged = f"{report.unchanged:,} unchanged"
    return ", ".join([*counts, unchanged]) if counts else f"no changes, {unchanged}"


def _names(found: Sequence[Change]) -> str:
    """A few by name; empty for more."""
    if len(found) > _MAX_NAMES:
        return ""
    return ", ".join(f"{_kind(each)} {truncate_start(each.name, _NAME_LIMIT)}" for each in found)


def _kinds(found: Sequence[Change]) -> str:
    """A few by name; of many, how many are of each kind. Of the stack's own components, only settings are updated."""
    components, others = ([each for each in found if _is_own_component(each) == is_own] for is_own in (True, False))
    name = _names if len(found) <= _MAX_NAMES else _counts
    parts = [name(others), f"settings of {name(components)}" if components else ""]
    return "; ".join(filter(None, parts))


def _counts(found: Sequence[Change]) -> str:
    """How many are of each kind, those of which there are few first."""
    counts = sorted(Counter(map(_kind, found)).items(), key=lambda each: each[1])
    shown = counts if len(counts) <= _MAX_KINDS + 1 else counts[:_MAX_KINDS]
    parts = [f"{count:,} {plural(kind) if count > 1 else kind}" for kind, count in shown]
    if others := counts[len(shown) :]:
        parts.append(f"{sum(count for _, count in others):,} of {len(others)} other kinds")
    return ", ".join(parts)


def _is_own_component(change: Change) -> bool:
    """Whether it updates a component of the stack, of which only the settings change."""
    return change.operation == "update" and f"{OURS}{change.type}" in KIND_NAMES


def _kind(change: Change) -> str:
    return KIND_NAMES.get(f"{OURS}{change.type}") or change.type.rpartition(":")[2]


def replaced(report: Report) -> Iterator[str]:
    """The replaced resources by type, with their number and a few names; nothing if the sentence names them all."""
    found = report.of("replace")
    by_type: dict[str, list[str]] = {}
    for each in found if len(found) > _MAX_NAMES else ():
        by_type.setdefault(each.type.rpartition(":")[2], []).append(each.name)
    for kind, names in sorted(by_type.items(), key=lambda each: len(each[1])):
        yield f"{f'{len(names):,} {plural(kind)}' if len(names) > 1 else kind} {first_names(names, _MAX_NAMES)}"


def _why_stopped(report: Report) -> str:
    """Who stops an update that loses data, and what becomes of the data."""
    if not report.stack_removed:
        policy = " A policy refuses it, too." if report.violates_policy else ""
        loses_data = any(risk.stops_update and risk.loses_data for risk in report.risks)
        why = "it would lose data" if loses_data else "a volume cannot shrink"
        return (
            f"**This update is refused: {why}.** This check fails, and `{command_lines.deploy()}` stops in its own"
            f" preview, before its first change. Everything stays as it is, the data too.{policy}"
        )
    if report.touches_protected:
        engine = "Pulumi refuses it too, and deletes nothing as long as something of it is protected. The data stays."
    else:
        engine = "Pulumi itself would not refuse it."
    return f"**This check fails: that would lose data.** {engine}"


def terminal(report: Report, _: int) -> Iterator[Text]:
    """One line; none for a preview that failed before the first change."""
    if report.changes or not report.failed:
        # Repeated here: the banner of a long preview has scrolled off the screen.
        stack = f"{report.stack} (not checked by the cloud)" if report.stand_ins else report.stack
        # The table above lists all changes, so only a few replaced resources are named here: those interrupt something.
        yield Text(f"{stack}: {_sentence(report, {'replace': _names})}", style="bold")


def head(report: Report) -> Iterator[str]:
    """A warning if the policies were skipped; the outcome in bold; the results of the policies."""
    yield from policies.skipped(report)
    yield from _outcome(report)
    yield policies.judged(report)


def _outcome(report: Report) -> Iterator[str]:
    if report.stack_removed:
        yield (
            "**Merging this deletes nothing.** It removes the environment's file; what was deployed runs on, and costs"
            f" the same, until somebody runs `pulumi destroy --run-program --stack {report.stack}` on an earlier"
            " commit. All below is what that would do."
        )
    if report.stopped_by_risk:
        yield f"{_why_stopped(report)} It would be: {line(sentence(report))}."
    elif not report.failed:
        yield line(f"{bold(f'{sentence(report)}.')}")
    elif report.violates_policy:
        yield f"**A policy refuses this update:** {line(sentence(report))}."
    else:
        yield "**The preview failed.**" + (f" Until then: {line(sentence(report))}." if report.changes else "")
