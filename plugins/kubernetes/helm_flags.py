"""Helm's options for a release, according to the documentation of the Release resource's inputs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tensorplane.plugins.kubernetes.helm_inputs import DEFAULT_TIMEOUT_SECONDS

_COMMON = {
    "atomic": "--atomic",
    "dependencyUpdate": "--dependency-update",
    "devel": "--devel",
    "disableOpenapiValidation": "--disable-openapi-validation",
    "renderSubchartNotes": "--render-subchart-notes",
}
_INSTALL = {
    "createNamespace": "--create-namespace",
    "disableWebhooks": "--no-hooks",
    "replace": "--replace",
    "skipCrds": "--skip-crds",
}
_UPGRADE = {
    "cleanupOnFail": "--cleanup-on-fail",
    "createNamespace": "--create-namespace",
    "disableCRDHooks": "--no-hooks",
    "forceUpdate": "--force",
    "recreatePods": "--recreate-pods",
    "skipCrds": "--skip-crds",
}


def install(release: Mapping[str, Any], timeout: float | None) -> list[str]:
    return [*_shared(release, timeout), *_set(release, _INSTALL)]


def upgrade(release: Mapping[str, Any], timeout: float | None) -> list[str]:
    """Also installs a release that was removed meanwhile.

    Without `reuseValues` the values are exactly the given ones. By default, helm would keep the old ones if none are
    given.
    """
    reuse = release["reuseValues"] and not release["resetValues"]
    history = ["--history-max", str(int(release.get("maxHistory") or 0))]
    values = "--reuse-values" if reuse else "--reset-values"
    return ["--install", *_shared(release, timeout), *_set(release, _UPGRADE), *history, values]


def uninstall(release: Mapping[str, Any], timeout: float | None) -> list[str]:
    """Waits until the objects are deleted, unless the release was not awaited either."""
    if release.get("skipAwait") and not release.get("atomic"):
        return []
    return ["--wait", *_timeout(release, timeout)]


def _shared(release: Mapping[str, Any], timeout: float | None) -> list[str]:
    flags = _set(release, _COMMON) + _timeout(release, timeout)
    if not release["skipAwait"]:
        flags += ["--wait"] + (["--wait-for-jobs"] if release["waitForJobs"] else [])
    if release["description"]:
        flags += ["--description", release["description"]]
    if release["postrender"]:
        flags += ["--post-renderer", release["postrender"]]
    return flags


def _set(release: Mapping[str, Any], flags: Mapping[str, str]) -> list[str]:
    return [flag for field, flag in flags.items() if release[field]]


def _timeout(release: Mapping[str, Any], timeout: float | None) -> list[str]:
    return ["--timeout", f"{int(timeout or release.get('timeout') or DEFAULT_TIMEOUT_SECONDS)}s"]
