"""Names for what AWS allows only short names: vaults of AWS Backup, roles, buckets."""

from components.base.names import shorten

_LIMIT = 40
"""Of the 50 characters of a vault and the 63 of a bucket, so that a role and a random end have room as well."""


def of(name: str) -> str:
    """The name, shortened with a hash suffix if it exceeds the limit."""
    return shorten(name, _LIMIT)
