"""Names for what AWS allows only short names: vaults of AWS Backup, roles, buckets."""

import hashlib

_LIMIT = 40
"""Of the 50 characters of a vault and the 63 of a bucket, so that a role and a random end have room as well."""


def of(name: str) -> str:
    """The name, or what is as good as it where it is too long."""
    if len(name) <= _LIMIT:
        return name
    digest = hashlib.sha256(name.encode()).hexdigest()[:8]
    return f"{name[: _LIMIT - 9].rstrip('-')}-{digest}"
