"""Waits for the parts of a starting cluster, until they are ready, or one of them cannot become so."""

from __future__ import annotations

import contextlib
import datetime
import http.client
import ssl
import time
import urllib.request
from collections.abc import Callable, Iterator
from typing import Any

from tensorplane.core import command_lines
from tensorplane.core.errors import ApiError, UserError
from tensorplane.core.gvk import GVK
from tensorplane.core.kube_objects import Objects
from tensorplane.embedded.cluster import kubeconfig, supervisor
from tensorplane.embedded.cluster.node_paths import NodePaths
from tensorplane.embedded.cluster.supervisor import Supervisor

_TIMEOUT_SECONDS = 120.0
"""Seconds to wait for each part. On two idle processors all of them take 7 together."""
_NODE = GVK("", "v1", "Node")


def api_is_ready(paths: NodePaths) -> bool:
    """With a short timeout: an API server without etcd accepts the request and only answers when it ends."""
    trusting = ssl.create_default_context(cafile=str(paths.keys / "ca.crt"))
    trusting.load_cert_chain(paths.keys / "admin.pem")
    try:
        url = f"{kubeconfig.server(paths.instance)}/readyz"
        with urllib.request.urlopen(url, context=trusting, timeout=2) as answer:  # noqa: S310
            return bool(answer.read() == b"ok")
    except (OSError, http.client.HTTPException):
        return False


class Patient:
    """The API of a starting cluster: its refusals mean `not yet`."""

    def __init__(self, api: Objects) -> None:
        self._api = api

    def applied(self, manifest: dict[str, Any]) -> Callable[[], bool]:
        """A condition that tries to apply the object: its namespace or its kind may be created a moment later."""

        def attempt() -> bool:
            try:
                self._api.apply(manifest, manager="tensorplane", force=True)
            except ApiError as error:
                if error.status in (400, 422):
                    raise UserError(f"{manifest['kind']} {manifest['metadata']['name']}: {error.message}") from None
                return False
            return True

        return attempt

    def deleted_node(self, name: str) -> Callable[[], bool]:
        """A condition that tries to delete a Node."""

        def attempt() -> bool:
            try:
                self._api.delete(_NODE, name)
            except ApiError as error:
                return error.not_found
            return True

        return attempt

    def node_is_ready(self, name: str, since: int) -> bool:
        """Whether the running kubelet reported it: etcd also has reports of an earlier one."""
        with contextlib.suppress(ApiError):
            conditions = self._api.get(_NODE, name)["status"].get("conditions", [])
            ready = next((found for found in conditions if found["type"] == "Ready"), None)
            return ready is not None and ready["status"] == "True" and _seconds(ready["lastHeartbeatTime"]) >= since
        return False


def _seconds(time_of_day: str) -> float:
    return datetime.datetime.fromisoformat(time_of_day).timestamp()


class Wait:
    """Waits for one part after the other, and names the component at fault if one does not become ready."""

    def __init__(self, paths: NodePaths, supervised: Supervisor) -> None:
        self._paths, self._crashes = paths, supervisor.CrashWatch(paths, supervised)

    def until(self, what: str, condition: Callable[[], bool], culprit: str) -> None:
        for _ in self._ticks():
            try:
                if condition():
                    return
                self._crashes.check()
            except OSError:
                raise UserError(self._half_way()) from None
        log = supervisor.log(self._paths, culprit)
        raise UserError(f"{what}: not ready after {_TIMEOUT_SECONDS:.0f} s: {supervisor.last_error(log)} (log: {log})")

    def _ticks(self) -> Iterator[None]:
        end = time.monotonic() + _TIMEOUT_SECONDS
        while time.monotonic() < end:
            yield
            time.sleep(0.1)

    def _half_way(self) -> str:
        again = command_lines.deploy()
        name, log = self._paths.instance.name, self._paths.logs / "supervisord.log"
        return f"cluster {name}: its supervisor ended while the cluster started (log: {log}); run `{again}` again"
