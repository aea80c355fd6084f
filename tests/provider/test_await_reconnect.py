"""Waiting goes on when the connection to the API server breaks and when the server is away for a while."""

from __future__ import annotations

import contextlib
import copy
import socket
import threading
import time
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlparse

import pytest

from embedded.provider import kubeconfig as kubeconfigs
from embedded.provider.api import Api
from embedded.provider.await_ready import wait_deleted, wait_ready
from embedded.provider.gvk import GVK
from tests.support.waiting import PATIENT_SECONDS

MANAGER = "test"


class Proxy:
    """Forwards TCP connections to the API server until it is cut, which breaks them all and refuses new ones."""

    def __init__(self, host: str, port: int) -> None:
        self._target = (host, port)
        self._ends: list[socket.socket] = []
        self._is_cut = False
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):  # the listener was closed
            while True:
                client, _ = self._listener.accept()
                if self._is_cut:
                    client.close()
                    continue
                server = socket.create_connection(self._target)
                self._ends += [client, server]
                for pair in ((client, server), (server, client)):
                    threading.Thread(target=_forward, args=pair, daemon=True).start()

    def cut(self) -> None:
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
def through_proxy(kubeconfig: dict[str, Any], proxy: Proxy) -> Api:
    config = copy.deepcopy(kubeconfig)
    cluster = config["clusters"][0]["cluster"]
    cluster["tls-server-name"] = urlparse(cluster["server"]).hostname
    cluster["server"] = f"https://127.0.0.1:{proxy.port}"
    return Api(kubeconfigs.connect(config))


@pytest.mark.parametrize("away_seconds", [0.0, 3.0])
def test_readiness_reached_while_disconnected_is_seen(
    api: Api, through_proxy: Api, proxy: Proxy, namespace: str, away_seconds: float
) -> None:
    metadata = {"name": "it", "namespace": namespace, "annotations": {"pulumi.com/waitFor": "jsonpath={.data.done}"}}
    config_map = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}
    made = api.create(config_map, manager=MANAGER)
    watched = threading.Event()

    def disturb() -> None:
        watched.wait(PATIENT_SECONDS)
        proxy.cut()
        api.apply(config_map | {"data": {"done": "yes"}}, manager=MANAGER, force=True)
        time.sleep(away_seconds)
        proxy.mend()

    helper = threading.Thread(target=disturb)
    helper.start()
    never = threading.Event()
    live = wait_ready(through_proxy, made, timeout=PATIENT_SECONDS, cancelled=never, log=lambda line: watched.set())
    helper.join()
    assert live["data"] == {"done": "yes"}


def test_deletion_while_disconnected_is_seen(api: Api, through_proxy: Api, proxy: Proxy, namespace: str) -> None:
    made = api.create(
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "it", "namespace": namespace}}, manager=MANAGER
    )
    watched = threading.Event()

    def disturb() -> None:
        watched.wait(PATIENT_SECONDS)
        time.sleep(0.5)
        proxy.cut()
        api.delete(GVK.of(made), "it", namespace)
        proxy.mend()

    helper = threading.Thread(target=disturb)
    helper.start()
    wait_deleted(
        through_proxy, made, timeout=PATIENT_SECONDS, cancelled=threading.Event(), log=lambda line: watched.set()
    )
    helper.join()
