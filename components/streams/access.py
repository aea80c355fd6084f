"""What a client of a stream needs: addresses, how it proves who it is, and the secrets with that proof."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Authentication = Literal["none", "tls", "scram-sha-512", "plain"]

_LABEL = "streams.tensorplane"


def client_label(stream: str) -> dict[str, str]:
    """The label of pods that may reach a stream, where the cluster's network asks."""
    return {f"{_LABEL}/{stream}": "client"}


@dataclass(frozen=True)
class Access:
    """How one consumer group, or one producer, reaches a stream."""

    bootstrap: str
    tls: bool = False
    authentication: Authentication = "none"
    username: str | None = None
    secret: str | None = None
    """Secret with `user.crt` and `user.key`, or with `password`."""
    authority: str | None = None
    """Secret with the authority, `ca.crt`, that signed the brokers' certificates; None for the public ones."""

    @property
    def by_password(self) -> bool:
        """Whether it is proved by a name and a password."""
        return self.authentication in ("scram-sha-512", "plain")

    def settings(self, folder: str) -> dict[str, str]:
        """The settings of librdkafka, with the files of the secrets below `folder`; nothing that is secret."""
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

    def password_file(self, folder: str) -> str | None:
        """Where the password is, for whoever has one."""
        return f"{folder}/client/password" if self.by_password else None

    def secrets(self, folder: str) -> Mapping[str, tuple[str, tuple[str, ...]]]:
        """Folder in the pod -> the secret that is mounted there, and which keys of it."""
        mounted: dict[str, tuple[str, tuple[str, ...]]] = {}
        if self.authority:
            mounted[f"{folder}/authority"] = (self.authority, ("ca.crt",))
        if self.secret and self.authentication != "none":
            mounted[f"{folder}/client"] = (self.secret, ("password",) if self.by_password else ("user.crt", "user.key"))
        return mounted
