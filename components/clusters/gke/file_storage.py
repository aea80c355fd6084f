"""A class of volumes that several nodes write to at once: Filestore, in the cluster's own network."""

import pulumi
import pulumi_kubernetes as k8s

from components.clusters.gke.settings import GkeSettings

CLASS = "tensorplane-files"


def storage_class(args: GkeSettings, provider: k8s.Provider, opts: pulumi.ResourceOptions) -> None:
    """The class, where the network is the cluster's own. GKE's (standard-rwx) are all in the network `default`."""
    if args.network.existing:
        # Of a network of yours, only you know whether Filestore may peer with it, or has an access point in it.
        return
    k8s.storage.v1.StorageClass(
        CLASS,
        metadata={"name": CLASS},
        provisioner="filestore.csi.storage.gke.io",
        parameters={"tier": "standard", "network": args.cluster_name},
        # The first pod decides on the zone; pods of other zones reach the volume as well.
        volume_binding_mode="WaitForFirstConsumer",
        allow_volume_expansion=True,
        reclaim_policy="Delete",
        opts=pulumi.ResourceOptions.merge(opts, pulumi.ResourceOptions(provider=provider)),
    )
