"""Ids derived from the names that callers choose, so that a repeated call finds the result of the first."""

from __future__ import annotations

import hashlib
import re

_PLAIN = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")
_READABLE = 40


def identifier(name: str) -> str:
    """The name itself if it is a valid file name, else its valid characters with a hash of the name."""
    if is_identifier(name):
        return name
    readable = re.sub(r"[^a-z0-9]+", "-", name.lower())[:_READABLE].strip("-")
    digest = hashlib.sha256(name.encode()).hexdigest()[:16]
    return f"{readable}-{digest}" if readable else digest


def is_identifier(text: str) -> bool:
    """Whether a text is a valid id: not a path, and not hidden."""
    return _PLAIN.fullmatch(text) is not None
