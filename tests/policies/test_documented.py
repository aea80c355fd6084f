"""The table of rules in the documentation is that of the pack: `UPDATE_GOLDEN=1` writes it."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

from tensorplane.core.paths import PROJECT
from tests.policies.conftest import Rules

PAGE = PROJECT / "docs/previews-and-policies.md"
_TABLE = re.compile(r"(?<=<!-- RULES: BEGIN -->\n).*(?=<!-- RULES: END -->)", re.DOTALL)

_COUNTED = re.compile(r"\d+(?= policies \(tensorplane | judged, none refuses)")
COUNTING = [page for page in sorted((PROJECT / "docs").rglob("*.md")) if _COUNTED.search(page.read_text())]
"""Pages with examples of what a preview says."""


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


@pytest.mark.parametrize("page", COUNTING, ids=lambda path: path.stem)
def test_examples_of_output_count_every_rule(page: Path, rules: Rules) -> None:
    expected = _COUNTED.sub(str(len(rules)), page.read_text())
    if os.environ.get("UPDATE_GOLDEN"):
        page.write_text(expected)
    assert page.read_text() == expected
