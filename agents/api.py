"""Requests to the API server from a pod, with the token of its service account and the standard library alone."""

from __future__ import annotations

import json
import ssl
import urllib.request
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

CONFLICT, NOT_FOUND = 409, 404
"""Codes of the `urllib.error.HTTPError` that a refused request raises."""


@dataclass(frozen=True)
class ApiServer:
    """The API server, as one service account reaches it."""

    APPLY: ClassVar[str] = "application/apply-patch+yaml"
    """Type of a body for server-side apply; JSON is YAML."""
    STRATEGIC_MERGE: ClassVar[str] = "application/strategic-merge-patch+json"
    """Type of a body whose lists are merged by their keys."""
    address: str = "https://kubernetes.default.svc"
    account: Path = Path("/var/run/secrets/kubernetes.io/serviceaccount")
    seconds: int = 30
    """For an answer."""

    def send(self, method: str, path: str, body: Any = None, *, content_type: str | None = None) -> Any:
        """The answer to one request. A PATCH is a merge patch by default. Raises OSError for any status but success."""
        with self._answer(method, path, body, content_type, self.seconds) as answer:
            return json.load(answer)

    def wait_for_change(self, path: str, version: str, seconds: int) -> None:
        """Wait until what a list's path shows is another than at the list's resource version, but not longer.

        `path`: with a query. Raises OSError for any status but success.
        """
        watched = f"{path}&watch=true&resourceVersion={version}&timeoutSeconds={seconds}"
        with self._answer("GET", watched, None, None, self.seconds + seconds) as answer:
            answer.readline()

    def _answer(self, method: str, path: str, body: Any, content_type: str | None, seconds: int) -> Any:
        # Read each time: the token is renewed while the pod runs.
        headers = {"Authorization": f"Bearer {(self.account / 'token').read_text()}", "Accept": "application/json"}
        if body is not None:
            default = "application/merge-patch+json" if method == "PATCH" else "application/json"
            headers["Content-Type"] = content_type or default
        data = None if body is None else json.dumps(body).encode()
        # The address is ours, and always https.
        request = urllib.request.Request(f"{self.address}/{path}", data, headers, method=method)  # noqa: S310
        trust = ssl.create_default_context(cafile=str(self.account / "ca.crt"))
        return urllib.request.urlopen(request, timeout=seconds, context=trust)  # noqa: S310
