"""The complete stack: its settings, their resolution and checks, and the resources that they declare."""

from stack.loading import load
from stack.resolved import ResolvedStack
from stack.resources import build
from stack.settings import StackConfig

__all__ = ["ResolvedStack", "StackConfig", "build", "load"]
