"""Connection of a client to a stream: addresses, authentication and Secrets."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, cast

from tensorplane.components.base.model import In
from tensorplane.components.base.produced import Produced

Authentication = Literal["none", "tls", "scram-sha-512", "plain"]

_LABEL = "streams.tensorplane"
# An IPv6 address has colons.
_HAS_DOMAIN = re.compile(r"[.:]")


def client_label(stream: str) -> dict[str, str]:
    """Label of pods that NetworkPolicies allow to reach a stream."""
    return {f"{_LABEL}/{stream}": "client"}


@dataclass(frozen=True)
class Access:
    """How one consumer group, or one producer, reaches a stream."""

    bootstrap: In[str]
    tls: bool = False
    authentication: Authentication = "none"
    username: str | None = None
    secret: In[str] | None = None
    """Secret with `user.crt` and `user.key`, or with `password`."""
    authority: In[str] | None = None
    """Secret with the brokers' certificate authority, `ca.crt`; None for public authorities."""

    @property
    def by_password(self) -> bool:
        """Whether it authenticates with username and password."""
        return self.authentication in ("scram-sha-512", "plain")

    def settings(self, folder: str) -> dict[str, str]:
        """Settings of librdkafka without secret values; files of the Secrets are below `folder`."""
        transport = "ssl" if self.tls else "plaintext"
        settings = {"security.protocol": f"sasl_{transport}" if self.by_password else transport}
        if self.authority:
            settings["ssl.ca.location"] = f"{folder}/authority/ca.crt"
        if self.authentication == "tls":
            settings |= {
                "ssl.certificate.location": f"{folder}/client/user.crt",
                "ssl.key.location": f"{folder}/client/user.key",
            }
        elif self.by_password:
            settings |= {"sasl.mechanism": self.authentication.upper(), "sasl.username": self.username or ""}
        return settings

    def bootstrap_from(self, elsewhere: str) -> In[str]:
        """The addresses for clients in other namespaces. A host of one label is a Service of the namespace
        `elsewhere`."""
        given = self.bootstrap
        if isinstance(given, Produced):
            return cast(Produced, given.apply(lambda known: _from(known, elsewhere)))
        return _from(given, elsewhere)

    def keda_settings(self) -> dict[str, str]:
        """Settings of KEDA's Kafka trigger without credentials."""
        mechanisms = {"scram-sha-512": "scram_sha512", "plain": "plaintext"}
        sasl = {"sasl": mechanisms[self.authentication]} if self.authentication in mechanisms else {}
        return {**({"tls": "enable"} if self.tls else {}), **sasl}

    def keda_secrets(self) -> Mapping[str, tuple[In[str], str]]:
        """Secret and key of each credential, by the parameter of KEDA's Kafka trigger."""
        found: dict[str, tuple[In[str], str]] = {}
        if self.authority:
            found["ca"] = (self.authority, "ca.crt")
        if self.secret and self.authentication == "tls":
            found |= {"cert": (self.secret, "user.crt"), "key": (self.secret, "user.key")}
        elif self.secret and self.by_password:
            found["password"] = (self.secret, "password")
        return found

    def password_file(self, folder: str) -> str | None:
        """Path of the password file, for clients with a password."""
        return f"{folder}/client/password" if self.by_password else None

    def secrets(self, folder: str) -> Mapping[str, tuple[In[str], tuple[str, ...]]]:
        """Secrets and their keys, by mount path."""
        mounted: dict[str, tuple[In[str], tuple[str, ...]]] = {}
        if self.authority:
            mounted[f"{folder}/authority"] = (self.authority, ("ca.crt",))
        if self.secret and self.authentication != "none":
            mounted[f"{folder}/client"] = (self.secret, ("password",) if self.by_password else ("user.crt", "user.key"))
        return mounted


def _from(bootstrap: str, elsewhere: str) -> str:
    servers = (server.rpartition(":") for server in bootstrap.split(","))
    found = ((host if _HAS_DOMAIN.search(host) else f"{host}.{elsewhere}.svc", port) for host, _, port in servers)
    return ",".join(f"{host}:{port}" for host, port in found)
