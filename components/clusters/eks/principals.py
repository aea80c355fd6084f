"""IAM principals by their ARNs: roles, users, and sessions of roles."""

import re
from collections.abc import Collection

_ROLE_OR_USER = re.compile(r"arn:aws[a-z-]*:iam::\d{12}:(role|user)/\S+")
_ARN = re.compile(r"arn:aws[a-z-]*:(?:iam|sts)::(?P<account>\d{12}):(?P<kind>[a-z-]+)/(?P<rest>\S+)")


def is_role_or_user(arn: str) -> bool:
    """Whether this is the ARN of an IAM role or user, for which EKS has access entries."""
    return _ROLE_OR_USER.fullmatch(arn) is not None


def of_member(member: str) -> str | None:
    """The ARN of a team's member, `user:arn:…`; None for one whom another identity provider names."""
    arn = member.removeprefix("user:")
    return arn if is_role_or_user(arn) else None


def is_among(caller: str, admins: Collection[str]) -> bool:
    """Whether the caller is one of these IAM roles or users. A session is compared by the role's name, which is
    unique in an account, regardless of its path."""
    return identity(caller) in {identity(admin) for admin in admins}


def identity(arn: str) -> tuple[str, ...]:
    """Account, kind and name; equal for `…:sts::1:assumed-role/NAME/session` and `…:iam::1:role/path/NAME`."""
    found = _ARN.fullmatch(arn)
    if found is None:
        return (arn,)
    parts = found["rest"].split("/")
    if found["kind"] == "assumed-role":
        return found["account"], "role", parts[0]
    return found["account"], found["kind"], parts[-1]
