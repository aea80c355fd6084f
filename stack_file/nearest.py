"""Suggestions for mistyped names: one rule for settings, commands and the preview."""

import difflib
from collections.abc import Iterable

_MOST_SUGGESTIONS = 3
_FURTHER = 0.02
"""Maximum difference in similarity between the best suggestion and the others."""

_LEAST_SIMILARITY = 0.85
"""Least similarity of a name that differs in a letter or two."""


def nearest(text: object, names: Iterable[str]) -> list[str]:
    """Up to three similar names, the most similar first.

    Names that begin with the text take precedence over similar ones: `h100` is a prefix of `h100-80gb`, though `v100`
    is more similar.
    """
    typed = str(text).lower()
    by_lower = {name.lower(): name for name in names}
    if not typed:
        return []
    if typed in by_lower:
        return [by_lower[typed]]
    begun = sorted(lower for lower in by_lower if lower.startswith(typed))
    return [by_lower[lower] for lower in (begun or _alike(typed, by_lower))[:_MOST_SUGGESTIONS]]


def _alike(typed: str, names: Iterable[str]) -> list[str]:
    found = difflib.get_close_matches(typed, names, n=_MOST_SUGGESTIONS)
    alike = {name: difflib.SequenceMatcher(None, name, typed).ratio() for name in found}
    near = [name for name in found if alike[name] >= alike[found[0]] - _FURTHER]
    return sorted(near, key=lambda name: (-alike[name], name))


def is_close(text: str, names: Iterable[str]) -> bool:
    """Whether a name differs in a letter or two, as `cpu` from `cpus`."""
    return bool(
        difflib.get_close_matches(text.lower(), [name.lower() for name in names], n=1, cutoff=_LEAST_SIMILARITY)
    )


def did_you_mean(text: object, names: Iterable[str]) -> str:
    """` (did you mean X, Y?)` with the nearest names, or an empty text without similar names."""
    near = nearest(text, names)
    return f" (did you mean {', '.join(near)}?)" if near else ""
