"""What a server's pods have to fetch models before they start: init containers, folders, and where they connect to."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from tensorplane.components import versions
from tensorplane.components.base.model import In
from tensorplane.components.base.names import digest_of
from tensorplane.workloads.model_server.fetched_model.settings import FetchArgs, is_archive, is_in_bucket
from tensorplane.workloads.model_server.settings import ServedModel
from tensorplane.workloads.pods import pod
from tensorplane.workloads.pods.files import Bundle, bundle
from tensorplane.workloads.pods.objects import INTERNET, Destination

FETCHED = "/fetched"
"""The pods' folder with a folder for each fetched model."""
_DOWNLOADED, _CODE = "/downloaded", "/opt/tensorplane/fetching"
_PROGRAM = "fetch_model.py"
_PORTS = {"https": 443, "http": 80, "gs": 443, "s3": 443}
_RCLONE = {"gs": "gcs", "s3": "s3"}
"""What rclone calls them."""
_IDENTITY: Mapping[str, Sequence[tuple[str, int]]] = {
    # GKE's metadata server, at the node's address and behind Dataplane V2 (Workload Identity Federation for GKE).
    "gs": (("169.254.169.252/32", 988), ("169.254.169.254/32", 80)),
    # The agent of EKS Pod Identity.
    "s3": (("169.254.170.23/32", 80),),
}
"""Where pods get the credentials of their service account."""


@dataclass(frozen=True)
class Fetching:
    """The fetched models of a server."""

    models: Mapping[str, ServedModel]
    """By name."""
    code: Bundle
    python: str
    """An image with Python."""
    region: str | None = None
    """Of buckets that name none."""

    def init_containers(self) -> list[pod.Before]:
        """They fetch one model after the other."""
        return [each for name, model in self.models.items() for each in self._of(name, model)]

    def _of(self, name: str, model: ServedModel) -> Iterator[pod.Before]:
        uri, fetch = str(model.uri), model.fetch or FetchArgs()
        suffix = digest_of([name])
        words = ["python3", "-I", f"{_CODE}/{_PROGRAM}", folder(name)]
        if is_in_bucket(uri):
            target = f"{_DOWNLOADED}/{name}"
            verb = "copyto" if is_archive(uri) else "copy"
            yield pod.Before(
                f"download-{suffix}",
                versions.RCLONE,
                ["rclone", verb, _remote(uri), target, "--config=notfound", "--retries=5", "--stats=0"],
                env=_of_bucket(uri, fetch, self.region),
                folders=[_DOWNLOADED],
            )
            words += ["--downloaded", target]
        else:
            words += ["--url", uri]
        if fetch.sha256:
            words += ["--sha256", fetch.sha256]
        authorization = fetch.credentials if not is_in_bucket(uri) else None
        yield pod.Before(
            f"fetch-{suffix}",
            self.python,
            words,
            env=[_secret("AUTHORIZATION", authorization, "authorization")] if authorization else [],
            files={_CODE: self.code},
            folders=[FETCHED, *([_DOWNLOADED] if is_in_bucket(uri) else [])],
        )

    def destinations(self) -> list[Destination]:
        """What the pods must be able to connect to."""
        found = [each for model in self.models.values() for each in _destinations(str(model.uri), model.fetch)]
        return [each for index, each in enumerate(found) if each not in found[:index]]


def code(server: str) -> Bundle:
    """The program that the init containers of a server run."""
    return bundle(f"{server}-fetching", {_PROGRAM: Path(__file__).with_name(_PROGRAM).read_bytes()})


def folder(name: str) -> str:
    """A fetched model's folder in the pods."""
    return f"{FETCHED}/{name}"


def _remote(uri: str) -> str:
    parts = urlsplit(uri)
    return f":{_RCLONE[parts.scheme]}:{parts.netloc}/{parts.path.strip('/')}"


def _of_bucket(uri: str, fetch: FetchArgs, region: str | None) -> list[dict[str, Any]]:
    """rclone's variables. Without credentials, it takes those of the pod's service account."""
    if urlsplit(uri).scheme == "gs":
        if fetch.credentials:
            variable = "RCLONE_GCS_SERVICE_ACCOUNT_CREDENTIALS"
            return [_secret(variable, fetch.credentials, "service-account.json")]
        return pod.variables({"RCLONE_GCS_ENV_AUTH": "true"})
    plain = {"RCLONE_S3_ENV_AUTH": "true", "RCLONE_S3_PROVIDER": "Other" if fetch.endpoint else "AWS"}
    if fetch.endpoint:
        plain["RCLONE_S3_ENDPOINT"] = fetch.endpoint
    if known := fetch.region or region:
        plain["RCLONE_S3_REGION"] = known
    found: list[dict[str, Any]] = [*pod.variables(plain)]
    if fetch.credentials:
        found += [_secret(key, fetch.credentials, key) for key in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")]
    return found


def _secret(variable: str, secret: In[str], key: str) -> dict[str, Any]:
    return {"name": variable, "valueFrom": {"secretKeyRef": {"name": secret, "key": key}}}


def _destinations(uri: str, fetch: FetchArgs | None) -> Iterator[Destination]:
    fetch = fetch or FetchArgs()
    parts = urlsplit(fetch.endpoint or uri)
    port = parts.port or _PORTS[parts.scheme]
    yield from fetch.egress if fetch.egress is not None else [Destination(cidr=INTERNET, ports=[port])]
    if is_in_bucket(uri) and not fetch.credentials:
        for cidr, at in _IDENTITY[urlsplit(uri).scheme]:
            # Only for the identity of the pods' own service account: settings may not name the metadata server.
            yield Destination.model_construct(cidr=cidr, ports=[at])
