"""Binds the recreated claim of a retained volume to the PersistentVolume of its deleted claim."""

import asyncio
import json
import time
from collections.abc import Callable, Mapping
from typing import Any, cast

import pulumi

from components.base import retained_data
from components.clusters.component import Cluster
from components.volumes import cluster_api
from components.volumes.backends.embedded import UNMIRRORED

_CLAIM = "kubernetes:core/v1:PersistentVolumeClaim"
_SECONDS = 10, 60  # to connect, and to answer
_SECONDS_TO_BE_AVAILABLE = 60
_SECONDS_BETWEEN_LOOKS = 0.2
_FORBIDDEN, _NOT_FOUND = (401, 403), 404


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
            volume = await asyncio.to_thread(lambda: rebind(claim, lambda: _core(kubeconfig, context)))
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


def _core(kubeconfig: str | None, context: str | None) -> Any:
    from kubernetes import client

    return client.CoreV1Api(cluster_api.connected(kubeconfig, context))


def rebind(claim: Mapping[str, Any], reach: Callable[[], Any]) -> str | None:
    """Reserve the released PersistentVolume of an earlier claim of this name. Returns its name; None if there is none.

    Raises RuntimeError if it does not fit the claim. Without permission to list PersistentVolumes, the claim gets a new
    volume.
    """
    from kubernetes import client

    name = claim["metadata"]["name"]
    try:
        core = reach()
        if _is_there(core, claim):
            return None
        listed = json.loads(core.list_persistent_volume(_preload_content=False, _request_timeout=_SECONDS).data)
    except client.ApiException as error:
        if error.status in _FORBIDDEN:
            return None
        raise
    volume = retained_data.to_reserve(claim, listed["items"])
    if volume is None:
        return None
    found = str(volume["metadata"]["name"])
    if wrong := list(retained_data.misfits(claim, volume, UNMIRRORED)):
        raise RuntimeError(
            f"volume {name}: PersistentVolume {found} has its earlier data, but {' and '.join(wrong)}; "
            f"declare the volume as it was, or deploy it once with retain: false to start empty"
        )
    core.patch_persistent_volume(found, retained_data.reserved(claim, volume), _request_timeout=_SECONDS)
    _until_available(core, found)
    return found


def _is_there(core: Any, claim: Mapping[str, Any]) -> bool:
    from kubernetes import client

    about = claim["metadata"]
    try:
        core.read_namespaced_persistent_volume_claim(about["name"], about["namespace"], _request_timeout=_SECONDS)
    except client.ApiException as error:
        if error.status == _NOT_FOUND:
            return False
        raise
    return True


def _until_available(core: Any, volume: str) -> None:
    """Wait until Kubernetes has processed the reservation; a claim created before would get an empty volume."""
    end = time.monotonic() + _SECONDS_TO_BE_AVAILABLE
    while core.read_persistent_volume(volume, _request_timeout=_SECONDS).status.phase != "Available":
        if time.monotonic() > end:
            raise RuntimeError(
                f"PersistentVolume {volume} is not Available after {_SECONDS_TO_BE_AVAILABLE} s; see kubectl "
                f"describe pv {volume}"
            )
        time.sleep(_SECONDS_BETWEEN_LOOKS)
