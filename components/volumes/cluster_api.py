"""The Kubernetes client for hooks that run before a volume is created or deleted."""

from typing import Any


def connected(kubeconfig: str | None, context: str | None) -> Any:
    """An ApiClient. `kubeconfig`: a path or the content; None uses kubectl's own, with `context`."""
    # Imported only where a volume is created or deleted.
    import yaml
    from kubernetes import config

    if not kubeconfig and not context:
        raise RuntimeError("the volume stays: its cluster is not known, and kubectl's own may be another")
    if kubeconfig and kubeconfig.lstrip().startswith(("{", "apiVersion", "clusters")):
        return config.new_client_from_config_dict(yaml.safe_load(kubeconfig), context=context)
    return config.new_client_from_config(kubeconfig, context)
