"""The result of each policy on the update, and what each rule checks."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator
from pathlib import Path

from rich.text import Text

from tensorplane.cli.commands.preview.head import Block
from tensorplane.cli.commands.preview.report import PolicyResult, Report
from tensorplane.cli.output import aggregated
from tensorplane.cli.output.escaping import line
from tensorplane.cli.output.markdown import bullets, details, table
from tensorplane.cli.output.texts import bold
from tensorplane.driver.update import policy_pack

_RULES = "rules"
"""The folder of the pack's rules."""


def terminal(report: Report, _: int) -> Iterator[Text]:
    """A line for each violation, and one for the policies that passed."""
    if passed := _passed(report):
        yield Text(f"{passed}: passed", style="green")
    for change in report.policy_changes:
        yield Text(f"policies change: {change}", style="yellow")
    for result in report.policy_results:
        style = "red" if result.level == "mandatory" else "yellow"
        for message in result.messages:
            yield Text(f"policy {result.policy} ({result.level}): {message}", style=style)


def skipped(report: Report) -> Iterator[str]:
    """A heading before everything else if the preview skipped the policies."""
    if not (report.policy_results or report.stack_removed or report.failed):
        yield "## No policy judged this update"


def judged(report: Report) -> str:
    """How many policies judged the update, how many of them refuse it, and which the stack leaves out."""
    if not report.policy_results:
        return f"**No policy judged this update:** {_not_evaluated(report)}"
    violated = [each.level == "mandatory" for each in report.policy_results if each.messages]
    refuse, advise = sum(violated), len(violated) - sum(violated)
    counts = [
        f"{len(report.policy_results):,} judged",
        f"{refuse or 'none'} {'refuse' if refuse > 1 else 'refuses'}",
        *([f"{advise} {'advise' if advise > 1 else 'advises'}"] if advise else ()),
    ]
    found = policy_pack.lenient(report.stack)
    left_out = [f"; {words}: {aggregated.names(rules)}" for words, rules in found.items()]
    return line(f"{bold('Policies:')} {', '.join(counts)}{''.join(left_out)}.")


def head(report: Report) -> Iterator[Block]:
    """How the policies themselves change, and the violated ones, those that refuse the update first."""
    if report.policy_changes:
        yield Block("Policies that judge this update change", report.policy_changes, is_list=True)
    violated = sorted(
        (each for each in report.policy_results if each.messages), key=lambda each: each.level != "mandatory"
    )
    lines = [
        f"{bold(each.policy)} ({each.level}): {' '.join(text.split())}" for each in violated for text in each.messages
    ]
    if lines:
        yield Block("Violated policies", aggregated.lines(lines, report.names), is_list=True)


def markdown(report: Report) -> Iterator[str]:
    """A table of the violated policies, and how many others passed."""
    yield "## Policies"
    if report.policy_results and not report.stack_removed:
        rows = [(f"{each.policy} ({each.pack})", _result(each)) for each in report.policy_results if each.messages]
        passed = _passed(report)
        yield table(("policy", "verdict"), [*rows, *([(passed, "passed")] if passed else [])])
        if passed:
            yield from details("What holds, according to the policies that passed", [bullets(_checked(report))])
    else:
        yield f"Not evaluated: {_not_evaluated(report)}"


def _not_evaluated(report: Report) -> str:
    if report.stack_removed:
        return "policies judge what a stack declares, and after this change it declares nothing."
    if report.failed:
        return "the preview ended before the policies saw the whole stack."
    return "this preview skipped them, so nothing below was checked against the rules of this stack."


def _checked(report: Report) -> Iterator[str]:
    """The policies that passed, in words, with the limits that the stack sets."""
    known, limits = rule_descriptions(policy_pack.PACK / _RULES), policy_pack.limits(report.stack)
    for result in report.policy_results:
        if not result.messages:
            values = limits.get(result.policy, {}).items()
            given = ", ".join(f"`{key}` to {json.dumps(value)}" for key, value in values)
            words = (known.get(result.policy, ""), f"Stack {report.stack} sets {given}" if given else "")
            yield ": ".join(filter(None, (result.policy, " ".join(filter(None, words)))))


def _passed(report: Report) -> str:
    """The policies that passed: by name if it is one, else their number."""
    passed = [result for result in report.policy_results if not result.messages]
    packs = ", ".join(sorted({result.pack for result in passed}))
    if len(passed) == 1:
        return f"{passed[0].policy} ({packs})"
    return f"{len(passed)} policies ({packs})" if passed else ""


def _result(result: PolicyResult) -> str:
    return f"{bold('violated')} ({result.level}): see the beginning"


def rule_descriptions(rules: Path) -> dict[str, str]:
    """The description of each rule of the modules in a folder, by its name. Composed ones are left out."""
    trees = (ast.parse(path.read_text()) for path in sorted(rules.glob("*.py")))
    return {name: text for tree in trees for name, text in _descriptions(tree)}


def _descriptions(tree: ast.Module) -> Iterator[tuple[str, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            given = {each.arg: each.value.value for each in node.keywords if isinstance(each.value, ast.Constant)}
            name, text = given.get("name"), given.get("description")
            if isinstance(name, str) and isinstance(text, str):
                yield name, text
