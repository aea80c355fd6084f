"""How to reach a Kafka that somebody else runs: addresses, and the secret that proves who asks."""

import re
from collections.abc import Iterator
from typing import Annotated, Any

from pydantic import AfterValidator

from components.faults import Fault, Key
from components.model import Filled, Line, Model, Name, refuse
from components.stream.access import Access, Authentication

_SERVER = re.compile(r"(\[[0-9a-fA-F:]+\]|[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?):([0-9]{1,5})")
_LAST_PORT = 65535


def _bootstrap(value: str) -> str:
    for server in value.split(","):
        match = _SERVER.fullmatch(server)
        if not match or not 0 < int(match[3]) <= _LAST_PORT:
            refuse("host:port, or several with commas between them and no spaces")
    return value


Bootstrap = Annotated[Line, AfterValidator(_bootstrap)]
"""Addresses to ask first; they name all others."""


class Endpoint(Model):
    """A Kafka by its address."""

    bootstrap: Bootstrap
    """First addresses, `host:port`, several with commas between them."""
    tls: bool = True
    """Encrypt, and check the brokers' certificates."""
    authority: Name | None = None
    """A Secret whose `ca.crt` signed them. By default they are signed by a public authority."""
    authentication: Authentication = "none"
    """How clients prove who they are: with a certificate (`tls`), or with a name and a password."""
    username: Filled | None = None
    """The name, where `authentication` is with a password."""
    secret: Name | None = None
    """A Secret of the stack's namespace with `user.crt` and `user.key`, or with `password`."""

    def check(self, path: Key) -> Iterator[Fault]:
        """What does not go together."""
        by_password = self.authentication in ("scram-sha-512", "plain")
        if self.authentication != "none" and not self.secret:
            yield Fault((*path, "secret"), f"missing, authentication {self.authentication} needs it")
        if by_password and not self.username:
            yield Fault((*path, "username"), f"missing, authentication {self.authentication} needs it")
        if not by_password and self.username:
            yield Fault((*path, "username"), f"got {self.username!r}, authentication {self.authentication} takes none")
        if self.authority and not self.tls:
            yield Fault((*path, "authority"), f"got {self.authority!r}, and nothing is signed where tls is false")
        if not self.tls and self.authentication in ("tls", "plain"):
            need = "is proved within TLS" if self.authentication == "tls" else "would send its password readable"
            yield Fault((*path, "tls"), f"got False, authentication {self.authentication} {need}: need True")

    @property
    def ports(self) -> list[int]:
        """The ports of the first addresses."""
        return sorted({int(server.rpartition(":")[2]) for server in self.bootstrap.split(",")})

    @property
    def access(self) -> Access:
        """How clients reach it."""
        return Access(self.bootstrap, self.tls, self.authentication, self.username, self.secret, self.authority)

    def mirror_maker(self, alias: str) -> dict[str, Any]:
        """The same in the words of a KafkaMirrorMaker2."""
        spec: dict[str, Any] = {"alias": alias, "bootstrapServers": self.bootstrap}
        if self.tls:
            # Without certificates of its own it takes those of the public authorities.
            own = [{"secretName": self.authority, "certificate": "ca.crt"}] if self.authority else []
            spec["tls"] = {"trustedCertificates": own}
        if self.authentication == "tls":
            files = {"secretName": self.secret, "certificate": "user.crt", "key": "user.key"}
            spec["authentication"] = {"type": "tls", "certificateAndKey": files}
        elif self.authentication != "none":
            password = {"secretName": self.secret, "password": "password"}
            spec["authentication"] = {
                "type": self.authentication,
                "username": self.username,
                "passwordSecret": password,
            }
        return spec
