"""Glob patterns of inputs: the split with the same parts, what the shell compares parts with, and keys of joins."""

from __future__ import annotations

import posixpath
import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import ValidationError

from tensorplane.cli.pachyderm import glob_syntax
from tensorplane.cli.pachyderm.glob_syntax import Beyond, Group, Node, OneOf, Text, Wild
from tensorplane.workloads.pipeline.join_key import JoinKey

_REFERENCE = re.compile(r"\$(?:([1-9][0-9]?)|\{([1-9][0-9]?)\})")
_WILD = re.compile(r"[*?\[{(]")


@dataclass(frozen=True)
class Glob:
    """A pattern of an input."""

    pattern: str

    @property
    def path(self) -> str:
        """The pattern with a slash at its start and none at its end, which Pachyderm does not heed."""
        cleaned = posixpath.normpath(self.pattern)
        return "/" if cleaned == "." else "/" + cleaned.strip("/")

    @property
    def depth(self) -> int:
        """How many names there are in paths that match, if `**` is not in it."""
        path = self.path.rstrip("/")
        try:
            # A slash in brackets is none of the path.
            return sum(node.text.count("/") for node in glob_syntax.read(path) if isinstance(node, Text))
        except Beyond:
            return path.count("/")

    @property
    def split(self) -> str:
        """`whole` for one datum, `directory` for those at the top, `file` for deeper ones."""
        if not _WILD.search(self.path):
            return "whole"
        return "directory" if self.depth == 1 and "**" not in self.path else "file"

    @property
    def takes_all(self) -> bool:
        """Whether it matches everything that the split has."""
        try:
            nodes = _flat(glob_syntax.read(self.path))
        except Beyond:
            return False
        return nodes in ([Text("/")], [Text("/"), Wild("*")], [Text("/"), Wild("**")])

    @property
    def counts_characters(self) -> bool:
        """Whether it says how many characters there are, which are bytes in the shell."""
        try:
            return any(_is_character(node) for node in glob_syntax.read(self.path))
        except Beyond:
            return False

    def for_shell(self, folder: str) -> str | None:
        """What the shell's `case` compares paths in a folder with; None if the shell has no equal."""
        try:
            return "|".join(f"{shlex.quote(folder)}{way}" for way in glob_syntax.for_shell(glob_syntax.read(self.path)))
        except Beyond:
            return None

    def key(self, captured: str | None) -> str | None:
        """The pattern of a key that takes what `joinOn` or `groupBy` refers to, one pair of parentheses; None if there
        is none."""
        referred = _REFERENCE.fullmatch(captured or "")
        if not referred:
            return None
        try:
            nodes = glob_syntax.read(self.path)
            pattern = glob_syntax.for_key(nodes, int(referred[1] or referred[2])).removeprefix("/")
            JoinKey.model_validate(pattern)
        except (Beyond, ValidationError):
            return None
        return pattern

    def key_of_group(self, captured: str | None) -> str | None:
        """The same of parts at the top that have all files of a key: folders, or files in whose names the key alone
        differs."""
        key = self.key(captured) or ""
        if key in ("(*)/*", "(*)/**"):
            return "(*)"
        return key if re.fullmatch(r"[^*?\[{/]*\(\*\)[^*?\[{/]*", key) else None


def _flat(nodes: Sequence[Node]) -> list[Node]:
    """The same without groups of one way."""
    found: list[Node] = []
    for node in nodes:
        found += _flat(node.ways[0]) if isinstance(node, Group) and len(node.ways) == 1 else [node]
    return found


def _is_character(node: Node) -> bool:
    if isinstance(node, Group):
        return any(_is_character(each) for way in node.ways for each in way)
    return isinstance(node, OneOf) or node == Wild("?")
