"""Custom resources with fields next to `metadata` instead of below `spec`, which the SDK's own class cannot hold."""

from collections.abc import Mapping
from typing import Any

import pulumi


class TopLevelResource(pulumi.CustomResource):
    """Any custom resource of Kubernetes, registered under the token that the SDK's `CustomResource` would use."""

    def __init__(
        self,
        name: str,
        *,
        api_version: str,
        kind: str,
        metadata: Mapping[str, Any],
        fields: Mapping[str, Any],
        opts: pulumi.ResourceOptions,
    ) -> None:
        props = {"apiVersion": api_version, "kind": kind, "metadata": metadata, **fields}
        super().__init__(f"kubernetes:{api_version}:{kind}", name, props, opts)
