"""The connection to a created cluster."""

from dataclasses import dataclass
from typing import Any

import pulumi
import pulumi_kubernetes as k8s


@dataclass(frozen=True)
class Connection:
    """The connection to a created cluster."""

    provider: "k8s.Provider"
    kubeconfig: pulumi.Output[str | None]
    native: Any = None


def cluster_provider(
    name: str,
    kubeconfig: pulumi.Input[str | None],
    cluster: pulumi.Input[str] | None,
    opts: pulumi.ResourceOptions,
    *,
    context: str | None = None,
) -> "k8s.Provider":
    """The provider of all objects in a cluster. `cluster`: what identifies it, so that a changed kubeconfig, token or
    certificate replaces nothing."""
    return k8s.Provider(
        name,
        kubeconfig=kubeconfig,
        context=context,
        cluster_identifier=cluster,
        # Immutable ConfigMaps are named by their content; others are there to be changed in place.
        enable_config_map_mutable=True,
        # `make up REFRESH=1` sets its variable, which the plugin reads as well. How one update writes is not state.
        opts=pulumi.ResourceOptions.merge(opts, pulumi.ResourceOptions(ignore_changes=["enablePatchForce"])),
    )
