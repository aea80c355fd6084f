"""Why a release's objects are not ready: helm itself only reports a timeout."""

from __future__ import annotations

from collections.abc import Callable

from tensorplane.core.errors import ApiError
from tensorplane.core.gvk import GVK
from tensorplane.core.kube_objects import Objects
from tensorplane.plugins.kubernetes import await_reasons
from tensorplane.plugins.kubernetes.await_ready import unready_reasons
from tensorplane.plugins.kubernetes.helm_live import Live, objects

_TELLING = {"Deployment", "StatefulSet", "DaemonSet", "Job", "Pod"}


def reasons(api: Callable[[], Objects], live: Live) -> list[str]:
    """The unready workloads' reasons, without repetition; empty if the cluster does not answer."""
    found: list[str] = []
    for obj in objects(live.manifest):
        if obj["kind"] in _TELLING:
            found += _of(api(), obj, live.namespace)
    return await_reasons.gather(found, [], [])


def _of(api: Objects, obj: dict[str, object], default_namespace: str) -> list[str]:
    gvk = GVK.of(obj)
    metadata = obj["metadata"]
    assert isinstance(metadata, dict)  # noqa: S101 - helm has just sent it to the API server
    namespace = metadata.get("namespace") or default_namespace
    try:
        current = api.get(gvk, metadata["name"], namespace)
        return [f"{gvk.kind} {metadata['name']}: {reason}" for reason in unready_reasons(api, current)]
    except ApiError:
        return []
