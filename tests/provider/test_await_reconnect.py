"""Waiting goes on when the connection to the API server breaks and when the server is away for a while."""

from __future__ import annotations

import contextlib
import copy
import socket
import threading
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlparse

import pytest

from tensorplane.core.gvk import GVK
from tensorplane.core.kube import Kube
from tensorplane.core.kube_objects import Objects
from tensorplane.plugins.kubernetes import kubeconfig as kubeconfigs
from tensorplane.plugins.kubernetes.await_ready import wait_deleted, wait_ready
from tests.provider.await_support import LONG_SECONDS, MANAGER
from tests.provider.objects import config_map
from tests.support.waiting import eventually


class Proxy:
    """Forwards TCP connections to the API server until it is cut, which breaks them all and refuses new ones."""

    def __init__(self, host: str, port: int) -> None:
        self._target = (host, port)
        self._ends: list[socket.socket] = []
        self._is_cut = False
        self._lock = threading.Lock()
        self.refused = 0
        """How many connections were refused."""
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):  # the listener was closed
            while True:
                client, _ = self._listener.accept()
                with self._lock:
                    self._take(client)

    def _take(self, client: socket.socket) -> None:
        if self._is_cut:
            client.close()
            self.refused += 1
            return
        server = socket.create_connection(self._target)
        self._ends += [client, server]
        for pair in ((client, server), (server, client)):
            threading.Thread(target=_forward, args=pair, daemon=True).start()

    def cut(self) -> None:
        with self._lock:
            self._is_cut = True
            for end in self._ends:
                with contextlib.suppress(OSError):
                    end.shutdown(socket.SHUT_RDWR)
                end.close()
            self._ends.clear()

    def mend(self) -> None:
        self._is_cut = False

    def close(self) -> None:
        self.cut()
        # `close` alone does not wake the thread that accepts.
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()


def _forward(source: socket.socket, target: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(65536):
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)


@pytest.fixture
def proxy(kubeconfig: dict[str, Any]) -> Iterator[Proxy]:
    server = urlparse(kubeconfig["clusters"][0]["cluster"]["server"])
    assert server.hostname
    proxy = Proxy(server.hostname, server.port or 443)
    yield proxy
    proxy.close()


@pytest.fixture
def through_proxy(kubeconfig: dict[str, Any], proxy: Proxy) -> Objects:
    config = copy.deepcopy(kubeconfig)
    cluster = config["clusters"][0]["cluster"]
    cluster["tls-server-name"] = urlparse(cluster["server"]).hostname
    cluster["server"] = f"https://127.0.0.1:{proxy.port}"
    return Objects(Kube(kubeconfigs.connect(config)))


@pytest.mark.parametrize("refusals", [0, 2], ids=["for a moment", "until connections were refused"])
def test_readiness_reached_while_disconnected_is_seen(
    api: Objects, through_proxy: Objects, proxy: Proxy, namespace: str, refusals: int
) -> None:
    awaited = config_map(namespace, annotations={"pulumi.com/waitFor": "jsonpath={.data.done}"})
    lines: list[str] = []

    def disturb(line: str) -> None:
        lines.append(line)
        if len(lines) > 1:
            return
        proxy.cut()
        api.apply(awaited | {"data": {"done": "yes"}}, manager=MANAGER, force=True)
        eventually(lambda: proxy.refused >= refusals)
        proxy.mend()

    made = api.create(awaited, manager=MANAGER)
    live = wait_ready(through_proxy, made, timeout=LONG_SECONDS, cancelled=threading.Event(), log=disturb)
    assert live["data"] == {"done": "yes"}


def test_deletion_while_disconnected_is_seen(
    api: Objects, through_proxy: Objects, proxy: Proxy, namespace: str
) -> None:
    made = api.create(config_map(namespace, finalizers=["example.org/first"]), manager=MANAGER)
    gvk = GVK.of(made)

    def disturb(line: str) -> None:
        if "example.org/first" in line:
            # The watch has begun once it tells of another one.
            api.patch(gvk, "settings", namespace, {"metadata": {"finalizers": ["example.org/second"]}}, manager=MANAGER)
        elif "example.org/second" in line:
            proxy.cut()
            api.patch(gvk, "settings", namespace, {"metadata": {"finalizers": None}}, manager=MANAGER)
            api.delete(gvk, "settings", namespace)
            proxy.mend()

    wait_deleted(through_proxy, made, timeout=LONG_SECONDS, cancelled=threading.Event(), log=disturb)
