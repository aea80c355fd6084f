"""Names of what holds volumes in Azure: readable, and never longer than Azure takes."""

import hashlib
import re

_HASHED = 8


def short(name: str, limit: int) -> str:
    """The name; where it is too long, its beginning and a hash of it."""
    if len(name) <= limit:
        return name
    return f"{name[: limit - _HASHED - 1].rstrip('-')}-{_digest(name, _HASHED)}"


def alphanumeric(name: str, whole: str, limit: int) -> str:
    """What a storage account may be called: the beginning of a name without dashes, and a hash of the whole of it."""
    plain = re.sub(r"[^a-z0-9]", "", name)
    return plain[: limit - _HASHED] + _digest(whole, _HASHED)


def _digest(name: str, length: int) -> str:
    return hashlib.sha256(name.encode()).hexdigest()[:length]
