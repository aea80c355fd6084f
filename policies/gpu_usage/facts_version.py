"""The version of what components register: a pack that does not know it cannot go by it."""

from __future__ import annotations

from collections.abc import Iterable

from pulumi_policy import PolicyResource

VERSION = 1
"""The one that this pack reads. A stack that registers none has it."""
_CLUSTER = "tensorplane:index:Cluster"
_KEY = "factsVersion"


def too_new(resources: Iterable[PolicyResource]) -> str | None:
    """Why this pack cannot read what the stack's components register; None where it can."""
    for resource in resources:
        if resource.resource_type == _CLUSTER and _KEY in resource.props and resource.props[_KEY] > VERSION:
            problem = f"the stack's components register facts of version {resource.props[_KEY]:g}"
            return f"{problem}, and these policies read {VERSION}; use the policies of the stack's tensorplane"
    return None
