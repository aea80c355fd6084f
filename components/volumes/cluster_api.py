"""The official client of a cluster, for what the engine asks of it before it makes or deletes a volume."""

from typing import Any


def connected(kubeconfig: str | None, context: str | None) -> Any:
    """The ApiClient of the path or content of a kubeconfig, or of a context of kubectl's."""
    # Loaded where a volume is made or deleted, and nowhere else.
    import yaml
    from kubernetes import config

    if not kubeconfig and not context:
        raise RuntimeError("the volume stays: its cluster is not known, and kubectl's own may be another")
    if kubeconfig and kubeconfig.lstrip().startswith(("{", "apiVersion", "clusters")):
        return config.new_client_from_config_dict(yaml.safe_load(kubeconfig), context=context)
    return config.new_client_from_config(kubeconfig, context)
