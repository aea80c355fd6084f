"""Settings of all nodes: when one counts as lost."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from tensorplane.components.base.model import Model


class NodesArgs(Model):
    """Settings of all nodes."""

    lost_after_seconds: Annotated[int | None, Field(ge=20, le=3600)] = None
    """Seconds without a heartbeat after which a node is lost, at least 26 in effect: kubelets send one every 10 s. By
    default, when Kubernetes sets its condition Ready to Unknown, which takes 40 to 50 s."""
