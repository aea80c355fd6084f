"""Names in Google Cloud, within its limits."""

from components.base.names import shorten

_HASHED = 6


def short(name: str, limit: int) -> str:
    """The name, shortened with a hash suffix if it exceeds the limit."""
    return shorten(name, limit, _HASHED)
