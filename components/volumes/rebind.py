"""Binds the recreated claim of a retained volume to the PersistentVolume of its deleted claim."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, cast

import pulumi

from tensorplane.components.base import retained_data
from tensorplane.components.volumes import cluster_api
from tensorplane.components.volumes.backends.embedded import UNMIRRORED
from tensorplane.core.errors import ApiError
from tensorplane.core.kube import JSON_PATCH, Kube

if TYPE_CHECKING:
    from tensorplane.components.clusters.component import Cluster

_CLAIM = "kubernetes:core/v1:PersistentVolumeClaim"
_VOLUMES = "/api/v1/persistentvolumes"
_SECONDS_TO_BE_AVAILABLE = 60
_SECONDS_BETWEEN_LOOKS = 0.2
_FORBIDDEN = 401, 403


def hook(cluster: Cluster) -> pulumi.ResourceHook:
    """The hook that runs before the claim of a retained volume is created."""

    async def before(args: pulumi.ResourceHookArgs) -> None:
        if args.type != _CLAIM:
            # Other resources of a volume may inherit the claim's hooks.
            return
        kubeconfig = await cluster.kubeconfig.future()
        context = getattr(cluster.args, "context", None)
        claim = cast(Mapping[str, Any], args.new_inputs)
        try:
            volume = await asyncio.to_thread(rebind, claim, lambda: cluster_api.connect(kubeconfig, context))
        except RuntimeError:
            raise
        except Exception as error:
            # The provider may reach a cluster that this client does not; a new cluster has no earlier data.
            reason = " ".join(str(error).splitlines()[:2])
            pulumi.log.warn(
                f"volume {args.name}: could not look for a PersistentVolume with its earlier data: {reason}; "
                "see `tensorplane volumes`"
            )
            return
        if volume:
            pulumi.log.info(f"volume {args.name}: reusing PersistentVolume {volume} with its earlier data")

    return pulumi.ResourceHook("bring back what a retained volume held", before)


def rebind(claim: Mapping[str, Any], connect: Callable[[], Kube]) -> str | None:
    """Reserves the released PersistentVolume of an earlier claim of this name. Returns its name; None if there is none.

    Raises RuntimeError if it does not fit the claim. Without permission to list PersistentVolumes, the claim gets a new
    volume.
    """
    metadata = claim["metadata"]
    name = metadata["name"]
    try:
        api = connect()
        if api.get(f"/api/v1/namespaces/{metadata['namespace']}/persistentvolumeclaims/{name}"):
            return None
        volumes = api.items(_VOLUMES)
    except ApiError as error:
        if error.status in _FORBIDDEN:
            return None
        raise
    volume = retained_data.to_reserve(claim, volumes)
    if volume is None:
        return None
    found = str(volume["metadata"]["name"])
    if misfits := list(retained_data.misfits(claim, volume, UNMIRRORED)):
        raise RuntimeError(
            f"volume {name}: PersistentVolume {found} has its earlier data, but {' and '.join(misfits)}; "
            f"declare the volume as it was, or deploy it once with retain: false to start empty"
        )
    api.patch(f"{_VOLUMES}/{found}", retained_data.reserved(claim, volume), JSON_PATCH)
    _until_available(api, found)
    return found


def _until_available(api: Kube, volume: str) -> None:
    """Waits until Kubernetes has processed the reservation; a claim created before would get an empty volume."""
    end = time.monotonic() + _SECONDS_TO_BE_AVAILABLE
    while api.json("GET", f"{_VOLUMES}/{volume}")["status"].get("phase") != "Available":
        if time.monotonic() > end:
            raise RuntimeError(
                f"PersistentVolume {volume} is not Available after {_SECONDS_TO_BE_AVAILABLE} s; see kubectl "
                f"describe pv {volume}"
            )
        time.sleep(_SECONDS_BETWEEN_LOOKS)
