"""Finds an input's counterpart in a cloud's API by its name. Pulumi's names come from Terraform, close to the API's."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from tensorplane.plugins.cloud_models.shape import Shape

_REFERENCE = re.compile(r"(?:Arn|Id)(s?)$")


def member(name: str, shape: Shape, resource: str = "") -> tuple[str, Shape] | None:
    """The member that an input of this name is, with its own name; None without one.

    `resource` is the type's name: APIs call the name of a role `RoleName`.
    """
    members = shape.members()
    by_plain = {_plain(one): one for one in members}
    for candidate in _spellings(name, resource):
        if found := by_plain.get(candidate):
            return found, members[found]
    return None


def at(path: str, shape: Shape) -> Shape | None:
    """The type at a path of members, through lists: `LifecycleConfiguration.Rules`."""
    for name in path.split("."):
        found = (shape.item() or shape).members().get(name)
        if found is None:
            return None
        shape = found
    return shape


def _spellings(name: str, resource: str) -> Iterator[str]:
    plain = _plain(name)
    yield plain
    yield from _other_number(plain)
    if resource:
        yield _plain(resource + name)
    # A reference is called after what it names: `nodeRoleArn` is `nodeRole`, `subnetIds` are `subnets`.
    bare = _plain(_REFERENCE.sub(r"\1", name))
    if bare not in (plain, "", "s"):
        yield bare


def _other_number(plain: str) -> Iterator[str]:
    """The plural of a singular and the other way around: Terraform repeats blocks that the API lists."""
    if plain.endswith("ies"):
        yield f"{plain[:-3]}y"
    if plain.endswith("es"):
        yield plain[:-2]
    if plain.endswith("s"):
        yield plain[:-1]
    else:
        yield from (f"{plain}s", f"{plain}es")
        if plain.endswith("y"):
            yield f"{plain[:-1]}ies"


def _plain(name: str) -> str:
    return name.replace("_", "").lower()


Names = Mapping[str, str]
"""Exceptions of one resource type: an input's path without indices, and the member's path; empty: it has none."""
