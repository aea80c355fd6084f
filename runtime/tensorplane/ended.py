"""How a job's command ended, and whether running it again is useful.

It only requires the standard library, because the launcher uses it after any command.
"""

from __future__ import annotations

import re
import signal
from dataclasses import dataclass, replace

from tensorplane.failures import Reason

BEFORE, SOON = "before its first step", "within two minutes of its start"
_CRASHES = (signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS, signal.SIGILL, signal.SIGFPE)
"""Signals with which the command's own machine code ends it."""
# Errors of peers and storage that may be temporary: restarts are for them.
_PASSES = re.compile(
    rb"unavailable|deadline|timed? ?out|connection|temporar|aborted|cancelled|input/output|stale file|no space left"
    rb"|resource exhausted|out of memory|cuda|nccl|too many open",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Ended:
    """How a command ended."""

    code: int
    """Its exit code; of a signal, 128 and its number."""
    reason: Reason
    """Why it failed."""
    early: str
    """How early it ended, for messages; empty if it may have completed a step."""
    step: int | None = None
    """The last step of the run that it reported."""

    def is_like(self, other: Ended) -> bool:
        """Whether both failed in the same way, before any progress."""
        return bool(self.early and other.early) and (self.code, self.reason.line) == (other.code, other.reason.line)

    @property
    def may_repeat(self) -> bool:
        """Whether a second run is useful: after an error of the code, not after a signal or a request to stop."""
        return bool(self.early) and self._is_of_the_code

    @property
    def may_be_poison(self) -> bool:
        """Whether it failed at a known step, in a way that may come back at each restart."""
        return self.step is not None and self._is_of_the_code

    @property
    def stopped(self) -> Ended:
        """The same without its step: how a command fails while the pod is being stopped says nothing about the step."""
        return replace(self, step=None)

    @property
    def _is_of_the_code(self) -> bool:
        failed = 0 < self.code < 64 or self.code - 128 in _CRASHES
        passes = _PASSES.search(self.reason.line) or _PASSES.search(self.reason.error)
        return bool(self.reason.line) and failed and not passes
