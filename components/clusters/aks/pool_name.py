"""Names of agent pools: AKS allows at most 12 lower-case letters and digits."""

from components.base.names import digest

LIMIT = 12
_HASHED = 4


def pool_name(group: str) -> str:
    """The group's name without dashes, shortened with a hash if it is too long."""
    plain = group.replace("-", "")
    if len(plain) <= LIMIT:
        return plain
    return plain[: LIMIT - _HASHED] + digest(group, _HASHED)
