"""Keys of joins as Pachyderm's glob patterns, whose parentheses take the key."""

from __future__ import annotations

import re

from tensorplane.cli.pachyderm import glob_syntax
from tensorplane.workloads.pipeline.join_key import JoinKey

_PLAIN = re.compile(r"[\\*?\[\](){},@+!^|]")
"""Characters with a meaning in glob patterns."""
_SIGN = re.compile(r"\\.|\[[!^]?\]?(?:\\.|[^\]/\\])*\]|(?<=[*?])\(|[@+!^|]", re.DOTALL)
"""Signs of a key's pattern that Pachyderm reads otherwise."""


def glob(key: JoinKey, by: str) -> str:
    """The pattern of a key of parts, which are folders at the top or files anywhere."""
    if key.pattern:
        return "/" + _SIGN.sub(lambda sign: _written(sign[0]), key.pattern)
    ends = [_PLAIN.sub(r"\\\g<0>", ending) for ending in key.endings or ()]
    # No key is empty.
    name = "(?*)" if by == "directory" else "(?**)"
    return f"/{name}{{{','.join(ends)}}}" if len(ends) > 1 else f"/{name}{ends[0]}"


def differs(key: JoinKey, by: str) -> str | None:
    """What Pachyderm takes otherwise; None if nothing."""
    try:
        glob_syntax.read(glob(key, by))
    except glob_syntax.Beyond:
        return "in Pachyderm, its characters include a slash"
    ends = key.endings or ()
    for ending in ends:
        if shorter := [one for one in ends if one != ending and ending.endswith(one)]:
            near = ending.removesuffix(shorter[0])
            return f"the key of NAME{ending} is NAME{near} in Pachyderm, because {ending} ends with {shorter[0]}"
    return None


def _written(sign: str) -> str:
    if sign == "(":
        return "@("
    if len(sign) == 1:
        return f"\\{sign}"
    return _bracket(sign[1:-1]) if sign[0] == "[" else sign


def _bracket(inside: str) -> str:
    """Characters of which one matches. Pachyderm has no slash in them only if they say so."""
    negated = inside[:1] in ("!", "^")
    members = re.sub(
        r"\\.|[\]\[!^]", lambda found: found[0] if len(found[0]) > 1 else f"\\{found[0]}", inside[negated:]
    )
    return f"[!{members}/]" if negated else f"[{members}]"
