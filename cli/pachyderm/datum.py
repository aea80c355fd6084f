"""Lines of the shell about a datum: whether it matches its glob pattern, and the variable with its path."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator

from tensorplane.cli.pachyderm.globs import Glob

_PART_VARIABLE = "_part"
"""The variable with the path of what is compared."""


def is_variable(name: str) -> bool:
    """Whether the shell has variables of this name."""
    return re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name) is not None


def matching(folder: str, glob: Glob) -> list[str] | None:
    """Lines that end the program of a part that does not match. None if the shell has no such pattern."""
    patterns = glob.for_shell(folder)
    if patterns is None:
        return None
    inside = [_first_in(_PART_VARIABLE, folder), *(_first_in(_PART_VARIABLE) for _ in range(glob.depth - 1))]
    return [*inside, f'case $_part in {patterns}) [ -e "$_part" ] || exit 0;; *) exit 0;; esac']


def in_folder(folder: str) -> list[str]:
    """Lines that end the program of a part that is no folder."""
    return [_first_in(_PART_VARIABLE, folder), '[ -d "$_part" ] || exit 0']


def path(variable: str, folder: str, split: str, glob: Glob) -> Iterator[str]:
    """Lines that set a variable to the path of the datum, which Pachyderm has for each input."""
    if split == "whole":
        literal = glob.path.rstrip("/") if glob.split == "whole" else ""
        yield f"export {variable}={shlex.quote(folder + literal)}"
        return
    yield _first_in(variable, folder)
    if split == "file":
        yield f'while [ -d "${variable}" ]; do {_first_in(variable)}; done'
    yield f"export {variable}"


def _first_in(variable: str, folder: str = "") -> str:
    """A line that sets a variable to the first path in a folder, hidden ones too, by default in the one that it has."""
    there = shlex.quote(folder) if folder else f'"${variable}"'
    paths = " ".join(f"{there}/{pattern}" for pattern in ("*", ".[!.]*", "..?*"))
    return f'for {variable} in {paths}; do [ ! -e "${variable}" ] || break; done'
