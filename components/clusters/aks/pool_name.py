"""Names of agent pools: AKS takes lower-case letters and digits alone, and twelve at most."""

from components.base.names import digest

LIMIT = 12
_HASHED = 4


def pool_name(group: str) -> str:
    """The pool's name: the group's without dashes; where that is too long, its beginning and a hash of the group's."""
    plain = group.replace("-", "")
    if len(plain) <= LIMIT:
        return plain
    return plain[: LIMIT - _HASHED] + digest(group, _HASHED)
