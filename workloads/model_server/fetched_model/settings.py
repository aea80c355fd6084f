"""Models that each server pod fetches before it starts."""

import re
from pathlib import PurePosixPath
from typing import Annotated
from urllib.parse import urlsplit

from pydantic import AfterValidator

from tensorplane.components.base.model import In, Line, Model, Name, ObjectName, refuse_all_but
from tensorplane.components.base.value_types import BUCKET_RULE, is_bucket_name
from tensorplane.workloads.pods.objects import Egress

_ARCHIVES = (".tar.gz", ".tgz", ".tar", ".zip")
_OF_BUCKETS, _OF_SERVERS = ("gs", "s3"), ("https", "http")
_EXAMPLES = "https://HOST/NAME.tar.gz, gs://BUCKET/PATH or s3://BUCKET/PATH"


def _check_uri(value: str) -> str:
    try:
        parts = urlsplit(value)
        port = parts.port
    except ValueError:
        refuse_all_but(_EXAMPLES)
    if parts.scheme not in (*_OF_BUCKETS, *_OF_SERVERS) or not parts.hostname or not parts.path.strip("/"):
        refuse_all_but(_EXAMPLES)
    if parts.username is not None or parts.password is not None:
        refuse_all_but("an address without a password, and fetch.credentials")
    if parts.fragment or (parts.scheme in _OF_BUCKETS and (parts.query or port)):
        refuse_all_but(_EXAMPLES)
    if parts.scheme == "s3" and not is_bucket_name(parts.netloc):
        near = f"s3://{parts.netloc.lower()}{parts.path}" if is_bucket_name(parts.netloc.lower()) else ""
        refuse_all_but(f"the {BUCKET_RULE} after s3://", near)
    if parts.scheme in _OF_SERVERS and not parts.path.endswith(_ARCHIVES):
        refuse_all_but(f"the address of an archive, which ends with {', '.join(_ARCHIVES)}")
    return value


ModelUri = Annotated[Line, AfterValidator(_check_uri)]


def is_archive(uri: str) -> bool:
    """Whether it is one file instead of a folder."""
    return urlsplit(uri).path.endswith(_ARCHIVES)


def is_in_bucket(uri: str) -> bool:
    """Whether it is in a bucket, and not on an HTTP server."""
    return urlsplit(uri).scheme in _OF_BUCKETS


def name_of(uri: str) -> str:
    """The last part of its path, without the ending of an archive."""
    name = PurePosixPath(urlsplit(uri).path).name
    ending = next((ending for ending in _ARCHIVES if name.endswith(ending)), "")
    return name.removesuffix(ending)


def _check_digest(value: str) -> str:
    if not re.fullmatch("[0-9a-f]{64}", value):
        refuse_all_but("64 hexadecimal digits", value.lower() if re.fullmatch("[0-9A-Fa-f]{64}", value) else "")
    return value


def _check_endpoint(value: str) -> str:
    if not re.fullmatch("https?://[^/@?#]+", value):
        refuse_all_but("an address such as https://HOST:PORT")
    return value


class FetchArgs(Model):
    """How a model is fetched from its `uri`."""

    sha256: Annotated[str, AfterValidator(_check_digest)] | None = None
    """SHA-256 of the archive, in hexadecimal; other content is not served. Required with `http`, whose content anybody
    on the way may change."""
    credentials: In[ObjectName] | None = None
    """Secret of the namespace: with `authorization`, the header of https requests, such as `Bearer …`; with
    `AWS_ACCESS_KEY_ID` and `AWS_SECRET_ACCESS_KEY` for s3; with `service-account.json` for gs. By default buckets are
    read with the identity of the pods' service account, which has the server's name."""
    endpoint: Annotated[Line, AfterValidator(_check_endpoint)] | None = None
    """Address of an S3-compatible store; AWS by default."""
    region: Name | None = None
    """Region of an s3 bucket; by default that of the cluster on EKS, otherwise us-east-1."""
    egress: Egress | None = None
    """Destinations that the pods may connect to for it; by default all public addresses, at the port of `uri`."""
