"""Checks of models that pods fetch from a URI."""

from collections.abc import Iterator, Mapping
from urllib.parse import urlsplit

from tensorplane.components.base.problems import Key, Note, Problem
from tensorplane.components.clusters.settings import ClusterArgs
from tensorplane.workloads.family import WorkloadArgs
from tensorplane.workloads.model_server.fetched_model.settings import FetchArgs, is_archive, is_in_bucket
from tensorplane.workloads.model_server.settings import ServedModel, ServerSettings


def find_problems(model: ServedModel, name: str, at: Key, cluster: ClusterArgs) -> Iterator[Problem]:
    """Every problem of one model. `name`: for clients; `at`: the path of its settings."""
    if model.uri is None:
        if model.fetch:
            yield Problem((*at, "fetch"), "is set, but the model has no uri; remove it")
        return
    uri, given = (*at, "uri"), ((*at, "uri"),)
    if name.isdecimal():
        reason = f"the model would have the name {name}, which clients could take for a version"
        yield Problem(uri, f"{reason}; name it with models: {{NAME: {{uri: …}}}}")
    if is_in_bucket(model.uri) and cluster.images.built_here:
        reason = "is in a bucket, but pods of this cluster cannot reach one"
        yield Problem(uri, f"{reason}; use an address inside of the cluster, or a volume", given=(("cluster",),))
    for key, is_set in (("canary", model.canary is not None), ("pin", model.pin is not None)):
        if is_set:
            reason = "requires versions on a volume, but the model comes from a uri"
            yield Problem((*at, key), f"{reason}; set volume and path, or remove it", given=given)
    yield from _fetch(model.uri, model.fetch or FetchArgs(), (*at, "fetch"), given)


def _fetch(uri: str, fetch: FetchArgs, at: Key, given: tuple[Key, ...]) -> Iterator[Problem]:
    scheme = urlsplit(uri).scheme
    if scheme == "http" and fetch.sha256 is None:
        reason = "missing, but http has no TLS, so anybody on the way may change the model; set it, or use https"
        yield Problem((*at, "sha256"), reason, given=given)
    if fetch.sha256 and not is_archive(uri):
        reason = "is set, but uri names a folder, which has no digest; remove it, or name an archive"
        yield Problem((*at, "sha256"), reason, given=given)
    if scheme == "http" and fetch.credentials:
        yield Problem((*at, "credentials"), "would be sent without TLS; remove it, or use https", given=given)
    for key, value in (("endpoint", fetch.endpoint), ("region", fetch.region)):
        if value and scheme != "s3":
            yield Problem((*at, key), f"is set, but uri begins with {scheme}, and not with s3; remove it", given=given)


def notes(workloads: Mapping[Key, WorkloadArgs], cluster: ClusterArgs) -> Iterator[Note]:
    """A note for each address that the pods of the embedded cluster cannot reach."""
    if not cluster.images.built_here:
        return
    for at, server in workloads.items():
        if isinstance(server, ServerSettings):
            yield from _unreachable(server, at)


def _unreachable(server: ServerSettings, at: Key) -> Iterator[Note]:
    for name, model in server.served.items():
        host = urlsplit(model.uri).hostname if model.uri else None
        if host and not _is_inside(host):
            reason = f"pods of the embedded cluster reach no other machines, and {host} is no Service of it"
            yield Note((*at, *server.key_of(name), "uri"), f"{reason}; the pods wait until it answers")


def _is_inside(host: str) -> bool:
    """Whether it may be the name or the address of a Service."""
    return "." not in host or host.endswith((".svc", ".svc.cluster.local")) or host.replace(".", "").isdecimal()
