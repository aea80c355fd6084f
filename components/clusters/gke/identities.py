"""How Google names teams' members: by e-mail address, or as identities of a workforce pool."""

import re

DOMAIN = re.compile(r"[a-z0-9-]+(\.[a-z0-9-]+)+")
_EMAIL = re.compile(rf"[^\s@:/A-Z]+@{DOMAIN.pattern}")
_FEDERATED = re.compile(r"user:principal://\S+|group:principalSet://\S+")
_SERVICE_ACCOUNT = re.compile(r"\S+@\S+\.gserviceaccount\.com")


def is_email(name: str) -> bool:
    """Whether this is an e-mail address as GKE and IAM write it, in lower case."""
    return _EMAIL.fullmatch(name) is not None


def is_federated(member: str) -> bool:
    """Whether this is an identity of a workforce pool: `user:principal://…` or `group:principalSet://…`."""
    return _FEDERATED.fullmatch(member) is not None


def in_iam(member: str) -> str:
    """IAM's name of a member, `group:NAME` or `user:NAME`."""
    name = member.partition(":")[2]
    if is_federated(member):
        return name
    return f"serviceAccount:{name}" if _SERVICE_ACCOUNT.fullmatch(name) else member
