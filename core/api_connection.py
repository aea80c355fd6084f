"""Requests and WebSockets to one API server as one user, from what a kubeconfig says: TLS, credentials, proxy.

Kubernetes' own client in Python is not used: it takes 120 MB and a large part of a second, takes no certificates from
exec plugins, and goes on without credentials if a plugin fails.
"""

from __future__ import annotations

import base64
import contextlib
import ipaddress
import os
import ssl
import tempfile
import threading
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode, urlsplit

from tensorplane import version
from tensorplane.core.credentials import Certificate, Credentials
from tensorplane.core.errors import UserError
from tensorplane.core.kubeconfig import Access

if TYPE_CHECKING:  # imported where a cluster is reached, because they take a tenth of a second
    from urllib3 import BaseHTTPResponse, PoolManager, Timeout
    from websocket import WebSocket

Query = Mapping[str, str | Sequence[str]]

_USER_AGENT = f"tensorplane/{version.__version__}"
_CONNECTIONS = 64
"""Connections that are kept open. No more threads than that send requests at once."""
_PROTOCOLS = "v5.channel.k8s.io,v4.channel.k8s.io"
"""Of the WebSockets of exec and port-forward. With the newer one, a client can end a program's standard input."""
_OPEN_FILES = Path("/proc/self/fd")
"""The paths of this program's open files, where the system has them: on Linux."""


@dataclass(frozen=True)
class _Transport:
    """The open connections of a user, and what they were opened with."""

    certificate: Certificate | None
    tls: ssl.SSLContext | None
    """None for a server without TLS."""
    pool: PoolManager


class Connection:
    """The requests of one user to one API server. Connects at the first one. Thread-safe."""

    def __init__(self, access: Access, *, retries: int = 2) -> None:
        """`retries`: how often what the server has not answered is sent again; what it may have executed is not."""
        self.host = access.server
        self._cluster = access.cluster
        self._credentials = Credentials(access.user, access.cluster)
        self._retries = retries
        self._lock = threading.Lock()
        self._transport: _Transport | None = None

    @classmethod
    def to(cls, server: str, *, retries: int = 2) -> Connection:
        """To a server that asks nobody who they are."""
        return cls(Access({"server": server}, {}), retries=retries)

    def request(
        self,
        method: str,
        path: str,
        query: Query,
        *,
        body: bytes | None,
        headers: Mapping[str, str],
        timeout: Timeout,
        stream: bool,
    ) -> BaseHTTPResponse:
        """The server's answer, whatever its status. `stream`: its body is still to be read.

        An error of urllib3 or an OSError if it does not answer, a UserError if the user's credentials cannot be had.
        """
        from urllib3 import HTTPHeaderDict

        url = f"{self.host}{_with_query(path, query)}"

        def send() -> BaseHTTPResponse:
            with self._explained():
                pool, own = self._connect().pool, self._credentials.headers()
            everything = HTTPHeaderDict({"User-Agent": _USER_AGENT, **headers})
            everything.extend(own)
            return pool.request(method, url, body=body, headers=everything, timeout=timeout, preload_content=not stream)

        answer = send()
        if answer.status == 401 and self._credentials.renew():
            answer.drain_conn()  # so that the next request can use its connection
            answer = send()
        return answer

    def websocket(self, path: str, query: Query) -> WebSocket:
        """A WebSocket to a subresource of a pod. Raises what websocket-client raises, or an OSError."""
        from websocket import WebSocket

        with self._explained():
            tls, own = self._connect().tls, self._credentials.headers()
        options: dict[str, Any] = {"context": tls} if tls else {}
        if name := self._cluster.get("tls-server-name"):
            options["server_hostname"] = name
        url = f"ws{self.host.removeprefix('http')}{_with_query(path, query)}"
        header = [*(f"{key}: {value}" for key, value in own), f"Sec-WebSocket-Protocol: {_PROTOCOLS}"]
        opened = WebSocket(sslopt=options, skip_utf8_validation=False)
        opened.connect(url, header=header, **_websocket_proxy(self._proxy()))  # type: ignore[no-untyped-call]
        return opened

    def check(self) -> None:
        """A UserError if the kubeconfig's certificates or credentials cannot be used. Asks no server."""
        with self._explained():
            self._connect()
            self._credentials.headers()

    @contextlib.contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except (UserError, OSError, ValueError, TypeError) as error:
            raise UserError(f"the kubeconfig cannot be used: {error}") from None

    def _connect(self) -> _Transport:
        """The connections with the user's certificate; new ones when an exec plugin has renewed it."""
        certificate = self._credentials.certificate()
        with self._lock:
            if self._transport is None or self._transport.certificate != certificate:
                tls = _tls(self._cluster, certificate) if self.host.startswith("https:") else None
                self._transport = _Transport(certificate, tls, self._pool(tls))
            return self._transport

    def _pool(self, tls: ssl.SSLContext | None) -> PoolManager:
        from urllib3 import PoolManager, ProxyManager, Retry

        tries = Retry(
            total=self._retries + 1,
            connect=self._retries,
            read=self._retries,
            # A request that the server may have executed is not repeated.
            allowed_methods={"GET"},
            backoff_factor=0.2,
            raise_on_status=False,
        )
        options: dict[str, Any] = {"maxsize": _CONNECTIONS, "retries": tries}
        if tls:
            options["ssl_context"] = tls
        if name := self._cluster.get("tls-server-name"):
            options["server_hostname"] = name
        proxy = self._proxy()
        return ProxyManager(proxy, **options) if proxy else PoolManager(**options)

    def _proxy(self) -> str:
        """The kubeconfig's proxy, or that of the environment; empty if the server is reached without."""
        if own := str(self._cluster.get("proxy-url") or ""):
            if urlsplit(own).scheme not in ("http", "https"):
                raise UserError(f"proxy-url: {own} is no HTTP proxy; use one that is")
            return own
        server = urlsplit(self.host)
        found = urllib.request.getproxies().get(server.scheme, "")
        return "" if _is_direct(server.hostname or "") else found


