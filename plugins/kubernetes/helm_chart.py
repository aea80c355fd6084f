"""A release's chart: where it is, helm's arguments for it, and its metadata."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import json
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlparse

import yaml

from tensorplane.plugins.kubernetes.helm_process import Helm, HelmError, private_file
from tensorplane.stack_file import dumping

_OCI = "oci://"
_REPOSITORY = "tensorplane"  # name of a repository that exists only for one run


@dataclass(frozen=True)
class Chart:
    """A chart as helm's arguments: its reference and its options."""

    reference: str
    options: tuple[str, ...]
    descriptors: tuple[int, ...] = ()


@contextlib.contextmanager
def located(helm: Helm, release: Mapping[str, Any]) -> Iterator[Chart]:
    """The chart of a release, with its repository's credentials in private files for as long as the block runs."""
    path = local_path(release)
    options = _options(release)
    if path is not None:
        yield Chart(str(path), options)
        return
    name, repository = str(release["chart"]).strip(), release.get("repositoryOpts") or {}
    url = repository.get("repo") or ""
    has_credentials = bool(repository.get("username") and repository.get("password"))
    if name.startswith(_OCI) or not url:
        login = _registry_login(name, repository) if has_credentials else None
        with private_file(json.dumps(login)) if login else contextlib.nullcontext(None) as file:
            extra: tuple[str, ...] = ("--registry-config", file[0]) if file else ()
            yield Chart(name, (*options, *extra), (file[1],) if file else ())
    elif "://" not in url:
        yield Chart(name if "/" in name else f"{url}/{name}", options)
    elif not has_credentials:
        yield Chart(name, (*options, "--repo", url))
    else:
        with _private_repository(helm, url, repository) as (extra, descriptor):
            yield Chart(f"{_REPOSITORY}/{name}", (*options, *extra), (descriptor,))


def local_path(release: Mapping[str, Any]) -> Path | None:
    """The chart's folder or archive on this machine; None if it must be fetched."""
    name = str(release["chart"]).strip()
    repository = (release.get("repositoryOpts") or {}).get("repo") or ""
    if name.startswith(_OCI) or "://" in repository:
        return None
    path = Path(f"{repository}/{name}" if repository and "/" not in name else name)
    if path.is_file() or (path / "Chart.yaml").is_file():
        return path.absolute()
    if path.is_absolute() or name.startswith("."):
        raise HelmError(f'path "{name}" not found')
    return None


def version(helm: Helm, release: Mapping[str, Any]) -> str:
    """The exact version that the chart's constraint selects."""
    with located(helm, release) as chart:
        arguments = ("show", "chart", *chart.options, "--", chart.reference)
        text = helm.run(*arguments, descriptors=chart.descriptors, in_cluster=False)
    return str(yaml.safe_load(text)["version"])


def checksum(release: Mapping[str, Any]) -> str:
    """The hash of a local chart, so that its changes are updates without a new version. Empty for a fetched chart.

    Files that `dependencyUpdate` writes into the chart's folder are left out.
    """
    path = local_path(release)
    if path is None:
        return ""
    digest = hashlib.sha256()
    for file in [path] if path.is_file() else sorted(found for found in path.rglob("*") if found.is_file()):
        relative = file.relative_to(path) if file != path else Path(path.name)
        if release["dependencyUpdate"] and (relative.parts[0] == "charts" or str(relative) == "Chart.lock"):
            continue
        content = file.read_bytes()
        digest.update(f"{relative}\0{len(content)}\0".encode() + content)
    return digest.hexdigest()


def _options(release: Mapping[str, Any]) -> tuple[str, ...]:
    wanted = str(release["version"]).strip() or (">0.0.0-0" if release["devel"] else "")
    options = ["--version", wanted] if wanted else []
    if release["verify"]:
        options += ["--verify", "--keyring", release["keyring"]]
    repository = release.get("repositoryOpts") or {}
    for field, option in {"caFile": "--ca-file", "certFile": "--cert-file", "keyFile": "--key-file"}.items():
        if repository.get(field):
            options += [option, repository[field]]
    return tuple(options)


def _registry_login(reference: str, repository: Mapping[str, Any]) -> dict[str, Any]:
    """The credentials that `helm registry login` would store, in the format of Docker's config.json."""
    pair = f"{repository['username']}:{repository['password']}"
    return {"auths": {urlparse(reference).netloc: {"auth": base64.b64encode(pair.encode()).decode()}}}


@contextlib.contextmanager
def _private_repository(helm: Helm, url: str, repository: Mapping[str, Any]) -> Iterator[tuple[tuple[str, ...], int]]:
    """A repository with credentials: as options, they would be visible in the process list."""
    names = ("caFile", "certFile", "keyFile", "username", "password")
    entry = {"name": _REPOSITORY, "url": url} | {name: repository[name] for name in names if repository.get(name)}
    with (
        tempfile.TemporaryDirectory(prefix="tensorplane-") as cache,  # the index; nothing secret
        private_file(dumping.dumped({"apiVersion": "v1", "repositories": [entry]})) as (path, descriptor),
    ):
        options = ("--repository-config", path, "--repository-cache", cache)
        arguments = ("repo", "update", "--fail-on-repo-update-fail", _REPOSITORY, *options)
        try:
            helm.run(*arguments, descriptors=(descriptor,), in_cluster=False)
        except HelmError as error:
            # Helm prints the cause, indented, before a final line without it.
            causes = [line.strip() for line in error.output.splitlines() if line.startswith("\t")]
            raise HelmError("; ".join(causes) or str(error)) from None
        yield options, descriptor
