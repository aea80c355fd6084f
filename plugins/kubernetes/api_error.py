"""Errors of the API server, or of the connection to it, as one line for people."""

from __future__ import annotations

import json
from typing import Any

UNREACHABLE = "Unreachable"
NO_MATCH = "NoKindMatch"


class ApiError(Exception):
    """A failed request: HTTP status (0: no answer), Kubernetes' reason, a message, the listed causes."""

    def __init__(self, status: int, reason: str, message: str, causes: list[dict[str, str]] | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.reason = reason
        self.message = message
        self.causes = causes or []

    @classmethod
    def from_response(cls, status: int, phrase: str, body: str) -> ApiError:
        """Reads the `Status` object of an error response; a proxy's plain text is kept as it is."""
        try:
            answer: dict[str, Any] = json.loads(body)
        except ValueError:
            return cls(status, phrase, f"{status} {phrase}: {body.strip()[:500]}")
        details = answer.get("details") or {}
        return cls(status, answer.get("reason") or phrase, answer.get("message") or phrase, details.get("causes"))

    @property
    def not_found(self) -> bool:
        """The object, or its kind, does not exist."""
        return self.status == 404

    @property
    def unreachable(self) -> bool:
        """No API server answered: the cluster was deleted or is stopped, or the network is down."""
        return self.reason == UNREACHABLE

    @property
    def no_match(self) -> bool:
        """The server does not know the kind: its CRD is not installed (yet)."""
        return self.reason == NO_MATCH

    @property
    def exists(self) -> bool:
        return self.status == 409 and self.reason == "AlreadyExists"

    @property
    def conflict(self) -> bool:
        """Another field manager owns a field, or the object changed in between."""
        return self.status == 409 and self.reason == "Conflict"

    @property
    def terminating_namespace(self) -> bool:
        """The object's namespace is being deleted, so nothing can be created in it."""
        return self.status == 403 and "being terminated" in self.message
