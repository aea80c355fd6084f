"""What a preview without a cloud could not check: values that the cloud's own model does not limit."""

from __future__ import annotations

from collections.abc import Iterator

from rich.text import Text

from tensorplane.cli.commands.preview.report import Report
from tensorplane.cli.output.escaping import Markdown, code
from tensorplane.cli.output.markdown import table


def terminal(report: Report, _: int) -> Iterator[Text]:
    """Nothing: the banner has the numbers, and the report the names."""
    yield from ()


def markdown(report: Report) -> Iterator[str]:
    """A table: the inputs of each type of resource."""
    with_model = {each.package for each in report.values if each.model}
    found = (each for each in report.values if each.package in with_model and each.unchecked)
    rows = [(each.token, _names(each.free), _names(each.absent)) for each in found]
    if rows:
        yield "## Values not checked"
        yield table(("resource", "any value passes the cloud's model", "not in the cloud's model"), rows)


def _names(inputs: frozenset[str]) -> Markdown:
    return Markdown(", ".join(map(code, sorted(inputs))))
