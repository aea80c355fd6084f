"""Glob patterns of inputs: the split with the same parts, and a check of the shell for parts that do not match."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass

_BEYOND_THE_SHELL = re.compile(r"\*\*|[{}!+@^\\]|\?\(")
"""Patterns that a POSIX shell does not have."""


@dataclass(frozen=True)
class Glob:
    """A pattern of an input."""

    pattern: str

    @property
    def _parts(self) -> list[str]:
        return [part for part in self.pattern.strip("/").split("/") if part]

    @property
    def split(self) -> str:
        """`whole` for one datum, `directory` for those at the top, `file` for deeper ones."""
        if not re.search(r"[*?\[{]", self.pattern):
            return "whole"
        return "directory" if len(self._parts) == 1 and "**" not in self.pattern else "file"

    @property
    def takes_all(self) -> bool:
        """Whether it matches everything that the split has."""
        return self.pattern.strip("/") in ("", "*", "**") and not (self.pattern.endswith("*/"))

    @property
    def is_deep(self) -> bool:
        """Whether it may match folders, which a split by file takes apart."""
        return self.split == "file" and self.pattern.strip("/") != "**"

    @property
    def is_known(self) -> bool:
        """Whether the shell has this pattern."""
        return not _BEYOND_THE_SHELL.search(self._plain)

    @property
    def _plain(self) -> str:
        """Without the parentheses of capture groups."""
        return re.sub(r"(?<![?!+@*])\(([^()]*)\)", r"\1", self.pattern)

    def matches(self, folder: str) -> str:
        """The pattern for the shell, below a folder. Only valid if `is_known`."""
        literal = re.split(r"([*?]|\[[^]]*\])", self._plain.strip("/"))
        quoted = "".join(part if index % 2 else _quoted(part) for index, part in enumerate(literal))
        return f"{shlex.quote(folder)}/{quoted}{'/' if self.pattern.endswith('/') else ''}"

    def stem(self, captured: str | None) -> str | None:
        """What `joinOn` or `groupBy` refers to, relative to the path: `name` for the path without its ending, `folder`
        for the folder at the top; None if it is anything else."""
        if captured not in ("$1", "${1}"):
            return None
        plain = self.pattern.strip("/")
        if re.fullmatch(r"\(\*\)(\.[A-Za-z0-9_*.-]+)?", plain):
            return "name"
        return "folder" if re.fullmatch(r"\(\*\)/(\*|\*\*)", plain) else None


def _quoted(text: str) -> str:
    return shlex.quote(text) if text and shlex.quote(text) != text else text
