"""The provider's connection to an API server that asks its clients for a certificate."""

from __future__ import annotations

import http.server
import ssl
from pathlib import Path

from cryptography import x509

from tensorplane.core.kube import Kube
from tensorplane.plugins.kubernetes.kubeconfig import connect
from tests.support import asking_server


class _Who(http.server.BaseHTTPRequestHandler):
    """Answers with the name in the client's certificate."""

    def do_GET(self) -> None:  # the name that the base class calls
        assert isinstance(self.connection, ssl.SSLSocket)
        certificate = x509.load_der_x509_certificate(self.connection.getpeercert(binary_form=True) or b"")
        self.send_response(200)
        self.end_headers()
        self.wfile.write(certificate.subject.rfc4514_string().encode())

    def log_message(self, *_: object) -> None:
        """Prints nothing."""


def test_the_certificate_of_the_kubeconfig_says_who_asks(tmp_path: Path) -> None:
    with asking_server.running(tmp_path, _Who) as config:
        assert Kube(connect(config)).text("/") == f"CN={asking_server.USER}"
