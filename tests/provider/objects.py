"""Objects that tests of the provider declare."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tensorplane.plugins.kubernetes.values import Properties

CONTAINER = {"name": "main", "image": "none:1"}
NO_AWAIT = {"pulumi.com/skipAwait": "true"}


def config_map(
    namespace: str, data: Mapping[str, Any] | None = None, name: str = "settings", **metadata: Any
) -> Properties:
    """A ConfigMap, without `data` where none is given."""
    meta = {"name": name, "namespace": namespace, **metadata}
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": meta,
        **({} if data is None else {"data": dict(data)}),
    }


def never_ready(namespace: str, **annotations: str) -> Properties:
    """A pod that is never ready, because nothing runs pods here."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "never", "namespace": namespace, "annotations": annotations},
        "spec": {"containers": [CONTAINER], "terminationGracePeriodSeconds": 0},
    }


def workload(kind: str, namespace: str, **spec: Any) -> Properties:
    """A Deployment, StatefulSet or DaemonSet of two pods; a field that is None is left out."""
    labels = {"app": "web"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [dict(CONTAINER)]}}
    full = {"replicas": 2, "selector": {"matchLabels": labels}, "template": template} | spec
    return {
        "apiVersion": "apps/v1",
        "kind": kind,
        "metadata": {"name": "web", "namespace": namespace},
        "spec": {key: value for key, value in full.items() if value is not None},
    }
