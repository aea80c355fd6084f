"""Names of resources with short limits in AWS: backup vaults, roles, buckets."""

from components.base.names import shorten

_LIMIT = 40
"""Length of a name: a vault may have 50 characters and a bucket 63, with suffixes for roles and Pulumi."""


def of(name: str) -> str:
    """The name, shortened with a hash suffix if it exceeds the limit."""
    return shorten(name, _LIMIT)
