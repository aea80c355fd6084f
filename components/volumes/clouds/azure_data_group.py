"""A resource group for the data of one kind of volumes: whoever deletes the cluster's group leaves it alone."""

from collections.abc import Iterable, Sequence

import pulumi
from pulumi_azure_native import resources

from components.clusters.aks.context import Context, tags
from components.clusters.aks.names import short
from components.volumes.base_settings import VolumeSettings

_NAME = 82
"""Of the 90 characters that Azure takes, so that Pulumi's eight at random have room."""


def retained(volumes: Iterable[VolumeSettings]) -> bool:
    """Whether one of these volumes must not be deleted, nor what they share."""
    return any(args.retain for args in volumes)


def made(
    context: Context, kind: str, *, protect: bool, leave: bool, region: str | None = None
) -> resources.ResourceGroup:
    """The group. `leave` leaves it in Azure whatever happens, with what Pulumi knows nothing of, such as snapshots."""
    # Azure's name has eight characters more: a group that was left is in nobody's way.
    return resources.ResourceGroup(
        short(f"{context.args.cluster_name}-{kind.lower()}", _NAME),
        location=region or context.args.region,
        tags=tags(context.args),
        opts=pulumi.ResourceOptions.merge(
            context.opts, pulumi.ResourceOptions(protect=protect, retain_on_delete=leave)
        ),
    )


def among(installed: Sequence[pulumi.Resource]) -> resources.ResourceGroup:
    """The group among what the volumes of a kind share."""
    return next(found for found in installed if isinstance(found, resources.ResourceGroup))
