"""What Kubernetes replaces in the words of a container's command: `$(NAME)` by a variable, `$$` by one dollar sign.
Pachyderm, which starts programs itself, replaces nothing there.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

_SIGN = re.compile(r"\$\$|\$\(([A-Za-z_][A-Za-z0-9_]*)\)")
_OF_EVERY_POD = frozenset({"HOME", "USER"})


def escaped(word: str, variables: Collection[str]) -> str:
    """The word of which Kubernetes makes this one. `variables`: the names of the program's own."""

    def plain(sign: re.Match[str]) -> str:
        if sign[0] == "$$":
            return "$$$$"
        return f"${sign[0]}" if sign[1] in variables or sign[1] in _OF_EVERY_POD else sign[0]

    return _SIGN.sub(plain, word)


def expanded(word: str, variables: Mapping[str, str]) -> str:
    """What Kubernetes makes of a word. `variables`: the program's own."""
    return _SIGN.sub(lambda sign: "$" if sign[0] == "$$" else variables.get(sign[1], sign[0]), word)
