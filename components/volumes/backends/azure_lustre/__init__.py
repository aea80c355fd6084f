"""Volumes on AKS with high parallel throughput: Azure Managed Lustre, optionally with a blob container."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from tensorplane.components.base.problems import Problem
from tensorplane.components.base.produced import known
from tensorplane.components.base.quantities import GIB_PER_TIB
from tensorplane.components.base.sdk import k8s, pulumi
from tensorplane.components.clusters.aks.addresses import lustre_subnet
from tensorplane.components.clusters.settings import ClusterArgs
from tensorplane.components.volumes import zones
from tensorplane.components.volumes.backend import Request
from tensorplane.components.volumes.backends.azure_lustre.settings import AzureLustreSettings, Blob
from tensorplane.components.volumes.base_settings import VolumeSettings
from tensorplane.components.volumes.clouds import azure_id

if TYPE_CHECKING:
    from tensorplane.components.clusters.component import Cluster
    from tensorplane.components.namespace.component import Namespace


@dataclass(frozen=True)
class _Tier:
    step_tib: int
    """Its sizes are multiples of this."""
    most_tib: int


# learn.microsoft.com/azure/azure-managed-lustre/create-file-system-portal#throughput-configurations
_TIERS: Mapping[int, _Tier] = {40: _Tier(48, 12800), 125: _Tier(16, 4096), 250: _Tier(8, 2048), 500: _Tier(4, 1024)}
# …/amlfs-prerequisites#network-size-requirements: TiB, up to which a subnet of this length is large enough.
_SUBNETS: Mapping[int, int] = {27: 16, 26: 40, 25: 92, 24: 196, 23: 400}


class AzureLustre(AzureLustreSettings):
    """An Azure Managed Lustre file system, in a subnet of its own. Its driver is installed if a volume uses it."""

    kind: Literal["azureLustre"] = "azureLustre"

    def check(self, args: VolumeSettings, cluster: ClusterArgs) -> Iterator[Problem]:
        yield from zones.find_problems(args, cluster, at_most=1)
        yield from self._size(args)
        yield from self._network(args, cluster)
        yield from self._ids()

    def _size(self, args: VolumeSettings) -> Iterator[Problem]:
        if args.size_gib < self.capabilities.min_gib:
            return
        tier, tib = _TIERS[self.mbps_per_tib], args.size_gib / GIB_PER_TIB
        nearest = min(max(1, math.ceil(tib / tier.step_tib)) * tier.step_tib, tier.most_tib)
        if tib != nearest:
            have = f"{tier.step_tib} to {tier.most_tib:,} TiB in steps of {tier.step_tib}"
            reason = f"invalid size {args.size_gib:g} ({tib:g} TiB) at {self.mbps_per_tib} MB/s per TiB; use {have}"
            near = f"(nearest: {nearest * GIB_PER_TIB})"
            yield Problem(("sizeGib",), f"{reason} {near}", given=(("backend", "mbpsPerTib"),))

    def _network(self, args: VolumeSettings, cluster: ClusterArgs) -> Iterator[Problem]:
        if self.subnet:
            yield from azure_id.find_problems(("backend", "subnet"), self.subnet, azure_id.SUBNET)
        elif cluster.existing_network:
            yield Problem(
                ("backend", "subnet"),
                "missing, but the nodes use an existing subnet; set a subnet for Lustre in the same VNet",
            )
        elif cidr := cluster.network_cidr:
            try:
                made = lustre_subnet(cidr)
            except ValueError:
                return  # reported by the cluster's own check
            most = _SUBNETS.get(int(made.rpartition("/")[2]))
            if most and args.size_gib > most * GIB_PER_TIB:
                reason = (
                    f"{args.size_gib:g} GiB exceeds the {most} TiB that fit into {made}, the Lustre subnet of {cidr}"
                )
                yield Problem(
                    ("sizeGib",), f"{reason}; use a larger cluster.network.cidr", given=(("cluster", "network"),)
                )

    def _ids(self) -> Iterator[Problem]:
        if self.blob:
            for key, value in (("container", self.blob.container), ("loggingContainer", self.blob.logging_container)):
                yield from azure_id.find_problems(("backend", "blob", key), value, azure_id.CONTAINER)
            yield from _same_account(self.blob)
        if self.key:
            yield from azure_id.find_problems(("backend", "key", "vault"), self.key.vault, azure_id.VAULT)
            yield from azure_id.find_problems(("backend", "key", "identity"), self.key.identity, azure_id.IDENTITY)

    def install(
        self, cluster: Cluster, namespace: Namespace, volumes: Mapping[str, VolumeSettings]
    ) -> Sequence[pulumi.Resource]:
        # Imported here, because the SDK of Azure is only needed on its own clusters.
        from tensorplane.components.volumes.backends.azure_lustre import lustre

        return lustre.shared(cluster, volumes)

    def provision(self, request: Request, opts: pulumi.ResourceOptions) -> k8s.core.v1.PersistentVolumeClaim:
        from tensorplane.components.volumes.backends.azure_lustre import lustre

        return lustre.claim(self, request, opts)


def _same_account(blob: Blob) -> Iterator[Problem]:
    """Two containers of one account."""
    both = (known(blob.container), known(blob.logging_container))
    one, other = (azure_id.parts(value, azure_id.CONTAINER) if value else None for value in both)
    if one and other and (one[0] != other[0] or one[1] == other[1]):
        reason = (
            f"is container {other[1]} of account {other[0]}; use a container of account {one[0]} other than {one[1]}"
        )
        yield Problem(("backend", "blob", "loggingContainer"), reason, given=(("backend", "blob", "container"),))