def _with_query(path: str, query: Query) -> str:
    return f"{path}?{urlencode(query, doseq=True)}" if query else path


def _tls(cluster: Mapping[str, Any], certificate: Certificate | None) -> ssl.SSLContext:
    data = cluster.get("certificate-authority-data")
    context = ssl.create_default_context(
        cafile=cluster.get("certificate-authority") or None if not data else None,
        cadata=base64.b64decode(data).decode() if data else None,
    )
    # Kubernetes' installers make authorities without what newer versions of Python ask for.
    context.verify_flags &= ~getattr(ssl, "VERIFY_X509_STRICT", 0)
    if cluster.get("insecure-skip-tls-verify"):
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    if certificate:
        with _as_file(certificate.certificate) as shown, _as_file(certificate.key) as key:
            context.load_cert_chain(shown, key)
    return context


@contextlib.contextmanager
def _as_file(given: Path | bytes) -> Iterator[str]:
    """The path of a file with this content, because TLS only reads files.

    It is in memory where the system has that, so that a killed program leaves none.
    """
    if isinstance(given, Path):
        yield str(given)
    elif _OPEN_FILES.is_dir():
        file = os.memfd_create("kubeconfig")
        try:
            os.write(file, given)
            yield str(_OPEN_FILES / str(file))
        finally:
            os.close(file)
    else:
        file, path = tempfile.mkstemp()
        try:
            with os.fdopen(file, "wb") as opened:
                opened.write(given)
            yield path
        finally:
            Path(path).unlink()


def _is_direct(host: str) -> bool:
    """Whether the environment's proxy is not for this host: this machine, and what NO_PROXY names, also networks."""
    excepted = urllib.request.getproxies().get("no", "").split(",")
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return host == "localhost" or bool(urllib.request.proxy_bypass(host))
    return address.is_loopback or any(_contains(each.strip(), address) for each in excepted)


def _contains(network: str, address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> bool:
    try:
        return network == "*" or address in ipaddress.ip_network(network, strict=False)
    except ValueError:
        return False


def _websocket_proxy(proxy: str) -> dict[str, Any]:
    if not proxy:
        return {"http_no_proxy": ["*"]}
    found = urlsplit(proxy)
    options: dict[str, Any] = {"http_proxy_host": found.hostname, "http_proxy_port": found.port, "proxy_type": "http"}
    if found.username:
        options["http_proxy_auth"] = (found.username, found.password or "")
    return options
