"""Environment variables that the text of a program reads: as a shell, and as common languages do."""

from __future__ import annotations

import re

_CALLS = r"(?:environ(?:b)?(?:\.get)?|[gG]et_?[eE]nv|ENV(?:\.fetch)?|process\.env|env::var(?:_os)?|System\.getenv)"


def reading(name: str) -> str:
    """The pattern of a text that reads a variable. `name`: a pattern, too."""
    shell = rf"\$\{{?{name}\b"
    quoted = rf"\b{_CALLS}\s*[\[(]\s*b?['\"]{name}['\"]"
    return rf"(?:{shell}|{quoted}|\bprocess\.env\.{name}\b)"


def reads(text: str, name: str) -> bool:
    """Whether a program's text reads the variable of this name."""
    return re.search(reading(re.escape(name)), text) is not None
