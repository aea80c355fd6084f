"""The error for an object that was written but is not ready: the engine keeps its state and retries next time."""

from __future__ import annotations

from tensorplane.plugins.kubernetes.await_ready import AwaitError
from tensorplane.plugins.kubernetes.values import Properties


class InitFailedError(Exception):
    """Carries the object's state; the servicer turns it into `ErrorResourceInitFailed`."""

    def __init__(self, resource_id: str, message: str, reasons: list[str], state: Properties) -> None:
        super().__init__(message)
        self.resource_id = resource_id
        self.message = message
        self.reasons = reasons
        self.state = state
        self.inputs: Properties = {}  # only a read returns inputs to the engine

    @classmethod
    def after(cls, error: AwaitError, resource_id: str, state: Properties) -> InitFailedError:
        """From a failed wait."""
        return cls(resource_id, str(error), [error.message, *error.reasons], state)
