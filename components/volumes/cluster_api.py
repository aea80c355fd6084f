"""The API of a volume's cluster, for hooks that run before it is created or deleted."""

from __future__ import annotations

from pathlib import Path

from tensorplane.core.kube import Kube

_TIMEOUT = 10, 60  # to connect, and to answer: a cluster that no longer exists must not block a deletion


def connect(kubeconfig: str | None, context: str | None) -> Kube:
    """The cluster's API. `kubeconfig`: a path or the content; None uses kubectl's own, with `context`."""
    if not kubeconfig and not context:
        raise RuntimeError("the volume stays: its cluster is not known, and kubectl's own may be another")
    if kubeconfig and kubeconfig.lstrip().startswith(("{", "apiVersion", "clusters")):
        return Kube.of_text(kubeconfig, context, remedy="", timeout=_TIMEOUT)
    return Kube.of(Path(kubeconfig) if kubeconfig else None, context, remedy="", timeout=_TIMEOUT)
