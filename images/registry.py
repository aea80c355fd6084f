"""Pushes an image to a registry, with oras: the distribution API, with the credentials that `docker login` stored."""

from __future__ import annotations

import hashlib
import logging
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tensorplane.core.errors import UserError
from tensorplane.core.scratch import scratch
from tensorplane.core.step import Step
from tensorplane.images import oci
from tensorplane.images.layer import Layer

_REFERENCE = re.compile(r"(?P<host>[^/]+)/(?P<path>[a-z0-9][a-z0-9._/-]*):(?P<tag>[A-Za-z0-9_][A-Za-z0-9_.-]{0,127})")
# One request holds its part in memory, and Python's TLS sends at most 2 GiB at once.
_MOST_SINGLE_BYTES, _CHUNK = 1 << 30, 64 << 20
_TIMEOUT_SECONDS = 30


@dataclass(frozen=True)
class Destination:
    """A tag in a registry's repository."""

    host: str
    path: str
    tag: str

    @classmethod
    def of(cls, reference: str) -> Destination:
        """`registry.example/team/train:1`, read. A UserError for others: registries other than Docker Hub are named."""
        found = _REFERENCE.fullmatch(reference)
        if found is None or not (set(".:") & set(found["host"]) or found["host"] == "localhost"):
            raise UserError(
                f"--push: invalid value {reference!r}; use REGISTRY/PATH:TAG, such as registry.example/train:1"
            )
        return cls(found["host"], found["path"], found["tag"])

    def __str__(self) -> str:
        return f"{self.host}/{self.path}:{self.tag}"

    @property
    def plain_http(self) -> bool:
        """Whether it is a registry of this machine, which has no certificate."""
        return self.host.partition(":")[0] in ("localhost", "127.0.0.1")


def push(to: Destination, config: dict[str, Any], layers: Sequence[Layer], step: Step) -> str:
    """Uploads what the registry lacks; the tag comes last. Returns the manifest's digest."""
    import requests

    manifest, configuration = oci.documents(config, layers)
    try:
        registry = _connected(to)
        container = registry.get_container(str(to))
        with scratch("push") as work:
            (work / "config.json").write_bytes(configuration)
            blobs = [(layer.path, layer.digest) for layer in layers]
            blobs.append((work / "config.json", hashlib.sha256(configuration).hexdigest()))
            for number, (path, digest) in enumerate(blobs):
                step.note(f"pushing part {number + 1} of {len(blobs)}")
                blob = {"mediaType": "", "digest": f"sha256:{digest}", "size": path.stat().st_size}
                large = path.stat().st_size > _MOST_SINGLE_BYTES
                _check(registry.upload_blob(str(path), container, blob, do_chunked=large, chunk_size=_CHUNK), to)
        url = f"{registry.prefix}://{container.manifest_url()}"
        _check(registry.do_request(url, "PUT", headers={"Content-Type": oci.MANIFEST}, data=manifest), to)
    except requests.ConnectionError:
        raise UserError(f"{to}: the registry cannot be reached; check its name and the network") from None
    except (requests.RequestException, ValueError):
        # Not the error's text: it may contain parts of the request, whose header has the credentials.
        raise UserError(f"{to}: the registry refuses the push; {_login(to)}") from None
    return f"sha256:{hashlib.sha256(manifest).hexdigest()}"


def _connected(to: Destination) -> Any:
    """oras' client, with Docker's credentials for this registry, if there are any."""
    import requests
    from oras.provider import Registry

    class Client(Registry):  # type: ignore[misc]
        """Without oras' retries, which repeat a refused login for two minutes."""

        do_request = Registry.do_request.__wrapped__

    # Its messages are about absent configuration files; its errors are raised too.
    logging.getLogger("oras").setLevel(logging.CRITICAL + 1)
    scheme = "http" if to.plain_http else "https"
    challenge = requests.get(f"{scheme}://{to.host}/v2/", timeout=_TIMEOUT_SECONDS).headers.get("WWW-Authenticate", "")
    backend = "basic" if challenge.lower().startswith("basic") else "token"
    client = Client(hostname=to.host, insecure=to.plain_http, auth_backend=backend)
    client.auth.load_configs(client.get_container(str(to)))
    if backend == "basic" and not getattr(client.auth, "_basic_auth", None):
        raise UserError(f"{to}: the registry asks for a login; {_login(to)}")
    return client


def _login(to: Destination) -> str:
    return f"log in with an account that may push: docker login {to.host}"


def _check(response: Any, to: Destination) -> None:
    if response.status_code not in (200, 201, 202):
        raise UserError(f"{to}: HTTP {response.status_code} {response.reason}; {_login(to)}")
