"""One `jsonpath={.path}=value` expression of the `pulumi.com/waitFor` annotation.

The syntax that pulumi-kubernetes documents: braces are required, the value is optional, and the path is RFC 9535 behind
the `$` that kubectl leaves out.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import jsonpath

PREFIX = "jsonpath="

_ENVIRONMENT = jsonpath.JSONPathEnvironment(strict=True)

# `==` belongs to a filter inside the braces; the first single `=` after them starts the value.
_EXPRESSION = re.compile(r"\{\s*(?P<path>.*)\s*\}(?:=(?P<value>.*))?", re.DOTALL)


@dataclass(frozen=True)
class JsonPath:
    """Holds if the path selects something, or if its first match is `value`."""

    text: str
    path: Any
    value: str | None

    @classmethod
    def parse(cls, expression: str) -> JsonPath:
        """Raises ValueError with a message for the user."""
        text = expression.removeprefix(PREFIX)
        match = _EXPRESSION.fullmatch(text)
        if not match:
            raise ValueError(f"{expression!r}: write jsonpath={{.path}} or jsonpath={{.path}}=value, no shell quotes")
        if match["value"] == "":
            raise ValueError(f"{expression!r}: the value after '=' is missing")
        path = match["path"].strip()
        try:
            compiled = _ENVIRONMENT.compile(path if path.startswith("$") else f"${path}")
        except jsonpath.JSONPathError as error:
            raise ValueError(f"{expression!r}: {str(error).splitlines()[0]}") from None
        return cls(text, compiled, match["value"])

    def holds(self, obj: dict[str, Any]) -> tuple[bool, str]:
        """Whether it holds, and what was found. Raises ValueError if an object or list is compared with a value."""
        found = self.path.findall(obj)
        if not found:
            return False, "selected nothing"
        first = found[0]
        if isinstance(first, (dict, list)):
            if self.value is None:
                return True, "found"
            raise ValueError(f"{self.text!r} selects {type(first).__name__}, which no value can equal")
        text = _as_text(first)
        return self.value in (None, text), f"found {text!r}"


def _as_text(value: Any) -> str:
    """The value as Go prints it, as in the documented comparison."""
    if value is None:
        return "<nil>"
    return str(value).lower() if isinstance(value, bool) else str(value)
