"""The version of the facts that components register, which the pack must support."""

from __future__ import annotations

from collections.abc import Iterable

from pulumi_policy import PolicyResource

VERSION = 1
"""The version that this pack reads, which is also that of stacks without a version."""
_CLUSTER = "tensorplane:index:Cluster"
_KEY = "factsVersion"


def too_new(resources: Iterable[PolicyResource]) -> str | None:
    """Why this pack cannot read the stack's facts; None if it can."""
    for resource in resources:
        if resource.resource_type == _CLUSTER and _KEY in resource.props and resource.props[_KEY] > VERSION:
            problem = f"the stack's components register facts of version {resource.props[_KEY]:g}"
            return f"{problem}, and these policies read {VERSION}; use the policies of the stack's tensorplane"
    return None
