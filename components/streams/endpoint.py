"""How to connect to a Kafka cluster that someone else operates: addresses and credentials."""

import re
from collections.abc import Iterator
from typing import Annotated, Any

from pydantic import AfterValidator

from tensorplane.components.base.model import In, Line, Model, Name, NonEmptyStr, refuse_all_but
from tensorplane.components.base.problems import Key, Problem
from tensorplane.components.base.produced import Produced, known
from tensorplane.components.streams.access import Access, Authentication

_SERVER = re.compile(r"(\[[0-9a-fA-F:]+\]|[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?):([0-9]{1,5})")
_LAST_PORT = 65535


def _check_bootstrap(value: str) -> str:
    for server in value.split(","):
        match = _SERVER.fullmatch(server)
        if not match or not 0 < int(match[3]) <= _LAST_PORT:
            refuse_all_but("host:port, or several with commas between them and no spaces")
    return value


Bootstrap = Annotated[Line, AfterValidator(_check_bootstrap)]
"""Bootstrap addresses; they return the addresses of all brokers."""


class Endpoint(Model):
    """Connection to a Kafka cluster."""

    bootstrap: In[Bootstrap]
    """Bootstrap addresses, `host:port`, separated by commas."""
    tls: bool = True
    """Whether connections use TLS and verify the brokers' certificates."""
    authority: In[Name] | None = None
    """Secret with the certificate authority of the brokers, as `ca.crt`; public authorities by default."""
    authentication: Authentication = "none"
    """How clients authenticate: with a certificate (`tls`), or with username and password."""
    username: NonEmptyStr | None = None
    """Username, if `authentication` uses a password."""
    secret: In[Name] | None = None
    """Secret of the stack's namespace with `user.crt` and `user.key`, or with `password`."""

    def check(self, path: Key) -> Iterator[Problem]:
        """Problems of contradicting settings."""
        by_password = self.authentication in ("scram-sha-512", "plain")
        if self.authentication != "none" and not self.secret:
            yield Problem(
                (*path, "secret"), f"missing; authentication {self.authentication} requires a Secret, name one"
            )
        if by_password and not self.username:
            yield Problem(
                (*path, "username"), f"missing; authentication {self.authentication} requires a username, set one"
            )
        if not by_password and self.username:
            yield Problem(
                (*path, "username"),
                f"is {self.username!r}, but authentication {self.authentication} has no username; remove it",
            )
        if self.authority and not self.tls:
            is_set = f"is {name!r}" if (name := known(self.authority)) else "is set"
            yield Problem((*path, "authority"), f"{is_set}, but tls is false; remove it, or set tls: true")
        if not self.tls and self.authentication in ("tls", "plain"):
            why = "uses client certificates" if self.authentication == "tls" else "sends the password in clear text"
            yield Problem((*path, "tls"), f"is false, but authentication {self.authentication} {why}; set tls: true")

    @property
    def ports(self) -> In[list[int]]:
        """Ports of the bootstrap addresses."""
        given = self.bootstrap
        return given.apply(_ports_of) if isinstance(given, Produced) else _ports_of(given)

    @property
    def access(self) -> Access:
        """Connection settings of clients."""
        return Access(self.bootstrap, self.tls, self.authentication, self.username, self.secret, self.authority)

    def mirror_maker(self, alias: str) -> dict[str, Any]:
        """The connection as part of a KafkaMirrorMaker2."""
        spec: dict[str, Any] = {"alias": alias, "bootstrapServers": self.bootstrap}
        if self.tls:
            # Without certificates, it trusts the public authorities.
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


def _ports_of(bootstrap: str) -> list[int]:
    return sorted({int(server.rpartition(":")[2]) for server in bootstrap.split(",")})
