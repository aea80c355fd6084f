"""What each rule of the policy pack checks, from its source: the pack runs in an environment of its own."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path


def descriptions(rules: Path) -> dict[str, str]:
    """The description of each rule of the modules in a folder, by its name. Composed ones are left out."""
    trees = (ast.parse(path.read_text()) for path in sorted(rules.glob("*.py")))
    return {name: text for tree in trees for name, text in _described(tree)}


def _described(tree: ast.Module) -> Iterator[tuple[str, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            given = {each.arg: each.value.value for each in node.keywords if isinstance(each.value, ast.Constant)}
            name, text = given.get("name"), given.get("description")
            if isinstance(name, str) and isinstance(text, str):
                yield name, text
