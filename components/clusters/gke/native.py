"""Attributes of a GKE cluster for volumes that create resources in Google Cloud."""

from dataclasses import dataclass

import pulumi
import pulumi_gcp as gcp

from components.clusters.gke.network import Network
from components.clusters.gke.settings import GkeSettings


@dataclass(frozen=True)
class Native:
    """A cluster and its location."""

    args: GkeSettings
    cluster: gcp.container.Cluster
    provider: gcp.Provider
    """Provider for the cluster's project."""
    network: Network
    project_number: pulumi.Output[str]
