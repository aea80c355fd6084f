"""A StorageClass with ReadWriteMany: Filestore in the cluster's own network."""

from __future__ import annotations

import pulumi
import pulumi_kubernetes as k8s

from tensorplane.components.clusters.gke.settings import GkeSettings

CLASS = "tensorplane-files"


def storage_class(args: GkeSettings, provider: k8s.Provider, opts: pulumi.ResourceOptions) -> None:
    """The class, if the network is the cluster's own. GKE's (standard-rwx) use the network `default`."""
    if args.network.existing:
        # For an existing network, it is unknown how Filestore connects to it.
        return
    k8s.storage.v1.StorageClass(
        CLASS,
        metadata={"name": CLASS},
        provisioner="filestore.csi.storage.gke.io",
        parameters={"tier": "standard", "network": args.cluster_name},
        # In the zone of the first pod; pods in other zones can mount it, too.
        volume_binding_mode="WaitForFirstConsumer",
        allow_volume_expansion=True,
        reclaim_policy="Delete",
        opts=pulumi.ResourceOptions.merge(opts, pulumi.ResourceOptions(provider=provider)),
    )
