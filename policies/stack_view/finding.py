"""What a rule finds wrong with a resource."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Finding:
    """One problem of one resource, or of the stack."""

    problem: str
    """What was found, and what is allowed."""
    remedy: str
    """What to change."""
    size: float = 0
    """What decides which findings are named if there are many: GPUs, dollars. 0 if they are alike."""
