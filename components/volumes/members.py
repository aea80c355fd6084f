"""Readers and writers of a volume: service accounts, and groups of the cluster's users."""

from collections.abc import Iterable
from typing import Annotated

from pydantic import AfterValidator

from tensorplane.components.base.model import NAME_RULE, Line, is_name, refuse_all_but

_GROUP = "group:"


def _check_member(value: str) -> str:
    if value == _GROUP or not (value.startswith(_GROUP) or is_name(value)):
        refuse_all_but(f"a service account ({NAME_RULE}), or group:NAME")
    return value


Member = Annotated[Line, AfterValidator(_check_member)]
"""A service account by its name, or a group of the cluster's users, as `group:NAME`."""


def groups(members: Iterable[str] | None) -> list[str]:
    """The groups among the members."""
    return sorted(one.removeprefix(_GROUP) for one in members or () if one.startswith(_GROUP))


def accounts(members: Iterable[str] | None) -> list[str]:
    """The service accounts among the members."""
    return sorted(one for one in members or () if not one.startswith(_GROUP))
