"""The version of the outputs that components register, which the pack must support."""

from __future__ import annotations

from collections.abc import Iterable

from stack_view.view import Resource

from gpu_usage.manifest import UNKNOWN

VERSION = 1
"""The version that this pack reads, which is also that of stacks without a version."""
_CLUSTER = "tensorplane:index:Cluster"
_KEY = "factsVersion"


def too_new(resources: Iterable[Resource]) -> str | None:
    """Why this pack cannot read the stack's outputs; None if it can."""
    for version in (resource.body.get(_KEY, VERSION) for resource in resources if resource.type == _CLUSTER):
        if version is UNKNOWN or version > VERSION:
            shown = "unknown version" if version is UNKNOWN else f"version {version:g}"
            problem = f"the stack's components register facts of {shown}"
            return f"{problem}, and these policies read {VERSION}; use the policies of the stack's tensorplane"
    return None
