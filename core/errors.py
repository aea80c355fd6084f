"""The errors of tensorplane. All have one root; what people are meant to read is a UserError."""

from __future__ import annotations

import json
from typing import Any

UNREACHABLE = "Unreachable"
NO_MATCH = "NoKindMatch"


class TensorplaneError(Exception):
    """The root of tensorplane's own errors."""


class UserError(TensorplaneError):
    """One or more lines for the user: a problem and its remedy each. Commands print them, and exit with 1."""

    def __init__(self, *lines: str) -> None:
        super().__init__("\n".join(lines))
        self.lines = lines


class ApiError(UserError):
    """A Kubernetes API server refused a request, or did not answer it.

    `status`: HTTP's; 0 without an answer. `reason`: Kubernetes' word, such as `AlreadyExists`. `causes`: the
    problems that the server lists, with their fields. `body`: its whole answer. `line`: for people; by default the
    message.
    """

    def __init__(
        self,
        status: int,
        reason: str,
        message: str,
        causes: list[dict[str, str]] | None = None,
        *,
        body: str = "",
        line: str = "",
    ) -> None:
        super().__init__(line or message)
        self.status = status
        self.reason = reason
        self.message = message
        self.causes = causes or []
        self.body = body

    @classmethod
    def from_response(cls, status: int, phrase: str, body: str, subject: str = "") -> ApiError:
        """Reads the `Status` object of an error response; a proxy's plain text becomes the message.

        `subject`: begins the line that people read, which never has such a text.
        """
        answer = status_of(body)
        given = str((answer or {}).get("message") or "")
        message = given or (f"{status} {phrase}: {body.strip()[:500]}" if answer is None else phrase)
        return cls(
            status,
            (answer or {}).get("reason") or phrase,
            message,
            ((answer or {}).get("details") or {}).get("causes"),
            body=body,
            line=f"{subject}: {given or f'{status} {phrase}'}" if subject else message,
        )

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

    @property
    def lacks_webhook(self) -> bool:
        """A webhook that must admit the write did not answer, as while its controller restarts; nothing was written."""
        return self.status == 500 and "failed calling webhook" in self.message


def status_of(body: str | bytes) -> dict[str, Any] | None:
    """The `Status` object in the body of an answer; None if it has none."""
    try:
        answer = json.loads(body)
    except ValueError:
        return None
    return answer if isinstance(answer, dict) else None
