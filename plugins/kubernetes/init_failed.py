"""The error for an object that was written but is not ready: the engine keeps its state and retries next time."""

from __future__ import annotations

from plugins.kubernetes.await_ready import AwaitError
from plugins.kubernetes.values import Properties


class InitFailedError(Exception):
    """Carries the object's state; the servicer turns it into `ErrorResourceInitFailed`."""

    def __init__(self, identity: str, message: str, reasons: list[str], state: Properties) -> None:
        super().__init__(message)
        self.identity = identity
        self.message = message
        self.reasons = reasons
        self.state = state
        self.inputs: Properties = {}  # only a read returns inputs to the engine

    @classmethod
    def after(cls, error: AwaitError, identity: str, state: Properties) -> InitFailedError:
        """From a failed wait."""
        return cls(identity, str(error), [error.message, *error.reasons], state)
