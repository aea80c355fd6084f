"""What of a GKE cluster others build upon: volumes that need resources of their own in Google Cloud."""

from dataclasses import dataclass

import pulumi
import pulumi_gcp as gcp

from components.clusters.gke.network import Network
from components.clusters.gke.settings import GkeSettings


@dataclass(frozen=True)
class Native:
    """A cluster, and where it is."""

    args: GkeSettings
    cluster: gcp.container.Cluster
    provider: gcp.Provider
    """Creates things in the cluster's project."""
    network: Network
    project_number: pulumi.Output[str]
