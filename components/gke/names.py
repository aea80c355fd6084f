"""Names in Google Cloud that follow from longer ones."""

import hashlib

_DIGEST = 6


def short(name: str, limit: int) -> str:
    """The name, or what is as good as it where it is too long."""
    if len(name) <= limit:
        return name
    digest = hashlib.sha256(name.encode()).hexdigest()[:_DIGEST]
    return f"{name[: limit - _DIGEST - 1].rstrip('-')}-{digest}"
