"""A release in the cluster: its state, values and objects, and whether an operation on it is incomplete."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import yaml

from tensorplane.plugins.kubernetes.helm_process import Helm, HelmError

_OWNER_LABEL = "tensorplane.dev/resource"
_NOT_FOUND = "release: not found"


@dataclass(frozen=True)
class Live:
    """A release's newest revision."""

    name: str
    namespace: str
    revision: int
    status: str
    """Helm's status: deployed, failed, pending-install, pending-upgrade, uninstalling, …"""
    chart: str
    version: str
    app_version: str
    values: dict[str, Any]
    """The values given for this revision, without the chart's defaults."""
    manifest: str

    @property
    def is_pending(self) -> bool:
        return self.status.startswith("pending-") or self.status == "uninstalling"

    def status_output(self) -> dict[str, Any]:
        """The `status` output as the Release resource documents it."""
        return {
            "appVersion": self.app_version,
            "chart": self.chart,
            "name": self.name,
            "namespace": self.namespace,
            "revision": self.revision,
            "status": self.status,
            "version": self.version,
        }

    def resource_names(self) -> dict[str, list[str]]:
        """Names of the release's objects by `Kind.group/version`, as the Release resource documents it."""
        names: dict[str, set[str]] = {}
        for obj in objects(self.manifest):
            metadata = obj.get("metadata") or {}
            api_version = str(obj.get("apiVersion", ""))
            group = api_version.rpartition("/")[0]
            kind = f"{obj['kind']}.{group}" if group else str(obj["kind"])
            name = str(metadata.get("name", ""))
            full = f"{metadata['namespace']}/{name}" if metadata.get("namespace") else name
            names.setdefault(f"{kind}/{api_version}", set()).add(full)
        return {key: sorted(found) for key, found in names.items()}


def objects(manifest: str) -> Iterator[dict[str, Any]]:
    """The Kubernetes objects of a manifest; empty documents are skipped."""
    for obj in yaml.load_all(manifest, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
        if isinstance(obj, dict) and obj.get("kind"):
            yield obj


def find(helm: Helm, namespace: str, name: str) -> Live | None:
    """The release, None if it does not exist."""
    arguments = ("--namespace", namespace, "--output", "json", "--", name)
    try:
        status = json.loads(helm.run("status", *arguments))
        metadata = json.loads(helm.run("get", "metadata", *arguments))
    except HelmError as error:
        if _NOT_FOUND in str(error):
            return None
        raise
    return Live(
        name=name,
        namespace=namespace,
        revision=status["version"],
        status=status["info"]["status"],
        chart=metadata["chart"],
        version=metadata["version"],
        app_version=metadata.get("appVersion", ""),
        values=status.get("config") or {},
        manifest=status.get("manifest") or "",
    )


def owner_label(urn: str) -> str:
    """Labels a release as created by this resource of this stack, for a run after a killed one."""
    return f"{_OWNER_LABEL}={hashlib.sha256(urn.encode()).hexdigest()[:32]}"


def is_owned(helm: Helm, namespace: str, name: str, urn: str) -> bool:
    """Whether this resource created the release."""
    answer = helm.run(
        "list", "--all", "--namespace", namespace, "--selector", owner_label(urn), "--filter", f"^{name}$", "-o", "json"
    )
    return bool(json.loads(answer))


def last_deployed(helm: Helm, namespace: str, name: str) -> int | None:
    """The newest revision that was deployed."""
    history = json.loads(helm.run("history", "--namespace", namespace, "--output", "json", "--", name))
    served = [entry["revision"] for entry in history if entry["status"] in ("deployed", "superseded")]
    return max(served, default=None)
