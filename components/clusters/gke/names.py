"""Names in Google Cloud that follow from longer ones."""

from components.base.names import shorten

_HASHED = 6


def short(name: str, limit: int) -> str:
    """The name, shortened with a hash suffix if it exceeds the limit."""
    return shorten(name, limit, _HASHED)
