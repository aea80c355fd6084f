"""Counts in sentences."""

import re


def number_of(number: float, noun: str) -> str:
    """A number and its noun: 1 GPU, 2 GPUs, 0.5 CPUs."""
    written = f"{number:.0f}" if float(number).is_integer() else f"{number:g}"
    return f"{written} {noun}" if number == 1 else f"{written} {plural(noun)}"


def plural(noun: str) -> str:
    """Several of it: GPUs, NetworkPolicies, StorageClasses."""
    if re.search(r"[^aeiou]y$", noun):
        return f"{noun[:-1]}ies"
    return f"{noun}{'es' if re.search(r'(s|x|ch|sh)$', noun) else 's'}"


def none_of(count: int, noun: str) -> str:
    """That none of them did something, as a sentence begins with it: `its pod has not`, `none of its 2 pods has`."""
    return f"its {noun} has not" if count == 1 else f"none of its {number_of(count, noun)} has"
