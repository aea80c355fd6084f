"""What runs without TensorFlow works with Python 3.9: datasets, recorders and scorers in images of other people."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.runtime.launching import LIBRARY

_NEWER = {"tensorflow", "keras", "numpy"}
"""Packages of which those that the library needs have no versions for Python 3.9."""


def _imported(module: ast.Module) -> set[str]:
    """The packages that a module needs to be imported."""
    plain = {each.name for one in module.body if isinstance(one, ast.Import) for each in one.names}
    named = {one.module or "" for one in module.body if isinstance(one, ast.ImportFrom)}
    return {name.partition(".")[0] for name in plain | named}


def too_new(text: str) -> Iterator[str]:
    """What of a module Python 3.9 cannot run: each `A | B` of types that is no annotation, and zip's `strict`."""
    module = ast.parse(text, feature_version=(3, 9))
    for call in (node for node in ast.walk(module) if isinstance(node, ast.Call)):
        called = call.func.id if isinstance(call.func, ast.Name) else ""
        if called == "zip" and any(each.arg == "strict" for each in call.keywords):
            yield f"{call.lineno}: zip(strict)"
        if called in ("isinstance", "issubclass", "cast") and _unions(call):
            yield f"{call.lineno}: {called}"
    for one in module.body:
        if isinstance(one, ast.Assign) and _unions(one.value) and _is_of_types(one.value):
            yield f"{one.lineno}: alias"


def _unions(node: ast.AST) -> bool:
    return any(isinstance(each, ast.BinOp) and isinstance(each.op, ast.BitOr) for each in ast.walk(node))


def _is_of_types(value: ast.expr) -> bool:
    names = [each.id for each in ast.walk(value) if isinstance(each, ast.Name)]
    return isinstance(value, ast.Subscript) or any(name[0].isupper() and not name.isupper() for name in names)


def _modules() -> list[Path]:
    """The library's. What Pulumi programs import needs the Python of the stack's own program."""
    library = LIBRARY / "tensorplane"
    return sorted(path for path in library.rglob("*.py") if not path.is_relative_to(library / "pulumi"))


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("After = Callable[[Commit | None], object]", ["1: alias"]),
        ("Entry = File | Folder", ["1: alias"]),
        ('After = Callable[["Commit | None"], object]', []),
        ("from __future__ import annotations\nx: int | None = None", []),
        ("def f(x):\n    return isinstance(x, int | float)", ["2: isinstance"]),
        ("_FLAGS = re.MULTILINE | re.DOTALL\nMODE = 1 | 2", []),
        ("a = zip(b, c, strict=True)", ["1: zip(strict)"]),
    ],
)
def test_what_the_oldest_python_cannot_run_is_found(text: str, found: list[str]) -> None:
    assert list(too_new(text)) == found


def test_modules_without_tensorflow_run_with_the_oldest_python() -> None:
    texts = {path: path.read_text() for path in _modules()}
    plain = {path: text for path, text in texts.items() if not _imported(ast.parse(text)) & _NEWER}
    assert {"record.py", "score.py", "commit.py"} <= {path.name for path in plain}
    assert {path.name: list(too_new(text)) for path, text in plain.items() if list(too_new(text))} == {}
