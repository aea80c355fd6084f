"""Literals of CEL, the expression language of ValidatingAdmissionPolicies."""

from collections.abc import Iterable, Mapping


def text(value: str) -> str:
    """A string. `value` is a name or label, so it has no quote."""
    return f"'{value}'"


def list_of(values: Iterable[str]) -> str:
    """A sorted list of strings, so that the order in the settings does not change a policy."""
    return f"[{', '.join(map(text, sorted(values)))}]"


def map_of(expressions: Mapping[str, str]) -> str:
    """A map from strings to expressions."""
    return f"{{{', '.join(f'{text(key)}: {value}' for key, value in sorted(expressions.items()))}}}"
