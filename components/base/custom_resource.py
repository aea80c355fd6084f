"""Custom resources with fields next to `metadata` instead of below `spec`, which the SDK's own class cannot hold."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tensorplane.components.base.sdk import pulumi


def top_level_resource(
    name: str,
    *,
    api_version: str,
    kind: str,
    metadata: Mapping[str, Any],
    fields: Mapping[str, Any],
    opts: pulumi.ResourceOptions,
) -> pulumi.CustomResource:
    """Any custom resource of Kubernetes, registered under the token that the SDK's `CustomResource` would use."""
    props = {"apiVersion": api_version, "kind": kind, "metadata": metadata, **fields}
    return pulumi.CustomResource(f"kubernetes:{api_version}:{kind}", name, props, opts)
