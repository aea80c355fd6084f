"""A stand-in for one HTTPS host of the internet: a proxy on this machine that answers for it with a certificate."""

from __future__ import annotations

import datetime
import socket
import ssl
import threading
from contextlib import suppress
from pathlib import Path
from types import TracebackType

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


class StandInHost:
    """Serves `pages` (path -> content) as `https://NAME/…` to clients that use `proxy` and trust `authority`."""

    def __init__(self, folder: Path, name: str) -> None:
        self.pages: dict[str, bytes] = {}
        self.authority = folder / "authority.pem"
        self._context = _context(folder, name, self.authority)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.proxy = f"http://127.0.0.1:{self._listener.getsockname()[1]}"

    def __enter__(self) -> StandInHost:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._listener.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        with suppress(OSError), client:
            _read_head(client)
            client.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
            with self._context.wrap_socket(client, server_side=True) as secure:
                method, path, _ = _read_head(secure).split(" ", 2)
                secure.sendall(self._answer(method, path))

    def _answer(self, method: str, path: str) -> bytes:
        page = self.pages.get(path)
        status, body = ("200 OK", page) if page is not None else ("404 Not Found", b"")
        head = f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n".encode()
        return head + (b"" if method == "HEAD" else body)


def _read_head(client: socket.socket) -> str:
    data = b""
    while b"\r\n\r\n" not in data:
        part = client.recv(4096)
        if not part:
            raise ConnectionError("the client left")
        data += part
    return data.decode()


def _context(folder: Path, name: str, authority: Path) -> ssl.SSLContext:
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.datetime.now(datetime.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + datetime.timedelta(hours=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    authority.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    private = folder / "host.key"
    private.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(authority, private)
    return context
