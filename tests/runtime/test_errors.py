"""All errors that the library raises on purpose have one root."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from tensorplane.errors import StateError, TensorplaneError, UsageError
from tests.runtime.launching import LIBRARY

ROOT = TensorplaneError.__name__
_OF_PYTHON = {
    name for name, found in vars(builtins).items() if isinstance(found, type) and issubclass(found, Exception)
}
_PROTOCOLS = {
    ("lazy_imports.py", "AttributeError"),  # of a module without such a name
    ("steps.py", "StopIteration"),  # of an iterator at its end
    ("run_folder.py", "FileNotFoundError"),  # caught where the folder is looked for again
}
"""What Python's own protocols raise, by file and name."""


def _name(node: ast.expr | None) -> str:
    return ast.unparse(node).rpartition(".")[2] if node else ""


def exceptions(modules: Iterable[ast.Module]) -> dict[str, set[str]]:
    """The exception classes of these modules, each with the names of its bases."""
    nodes = (node for module in modules for node in ast.walk(module) if isinstance(node, ast.ClassDef))
    classes = {node.name: {_name(base) for base in node.bases} for node in nodes}
    found: dict[str, set[str]] = {}
    count = -1
    while len(found) > count:
        count = len(found)
        found = {name: bases for name, bases in classes.items() if bases & (_OF_PYTHON | {*found})}
    return found


def without_root(modules: Iterable[ast.Module]) -> list[str]:
    """The exception classes that do not derive from the root."""
    found = exceptions(modules)

    def has_root(name: str) -> bool:
        return name == ROOT or any(map(has_root, found.get(name, ())))

    return sorted(name for name in found if not has_root(name))


def raised_of_python(path: Path, module: ast.Module) -> Iterator[str]:
    """Where a module raises an exception of Python itself."""
    for node in ast.walk(module):
        if isinstance(node, ast.Raise):
            name = _name(node.exc.func if isinstance(node.exc, ast.Call) else node.exc)
            if name in _OF_PYTHON and (path.name, name) not in _PROTOCOLS:
                yield f"{path.name}:{node.lineno}: {name}"


def _modules() -> dict[Path, ast.Module]:
    return {path: ast.parse(path.read_text()) for path in sorted((LIBRARY / "tensorplane").rglob("*.py"))}


def test_every_exception_class_has_the_root() -> None:
    modules = _modules().values()
    assert {"Refused", "TakenOver", "StreamError", "UnknownKeras", "ParquetError"} <= exceptions(modules).keys()
    assert without_root(modules) == []


def test_no_exception_of_python_itself_is_raised() -> None:
    assert [line for path, module in _modules().items() for line in raised_of_python(path, module)] == []


@pytest.mark.parametrize("error", [UsageError, StateError])
def test_programs_catch_what_they_caught_before(error: type[Exception]) -> None:
    with pytest.raises(ValueError if error is UsageError else RuntimeError, match="why"):
        raise error("why")


def test_planted_exceptions_without_the_root_are_found() -> None:
    text = (
        f"class A({ROOT}, ValueError): ...\nclass B(A): ...\nclass C(RuntimeError): ...\nclass D(C): ...\nclass E: ..."
    )
    assert without_root([ast.parse(text)]) == ["C", "D"]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("raise ValueError('x')", ["a.py:1: ValueError"]),
        ("raise IndexError", ["a.py:1: IndexError"]),
        ("raise UsageError('x')", []),
        ("try:\n    f()\nexcept OSError:\n    raise", []),
        ("raise StopIteration", ["a.py:1: StopIteration"]),
    ],
)
def test_planted_raises_are_found(text: str, found: list[str]) -> None:
    assert list(raised_of_python(Path("a.py"), ast.parse(text))) == found
