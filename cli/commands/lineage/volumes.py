"""Asks volumes what their versions record: a pod for each volume, started when it is first asked."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from types import TracebackType
from typing import Any, Protocol

from tensorplane.cli import temporary_pod
from tensorplane.cli.commands.cp import volume_pod
from tensorplane.cli.commands.data import remote
from tensorplane.cli.exec_stream import Exec
from tensorplane.core.kube import Kube
from tensorplane.stack import ResolvedStack

Request = Mapping[str, Any]


class Volumes(Protocol):
    """What answers requests; see the library's `provenance.py`."""

    def ask(self, volume: str, requests: Sequence[Request]) -> list[dict[str, Any]]:
        """The answers. A UserError if the volume cannot be mounted."""


class Pods:
    """The volumes of a stack's cluster. The pods are deleted at the end of the `with` block."""

    def __init__(self, api: Kube, resolved: ResolvedStack, account: str) -> None:
        self._api, self._resolved, self._account = api, resolved, account
        self._running: dict[str, str] = {}
        self._stack = ExitStack()

    def __enter__(self) -> Pods:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.__exit__(kind, error, trace)

    def ask(self, volume: str, requests: Sequence[Request]) -> list[dict[str, Any]]:
        """The answers of the volume's pod."""
        if volume not in self._running:
            env = {remote.LIBRARY: remote.library()}
            pod = volume_pod.of(self._resolved, volume, self._account, read_only=True, env=env)
            about = self._stack.enter_context(temporary_pod.running(self._api, pod))["metadata"]
            self._running[volume] = f"{temporary_pod.pods_of(about['namespace'])}/{about['name']}"
        program = Exec(self._api, self._running[volume], remote.command("tensorplane.provenance", volume_pod.ROOT))
        program.write(json.dumps(requests).encode() + b"\n")
        return list(json.loads(program.finish()))
