"""Requests to the REST port of a model server's pod, through a tunnel, which no NetworkPolicy closes."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from typing import Any

from tensorplane.cli import tunnel
from tensorplane.core.errors import UserError
from tensorplane.core.kube import Kube
from tensorplane.workloads.model_server.manifest import REST_PORT

SECONDS = 300.0
"""How long a server may be silent: a large batch on a small server takes its time."""


def ask(api: Kube, pod: str, path: str, body: Any = None) -> tuple[int, bytes]:
    """Status and content of the answer. `pod`: its path in the API. `body`: of a POST, sent as JSON."""
    data = None if body is None else json.dumps(body).encode()
    with tunnel.opened(api, pod, REST_PORT, 0) as local:
        request = urllib.request.Request(  # always http, and this machine's own port
            f"http://{tunnel.HOST}:{local}{path}", data, {"Content-Type": "application/json"}
        )
        try:
            with urllib.request.urlopen(request, timeout=SECONDS) as answer:  # noqa: S310
                return answer.status, answer.read()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read()
        except OSError as error:
            raise UserError(f"{pod.rpartition('/')[2]}: does not answer: {error}") from None
