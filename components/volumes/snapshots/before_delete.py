"""Takes a snapshot before a volume is deleted or replaced; the deletion waits until it is ready."""

import asyncio
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, cast

import pulumi

from agents.snapshots import manifest
from components.clusters.component import Cluster
from components.clusters.settings import ClusterArgs
from components.volumes.snapshots import cluster_snapshots
from components.volumes.snapshots.cluster_snapshots import Snapshots

_SECONDS_BETWEEN_LOOKS = 1.0
_SECONDS_FOR_A_SNAPSHOT = 3600


def hook(cluster: Cluster) -> pulumi.ResourceHook:
    """The hook that runs before a claim is deleted.

    Every run registers it, even if no declared volume has it, because the deleted volume may no longer be declared. Its
    name includes the cluster, so that a stack with another cluster cannot delete a claim that it cannot reach.
    """

    async def before(args: pulumi.ResourceHookArgs) -> None:
        # Outputs of a cluster in a cloud are known here, because the claim was in it.
        kubeconfig = await cluster.kubeconfig.future()
        context = getattr(cluster.args, "context", None)
        await _guarded(lambda: cluster_snapshots.of(kubeconfig, context), args)

    return pulumi.ResourceHook(f"snapshot before a volume of {_name_of(cluster.args)} is deleted", before)


def _name_of(cluster: ClusterArgs) -> str:
    context = getattr(cluster, "context", None)
    return f"cluster {context}" if context else f"the {cluster.kind} cluster"


async def _guarded(reach: Callable[[], Snapshots], args: pulumi.ResourceHookArgs) -> None:
    """Adds the remedy if the cluster cannot be reached."""
    try:
        await _save(await asyncio.to_thread(reach), args)
    except RuntimeError:
        raise
    except Exception as error:
        reason = " ".join(str(error).splitlines()[:2])
        raise RuntimeError(
            f"volume {args.name} is not deleted: its snapshot failed: {reason}. {_without(args)}"
        ) from None


def _without(args: pulumi.ResourceHookArgs) -> str:
    namespace, _, claim = args.id.rpartition("/")
    return (
        f"To delete it without a snapshot: pulumi state delete '{args.urn}'; kubectl -n {namespace} delete pvc {claim}"
    )


async def _save(snapshots: Snapshots, args: pulumi.ResourceHookArgs) -> None:
    namespace, _, claim = args.id.rpartition("/")
    driver = await asyncio.to_thread(snapshots.driver_of, namespace, claim, _uid(args.old_outputs))
    if driver is None:
        return
    backend = cluster_snapshots.backend_of(driver)
    if backend and not backend.snapshots_outlive_volume:
        pulumi.log.warn(
            f"volume {claim} is deleted without a snapshot: its snapshots are part of the share and would be "
            f"deleted with it"
        )
        return
    if not driver:
        raise RuntimeError(
            f"volume {claim} is not deleted: it has no CSI driver that can take a snapshot. {_without(args)}"
        )
    name = manifest.name_of(claim, datetime.now(UTC), manifest.BEFORE_CHANGE)
    if not await asyncio.to_thread(snapshots.take, namespace, name, claim, driver):
        raise RuntimeError(
            f"volume {claim} is not deleted: the cluster does not have the VolumeSnapshot API. {_without(args)}"
        )
    end = time.monotonic() + _SECONDS_FOR_A_SNAPSHOT
    while (progress := await asyncio.to_thread(snapshots.progress, namespace, name)) != "ready":
        if progress == "lost" and backend and backend.not_found_means_lost:
            await asyncio.to_thread(snapshots.give_up, namespace, name)
            pulumi.log.warn(f"volume {claim} is deleted without a snapshot: its driver no longer finds it")
            return
        if time.monotonic() > end:
            look = f"kubectl -n {namespace} describe volumesnapshot {name}"
            raise RuntimeError(
                f"volume {claim} is not deleted: its snapshot {name} is not ready after an hour; see {look}. "
                f"{_without(args)}"
            )
        await asyncio.sleep(_SECONDS_BETWEEN_LOOKS)
    pulumi.log.info(f"snapshot {name} has the data of volume {claim}")


def _uid(outputs: Mapping[str, Any] | None) -> str | None:
    return cast(str | None, ((outputs or {}).get("metadata") or {}).get("uid"))
