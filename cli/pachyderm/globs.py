"""Glob patterns of inputs: the split with the same parts, and a check of the shell for parts that do not match."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass

from pydantic import ValidationError

from workloads.settings.join_key import JoinKey

_BEYOND_THE_SHELL = re.compile(r"\*\*|[{}!+@^\\]|\?\(")
"""Patterns that a POSIX shell does not have."""
_OPERATOR = re.compile(r"[?!+@*]\(")
"""Parentheses with an operator before them, which count how often something comes."""
_REFERENCE = re.compile(r"\$(?:([0-9]{1,2})|\{([0-9]{1,2})\})")


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
        return self.pattern.strip("/") in ("", "*", "**") and not self.takes_folders_alone

    @property
    def is_deep(self) -> bool:
        """Whether it may match folders, which a split by file takes apart."""
        return self.split == "file"

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

    def key(self, captured: str | None) -> str | None:
        """The pattern of a key that takes what `joinOn` or `groupBy` refers to, one pair of parentheses; None if there
        is none."""
        referred = _REFERENCE.fullmatch(captured or "")
        plain = self.pattern.strip("/")
        if not referred or _OPERATOR.search(plain) or "\\" in plain:
            return None
        # Every second text is a pair of parentheses.
        texts = re.split(r"(\([^()]*\))", plain)
        if any("(" in text for text in texts[::2]):
            return None
        chosen = 2 * int(referred[1] or referred[2]) - 1
        kept = [text if at % 2 == 0 or at == chosen else text[1:-1] for at, text in enumerate(texts)]
        pattern = "".join(kept)
        try:
            JoinKey.model_validate(pattern)
        except ValidationError:
            return None
        return pattern

    def key_of_group(self, captured: str | None) -> str | None:
        """The same of parts at the top that have all files of a key: folders, or files in whose names the key alone
        differs."""
        key = self.key(captured) or ""
        if key in ("(*)/*", "(*)/**"):
            return "(*)"
        return key if re.fullmatch(r"[^*?\[{/]*\(\*\)[^*?\[{/]*", key) else None

    @property
    def takes_folders_alone(self) -> bool:
        """Whether files that match are no datums."""
        return self.pattern.endswith("*/")


def _quoted(text: str) -> str:
    return shlex.quote(text) if text and shlex.quote(text) != text else text
