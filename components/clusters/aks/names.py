"""Names of storage resources in Azure, within Azure's limits."""

import re

from components.base.names import digest, shorten

_HASHED = 8


def short(name: str, limit: int) -> str:
    """The name, shortened with a hash suffix if it exceeds the limit."""
    return shorten(name, limit, _HASHED)


def alphanumeric(name: str, unique: str, limit: int) -> str:
    """Name of a storage account: a prefix without dashes, and a hash of the unique name."""
    plain = re.sub(r"[^a-z0-9]", "", name)
    return plain[: limit - _HASHED] + digest(unique, _HASHED)
