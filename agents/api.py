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
_SECONDS = 30


@dataclass(frozen=True)
class ApiServer:
    """The API server, as one service account reaches it."""

    APPLY: ClassVar[str] = "application/apply-patch+yaml"
    """Type of a body for server-side apply; JSON is YAML."""
    address: str = "https://kubernetes.default.svc"
    account: Path = Path("/var/run/secrets/kubernetes.io/serviceaccount")

    def send(self, method: str, path: str, body: Any = None, *, content_type: str | None = None) -> Any:
        """The answer to one request. A PATCH is a merge patch by default. Raises OSError for any status but success."""
        # Read each time: the token is renewed while the pod runs.
        headers = {"Authorization": f"Bearer {(self.account / 'token').read_text()}", "Accept": "application/json"}
        if body is not None:
            default = "application/merge-patch+json" if method == "PATCH" else "application/json"
            headers["Content-Type"] = content_type or default
        data = None if body is None else json.dumps(body).encode()
        # The address is ours, and always https.
        request = urllib.request.Request(f"{self.address}/{path}", data, headers, method=method)  # noqa: S310
        trust = ssl.create_default_context(cafile=str(self.account / "ca.crt"))
        with urllib.request.urlopen(request, timeout=_SECONDS, context=trust) as answer:  # noqa: S310
            return json.load(answer)
