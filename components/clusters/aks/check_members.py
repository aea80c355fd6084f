"""Checks of teams' members on AKS, which knows Entra's groups by object id and users by user principal name."""

import re
import uuid
from collections.abc import Iterator, Mapping

from tensorplane.components.base.problems import Key, Problem

EXAMPLE = "3f2504e0-4f89-41d3-9a0c-0305e82c3301"


def is_object_id(value: str) -> bool:
    """Whether this is an object id of Entra's groups, users and service principals, in either case."""
    try:
        return str(uuid.UUID(value)) == value.lower()
    except ValueError:
        return False


_PRINCIPAL_NAME = re.compile(r"[^\s@]+@[^\s@]+\.[^\s@]+")


def find_problems(members: Mapping[Key, str]) -> Iterator[Problem]:
    """Every problem, a line each."""
    for path, member in members.items():
        kind, _, name = member.partition(":")
        if is_object_id(name) and name != name.lower():
            # Subjects of RBAC are compared character by character.
            reason = f"{name!r} is not in lower case, as Entra writes object ids"
            yield Problem(path, f"{reason}; use {kind}:{name.lower()}")
        elif kind == "group" and not is_object_id(name):
            yield Problem(path, f"{name!r} is not the object id of an Entra group; use one such as group:{EXAMPLE}")
        elif not is_object_id(name) and not _PRINCIPAL_NAME.fullmatch(name):
            remedy = "use one such as user:ada@example.com, or the object id of a guest"
            yield Problem(path, f"{name!r} is not the name of an Entra user; {remedy}")
