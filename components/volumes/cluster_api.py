"""The Kubernetes client for hooks that run before a volume is created or deleted."""

from typing import Any

import yaml

from core import kubernetes_client


def connected(kubeconfig: str | None, context: str | None) -> Any:
    """An ApiClient. `kubeconfig`: a path or the content; None uses kubectl's own, with `context`."""
    if not kubeconfig and not context:
        raise RuntimeError("the volume stays: its cluster is not known, and kubectl's own may be another")
    if kubeconfig and kubeconfig.lstrip().startswith(("{", "apiVersion", "clusters")):
        return kubernetes_client.of_content(yaml.safe_load(kubeconfig), context)
    return kubernetes_client.of_file(kubeconfig, context)
