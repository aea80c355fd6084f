"""Literals of CEL, the language in which policies of the API server are written."""

from collections.abc import Iterable, Mapping


def text(value: str) -> str:
    """A string. `value` holds no quote: what is put into policies are names and labels."""
    return f"'{value}'"


def list_of(values: Iterable[str]) -> str:
    """A list of strings, in the order of their letters: a policy does not differ by how its settings are sorted."""
    return f"[{', '.join(map(text, sorted(values)))}]"


def map_of(expressions: Mapping[str, str]) -> str:
    """A map from strings to what expressions come to."""
    return f"{{{', '.join(f'{text(key)}: {value}' for key, value in sorted(expressions.items()))}}}"
