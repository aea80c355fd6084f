"""A resource group for the data of one backend, so that deleting the cluster's group keeps the data."""

from collections.abc import Iterable, Sequence

import pulumi
from pulumi_azure_native import resources

from tensorplane.components.clusters.aks.context import Context, tags
from tensorplane.components.clusters.aks.native import short_name
from tensorplane.components.volumes.base_settings import VolumeSettings

_NAME = 82
"""Characters of a name: Azure allows 90, and Pulumi adds a suffix of 8."""


def retained(volumes: Iterable[VolumeSettings]) -> bool:
    """Whether any of these volumes is retained, and so what they share."""
    return any(args.retain for args in volumes)


def made(
    context: Context, kind: str, *, protect: bool, leave: bool, region: str | None = None
) -> resources.ResourceGroup:
    """The group. `leave`: Pulumi never deletes it, because it has resources outside of its state, such as snapshots."""
    # Pulumi's suffix keeps the name unique if an earlier group was left.
    return resources.ResourceGroup(
        short_name(f"{context.args.cluster_name}-{kind.lower()}", _NAME),
        location=region or context.args.region,
        tags=tags(context.args),
        opts=pulumi.ResourceOptions.merge(
            context.opts, pulumi.ResourceOptions(protect=protect, retain_on_delete=leave)
        ),
    )


def among(installed: Sequence[pulumi.Resource]) -> resources.ResourceGroup:
    """The group among the shared resources of a backend."""
    return next(found for found in installed if isinstance(found, resources.ResourceGroup))
