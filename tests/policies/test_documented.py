"""The table of rules in the documentation is that of the pack: `UPDATE_GOLDEN=1` writes it."""

from __future__ import annotations

import json
import os
import re
from typing import Any

from embedded.paths import PROJECT
from tests.policies.conftest import Rules

PAGE = PROJECT / "docs/previews-and-policies.md"
_TABLE = re.compile(r"(?<=<!-- RULES: BEGIN -->\n).*(?=<!-- RULES: END -->)", re.DOTALL)

_COUNTED = re.compile(r"(\d+) policies \(tensorplane ")


def table(rules: Rules) -> str:
    """A row for each rule, in the order of their files."""
    rows = [("rule", "severity", "what must hold", "configuration"), ("---",) * 4, *map(_row, rules)]
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def _row(rule: dict[str, Any]) -> tuple[str, ...]:
    advises = "" if rule["level"] == "mandatory" else ", advises"
    keys = ", ".join(_key(name, schema) for name, schema in rule["config"].items())
    return f"`{rule['name']}`", f"{rule['severity']}{advises}", rule["description"], keys


def _key(name: str, schema: dict[str, Any]) -> str:
    default = schema.get("default")
    return f"`{name}`" if default in (None, [], {}) else f"`{name}` ({json.dumps(default)})"


def test_the_documentation_has_every_rule(rules: Rules) -> None:
    text = PAGE.read_text()
    expected = _TABLE.sub(lambda found: table(rules), text)
    if os.environ.get("UPDATE_GOLDEN"):
        PAGE.write_text(expected)
    assert PAGE.read_text() == expected


def test_examples_of_output_count_every_rule(rules: Rules) -> None:
    pages = [PROJECT / "README.md", *sorted((PROJECT / "docs").rglob("*.md"))]
    found = {(page.name, number) for page in pages for number in _COUNTED.findall(page.read_text())}
    assert {int(number) for _, number in found} == {len(rules)}, found
