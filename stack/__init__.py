"""The complete stack: its settings, their resolution and checks, and the resources that they declare."""

from tensorplane.stack.loading import load
from tensorplane.stack.resolved import ResolvedStack
from tensorplane.stack.resources import build
from tensorplane.stack.settings import StackConfig

__all__ = ["ResolvedStack", "StackConfig", "build", "load"]
