"""What volumes that create resources in Google Cloud need: attributes of a GKE cluster, and names within its limits."""

from dataclasses import dataclass

import pulumi
import pulumi_gcp as gcp

from tensorplane.components.base.names import shorten
from tensorplane.components.clusters.gke.network import Network
from tensorplane.components.clusters.gke.settings import GkeSettings

_HASHED = 6


def short_name(name: str, limit: int) -> str:
    """The name, shortened with a hash suffix if it exceeds the limit."""
    return shorten(name, limit, _HASHED)


@dataclass(frozen=True)
class Native:
    """A cluster and its location."""

    args: GkeSettings
    cluster: gcp.container.Cluster
    provider: gcp.Provider
    """Provider for the cluster's project."""
    network: Network
    project_number: pulumi.Output[str]
