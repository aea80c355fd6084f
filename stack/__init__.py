"""The complete stack: its settings, their resolution and checks, and the resources that they declare."""

from __future__ import annotations

import gc
from collections.abc import Mapping
from typing import Any

from tensorplane.stack.loading import load
from tensorplane.stack.resolved import ResolvedStack
from tensorplane.stack.settings import StackConfig

__all__ = ["ResolvedStack", "StackConfig", "build", "deploy", "load"]


def build(resolved: ResolvedStack) -> Mapping[str, Any]:
    """Creates the stack's resources; its outputs. Pulumi is imported here, and not to read and check settings."""
    from tensorplane.stack import resources

    return resources.build(resolved)


def deploy() -> None:
    """The whole program of the running stack: its settings, resources and outputs."""
    # To look for cycles among the SDKs' thousands of classes takes a third of the time of a process that ends in
    # seconds.
    gc.disable()
    from tensorplane.stack import program

    program.deploy()
