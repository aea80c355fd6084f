"""How many resources would change, and how."""

from __future__ import annotations

from collections.abc import Iterator

from rich.text import Text

from cli.commands.preview.report import OPERATIONS, Change, Report
from cli.output.escaping import line
from cli.output.texts import bold, first

_FEW = 3


def sentence(report: Report) -> str:
    """`1 to delete, 1 to replace (JobSet digits), 7 unchanged`."""
    counts = [
        f"{number} to {operation}{_named(report, operation)}"
        for operation in OPERATIONS
        if (number := report.count(operation))
    ]
    unchanged = f"{report.unchanged} unchanged"
    return ", ".join([*counts, unchanged]) if counts else f"no changes, {unchanged}"


def _named(report: Report, operation: str) -> str:
    """A few replaced resources, most of which a reader would take for more than they are."""
    found = _replaced(report) if operation == "replace" else []
    names = (f"{each.type.rpartition(':')[2]} {each.name}" for each in found)
    return f" ({', '.join(names)})" if 0 < len(found) <= _FEW else ""


def replaced(report: Report) -> Iterator[str]:
    """The replaced resources by type, with their number and a few names; nothing if the sentence names them all."""
    found = _replaced(report)
    by_type: dict[str, list[str]] = {}
    for each in found if len(found) > _FEW else ():
        by_type.setdefault(each.type.rpartition(":")[2], []).append(each.name)
    for kind, names in sorted(by_type.items(), key=lambda each: len(each[1])):
        yield f"{f'{len(names):,} ' if len(names) > 1 else ''}{kind} {first(names, _FEW)}"


def _replaced(report: Report) -> list[Change]:
    return [each for each in report.changes if each.operation == "replace"]


def _refused(report: Report) -> str:
    """Who refuses an update that loses data, and what becomes of the data."""
    if not report.removed:
        policy = " A policy refuses it, too." if report.refused else ""
        return (
            "**This update is refused: it would lose data.** This check fails, and `make up` stops in its own preview,"
            f" before its first change. Everything stays as it is, the data too.{policy}"
        )
    if report.blocked:
        stops = "Pulumi refuses it too, and deletes nothing as long as something of it is protected. The data stays."
    else:
        stops = "Pulumi itself would not refuse it."
    return f"**This check fails: that would lose data.** {stops}"


def terminal(report: Report, _: int) -> Iterator[Text]:
    """One line; none for a preview that failed before the first change."""
    if report.changes or not report.failed:
        # Repeated here: the banner of a long preview has scrolled off the screen.
        stack = f"{report.stack} (not checked by the cloud)" if report.stand_ins else report.stack
        yield Text(f"{stack}: {sentence(report)}", style="bold")


def head(report: Report) -> Iterator[str]:
    """The outcome in bold."""
    if report.removed:
        yield (
            "**Merging this deletes nothing.** It removes the environment's file; what was deployed runs on, and costs"
            f" the same, until somebody runs `pulumi destroy --run-program --stack {report.stack}` on an earlier"
            " commit. All below is what that would do."
        )
    if report.loses_data:
        yield f"{_refused(report)} It would be: {line(sentence(report))}."
    elif not report.failed:
        yield line(f"{bold(f'{sentence(report)}.')}")
    elif report.refused:
        yield f"**A policy refuses this update:** {line(sentence(report))}."
    else:
        yield "**The preview failed.**" + (f" Until then: {line(sentence(report))}." if report.changes else "")
