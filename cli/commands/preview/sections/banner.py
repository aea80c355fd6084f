"""The warning of a preview without a cloud, which a reader must see first."""

from __future__ import annotations

import re
from collections.abc import Iterator

from rich.text import Text

from tensorplane.cli.commands.preview.report import Report
from tensorplane.cli.output.escaping import Markdown, line
from tensorplane.core import paths
from tensorplane.toolchain import python_packages


def lines(report: Report) -> tuple[str, ...]:
    """The warning; no lines if the cloud checked the preview and the deployed state was read."""
    return (*_compared(report), *_unchecked(report))


def _compared(report: Report) -> Iterator[str]:
    if report.compared_with:
        # On GitHub and GitLab, the commit becomes a link.
        yield Markdown(
            f"Compared with commit {report.compared_with}, the merge base, not with what is deployed: "
            "this machine has no access to the stack's state."
        )
        yield "Encrypted values are not compared, and what is running is not known."


def _unchecked(report: Report) -> Iterator[str]:
    if report.stand_ins:
        reasons = "; ".join(f"{package}: {why}" for package, why in report.stand_ins)
        yield f"Checked against the SDK's types, not by the cloud ({reasons})."
        yield from _of_values(report)
        yield "Permissions, quotas, names in use and which changes replace a resource are not checked here."


def _of_values(report: Report) -> Iterator[str]:
    """How many values the clouds' own models could check."""
    without = sorted({each.package for each in report.values} - {each.package for each in report.values if each.model})
    if models := sorted({each.model for each in report.values if each.model}):
        checked = [each for each in report.values if each.package not in without]
        limited = sum(len(each.limited) for each in checked)
        all_inputs = limited + sum(len(each.unchecked) for each in checked)
        yield f"Values of {limited} of {all_inputs} inputs are checked too, as far as {', '.join(models)} limits them."
    for package in without:
        yield f"Values of {package} are not checked: its cloud's model is not installed; {_remedy(package)}"


def _remedy(package: str) -> str:
    if paths.is_checkout():
        return "make preview installs it."
    pins = re.findall(r"^[\w.-]+==[\w.]+", python_packages.MODELS[package].read_text(), re.MULTILINE)
    return f"install it with: pip install --no-deps {' '.join(pins)}"


def terminal(report: Report, _: int) -> Iterator[Text]:
    """Above everything else."""
    yield from (Text(line, style="bold yellow") for line in lines(report))


def head(report: Report) -> Iterator[str]:
    """A quotation."""
    if found := lines(report):
        yield "\n".join(f"> {line(each)}" for each in found)
