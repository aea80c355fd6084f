"""The Python files of a project, walked without environments, and parsed once for all tests of a process."""

from __future__ import annotations

import ast
import functools
import os
from collections.abc import Iterator, Sequence
from pathlib import Path


def python_files(root: Path) -> Iterator[Path]:
    """The files' paths, without environments, caches and hidden folders."""
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name != "__pycache__")
        yield from (Path(folder, name) for name in sorted(names) if name.endswith(".py"))


def tree(path: Path) -> ast.Module:
    """The file's syntax tree, which nobody changes."""
    status = path.stat()
    return _tree(path, status.st_mtime_ns, status.st_size)


def nodes(path: Path) -> Sequence[ast.AST]:
    """All of the tree, which several tests go through."""
    status = path.stat()
    return _nodes(path, status.st_mtime_ns, status.st_size)


@functools.cache
def _nodes(path: Path, changed: int, size: int) -> Sequence[ast.AST]:
    return tuple(ast.walk(_tree(path, changed, size)))


@functools.cache
def _tree(path: Path, changed: int, size: int) -> ast.Module:
    return ast.parse(path.read_text())
