"""Docstrings of fields, read from the source code on demand."""

import ast
import inspect
import textwrap
from collections.abc import Iterator
from functools import cache
from itertools import pairwise

from tensorplane.components.base.model import Model

# pydantic can read them too, but for every field of every model at each start, which doubles the start-up time.


def docstring(model: type[Model], field: str) -> str:
    """The docstring of a field, by its name in Python; empty where it has none."""
    return next((texts[field] for texts in map(_texts, _models(model)) if field in texts), "")


def _models(model: type[Model]) -> Iterator[type[Model]]:
    return (base for base in model.__mro__ if issubclass(base, Model) and base is not Model)


@cache
def _texts(model: type[Model]) -> dict[str, str]:
    tree = ast.parse(textwrap.dedent(inspect.getsource(model)))
    return dict(text for node in tree.body if isinstance(node, ast.ClassDef) for text in _documented(node.body))


def _documented(body: list[ast.stmt]) -> Iterator[tuple[str, str]]:
    for field, text in pairwise(body):
        match field, text:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(meaning))):
                yield name, inspect.cleandoc(meaning)
