"""Ids that follow from the names that callers choose, so that a repeated call finds what the first one made."""

from __future__ import annotations

import hashlib
import re

_PLAIN = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")
_KEPT = 40


def identifier(name: str) -> str:
    """The name itself where it can be a file's, else its readable part with a hash of all of it."""
    if is_identifier(name):
        return name
    readable = re.sub(r"[^a-z0-9]+", "-", name.lower())[:_KEPT].strip("-")
    digest = hashlib.sha256(name.encode()).hexdigest()[:16]
    return f"{readable}-{digest}" if readable else digest


def is_identifier(text: str) -> bool:
    """Whether a text may be an id: never a path, never hidden."""
    return _PLAIN.fullmatch(text) is not None
