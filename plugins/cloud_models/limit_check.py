"""Compares one value with its limits, and finds the nearest value that keeps to them."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

from tensorplane.plugins.cloud_models.shape import Limits
from tensorplane.stack_file.nearest import nearest

_MOST_LISTED = 12
_PATTERN_LENGTH = 60


@dataclass(frozen=True)
class Model:
    """Whose limits these are, and where they are written."""

    owner: str
    source: str

    def its(self, noun: str) -> str:
        """`AWS's maximum (botocore 1.2.3)`."""
        return f"{self.owner}'s {noun} ({self.source})"


def reason(value: Any, limits: Limits, model: Model, *, hidden: bool = False) -> str:
    """What is wrong with the value and what to use; empty if nothing is. `hidden`: the value must not be shown."""
    if isinstance(value, bool):
        return ""
    if isinstance(value, int | float):
        return _number(value, limits, model, "the secret" if hidden else str(value))
    if isinstance(value, list | dict):
        return _length(len(value), "entries", limits, model)
    return _text(value, limits, model, hidden) if isinstance(value, str) else ""


def keeps(value: str, limits: Limits) -> bool:
    """Whether a text keeps to the limits."""
    return not _text(value, limits, Model("", ""), hidden=True)


def repaired(value: str, limits: Limits) -> str | None:
    """The nearest text that fits: hyphens for unusual characters, lower case, shortened. None if that is not enough."""
    fitting = [char if char.isascii() and (char.isalnum() or char in "-_.") else "-" for char in value]
    for text in (value, "".join(fitting), "".join(fitting).lower(), value.lower().replace("_", "-").replace(" ", "-")):
        for stripped in (text, text.strip("-"), text.lstrip("-0123456789")):
            short = stripped[: limits.longest] if limits.longest else stripped
            if short and keeps(short, limits):
                return short
    return None


def _number(value: float, limits: Limits, model: Model, shown: str) -> str:
    if limits.least is not None and value < limits.least:
        return f"{shown} is less than {model.its('minimum')}; use {limits.least:.0f} or more"
    if limits.most is not None and value > limits.most:
        return f"{shown} is more than {model.its('maximum')}; use {limits.most:.0f} or less"
    return ""


def _text(value: str, limits: Limits, model: Model, hidden: bool) -> str:
    if limits.allowed:
        if value in limits.allowed:
            return ""
        return f"{_shown(value, hidden)} is none of {model.its('values')}; use {_choice(value, limits.allowed)}"
    if problem := _length(len(value), "characters", limits, model):
        return problem
    if _matches(value, limits):
        return ""
    near = None if hidden else repaired(value, limits)
    cut = limits.pattern[:_PATTERN_LENGTH] + ("…" if len(limits.pattern) > _PATTERN_LENGTH else "")
    remedy = f"use {near}" if near else "change it"
    return f"{_shown(value, hidden)} does not match {model.its(f'pattern {cut}')}; {remedy}"


def _length(length: int, unit: str, limits: Limits, model: Model) -> str:
    if length < limits.shortest:
        return f"has {length} {unit}, less than {model.its('minimum')}; use {limits.shortest} or more"
    if limits.longest is not None and length > limits.longest:
        return f"has {length} {unit}, more than {model.its('maximum')}; use {limits.longest} or fewer"
    return ""


def _choice(value: str, allowed: tuple[str, ...]) -> str:
    if near := nearest(value, allowed):
        return " or ".join(near)
    more = len(allowed) - _MOST_LISTED
    return f"one of {', '.join(allowed[:_MOST_LISTED])}" + (f" and {more} more" if more > 0 else "")


def _shown(value: str, hidden: bool) -> str:
    return "the secret" if hidden else repr(value)


def _matches(value: str, limits: Limits) -> bool:
    return not limits.pattern or _compiled(limits.pattern).fullmatch(value) is not None


@functools.cache
def _compiled(pattern: str) -> Any:
    import regex  # it comes with the models: plugins/cloud_models/requirements-aws.txt

    return regex.compile(pattern)
