"""What a preview without a cloud cannot know: a reader must see it first."""

from __future__ import annotations

from collections.abc import Iterator

from rich.text import Text

from cli.commands.preview.report import Report


def lines(report: Report) -> tuple[str, ...]:
    """The warning, a line each; none for a preview that asked the cloud."""
    if not report.stand_ins:
        return ()
    told = "; ".join(f"{package}: {why}" for package, why in report.stand_ins)
    return (
        f"Checked against the SDK's types, not by the cloud ({told}).",
        "Permissions, quotas, names in use and which changes replace a resource are not checked here.",
    )


def terminal(report: Report, _: int) -> Iterator[Text]:
    """Above everything else."""
    yield from (Text(line, style="bold yellow") for line in lines(report))


def markdown(report: Report) -> Iterator[str]:
    """A quotation."""
    if found := lines(report):
        yield "\n".join(f"> {line}" for line in found)
