"""An API server that answers to nobody without the key of its kubeconfig."""

from __future__ import annotations

import http.server
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml

from tensorplane.embedded.cluster import kubeconfig, pki
from tensorplane.embedded.instance import Instance

USER = "user"
"""The name in the certificate of the kubeconfig."""


@contextmanager
def running(keys: Path, handler: type[http.server.BaseHTTPRequestHandler]) -> Iterator[dict[str, Any]]:
    """Yields its kubeconfig. `keys`: a folder for its certificates."""
    pki.ensure(keys, [pki.Leaf("server", "ca", "server", addresses=("127.0.0.1",)), pki.Leaf(USER, "ca", USER)])
    asking = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=str(keys / "ca.crt"))
    asking.verify_mode = ssl.CERT_REQUIRED
    asking.load_cert_chain(keys / "server.pem")
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        server.socket = asking.wrap_socket(server.socket, server_side=True)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        config: dict[str, Any] = yaml.safe_load(kubeconfig.render(Instance("test"), keys, USER))
        config["clusters"][0]["cluster"]["server"] = f"https://127.0.0.1:{server.server_port}"
        yield config
        server.shutdown()
