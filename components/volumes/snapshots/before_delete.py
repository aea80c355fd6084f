"""Takes a snapshot before a volume is deleted or replaced; the deletion waits until it is ready."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal, cast

import pulumi

from tensorplane.agents.snapshots import manifest
from tensorplane.components.clusters.settings import ClusterArgs
from tensorplane.components.volumes import cluster_api
from tensorplane.components.volumes.backend import Backend
from tensorplane.components.volumes.snapshots.snapshot_class import SnapshotClass
from tensorplane.core.errors import ApiError
from tensorplane.core.kube import Kube

if TYPE_CHECKING:
    from tensorplane.components.clusters.component import Cluster

_PREFIX = "tensorplane-before-change"
_CLASSES_PATH = f"/apis/{manifest.API_GROUP}/v1/volumesnapshotclasses"
_IS_DEFAULT = "snapshot.storage.kubernetes.io/is-default-class"
# CSI's error for a volume that the driver does not find. Some drivers also use it for other errors.
_NOT_FOUND = "code = NotFound"

Progress = Literal["waiting", "ready", "not_found"]


def connect(kubeconfig: str | None, context: str | None) -> SnapshotApi:
    """The snapshot API of a cluster. `kubeconfig`: a path or the content; None uses kubectl's own, with `context`."""
    return SnapshotApi(cluster_api.connect(kubeconfig, context))


class SnapshotApi:
    """Volumes and snapshots of a cluster, read and written with the rights of the deploying user."""

    def __init__(self, api: Kube) -> None:
        self._api = api

    def driver_of(self, namespace: str, claim: str, uid: str | None) -> str | None:
        """The CSI driver of the claim's volume; empty if it has none, None if there is no data to save."""
        found = self._api.get(f"/api/v1/namespaces/{namespace}/persistentvolumeclaims/{claim}")
        if found is None or found["status"].get("phase") != "Bound":
            return None
        if uid is not None and found["metadata"]["uid"] != uid:
            raise RuntimeError(
                f"volume {claim} is not deleted: its claim was recreated outside Pulumi; check it, then run "
                f"pulumi refresh"
            )
        volume = self._api.get(f"/api/v1/persistentvolumes/{found['spec']['volumeName']}")
        if volume is None:
            return None
        csi = volume["spec"].get("csi")
        return cast(str, csi["driver"]) if csi else ""

    def take(self, namespace: str, name: str, claim: str, driver: str) -> bool:
        """Creates a VolumeSnapshot with deletion policy Retain; False if the cluster has no VolumeSnapshot API."""
        classes = self._api.get(_CLASSES_PATH)
        if classes is None:
            return False
        snapshot_class = class_that_retains(driver, namespace, classes["items"])
        try:
            self._api.create(_CLASSES_PATH, snapshot_class)
        except ApiError as error:
            if not error.exists:
                raise
        class_name = snapshot_class["metadata"]["name"]
        snapshot = manifest.snapshot(name, claim, class_name, manifest.BEFORE_CHANGE, managed_by="pulumi")
        self._api.create(_snapshots_path(namespace), snapshot)
        return True

    def progress(self, namespace: str, name: str) -> Progress:
        """Whether the snapshot is ready, or the driver does not find the volume."""
        found = self._api.json("GET", f"{_snapshots_path(namespace)}/{name}")
        status = found.get("status") or {}
        if status.get("readyToUse"):
            return "ready"
        return "not_found" if _NOT_FOUND in ((status.get("error") or {}).get("message") or "") else "waiting"

    def delete(self, namespace: str, name: str) -> None:
        """Deletes the snapshot, because Kubernetes keeps the claim while it is pending."""
        self._api.delete(f"{_snapshots_path(namespace)}/{name}")


def _snapshots_path(namespace: str) -> str:
    return f"/apis/{manifest.API_GROUP}/v1/namespaces/{namespace}/volumesnapshots"


def class_that_retains(driver: str, namespace: str, present: list[dict[str, Any]]) -> dict[str, Any]:
    """A VolumeSnapshotClass with policy Retain that belongs to no stack, with the parameters of an existing class."""
    usable = sorted(
        (found for found in present if found["driver"] == driver), key=lambda found: _sort_key(found, namespace)
    )
    # If settings decide the parameters, the cluster has a class that was created from them.
    default_parameters: Mapping[str, str] = getattr(backend_of(driver), "snapshot_parameters", {})
    parameters = usable[0].get("parameters") or {} if usable else default_parameters
    snapshot_class = SnapshotClass(driver, tuple(sorted(parameters.items())))
    return {
        "apiVersion": f"{manifest.API_GROUP}/v1",
        "kind": "VolumeSnapshotClass",
        "metadata": {"name": snapshot_class.name(_PREFIX), "labels": {**manifest.PART_OF_LABELS}},
        "driver": driver,
        "deletionPolicy": "Retain",
        **({"parameters": dict(parameters)} if parameters else {}),
    }


def _sort_key(snapshot_class: dict[str, Any], namespace: str) -> tuple[bool, bool, str]:
    """The stack's own first, then the cluster's default."""
    metadata = snapshot_class["metadata"]
    default = (metadata.get("annotations") or {}).get(_IS_DEFAULT) == "true"
    return not metadata["name"].startswith(f"{namespace}-"), not default, metadata["name"]


def backend_of(driver: str) -> Backend | None:
    """The backend of this driver, without settings; None for an unknown driver."""
    backends = (cast(Backend, variant.model_construct()) for variant in Backend.variants.values())
    return next((backend for backend in backends if getattr(backend, "csi_driver", None) == driver), None)


_POLL_SECONDS = 1.0
_TIMEOUT_SECONDS = 3600


def hook(cluster: Cluster) -> pulumi.ResourceHook:
    """The hook that runs before a claim is deleted.

    Every run registers it, even if no declared volume has it, because the deleted volume may no longer be declared. Its
    name includes the cluster, so that a stack with another cluster cannot delete a claim that it cannot reach.
    """

    async def before(args: pulumi.ResourceHookArgs) -> None:
        # Outputs of a cluster in a cloud are known here, because the claim was in it.
        kubeconfig = await cluster.kubeconfig.future()
        context = getattr(cluster.args, "context", None)
        await _take_with_remedy(lambda: connect(kubeconfig, context), args)

    return pulumi.ResourceHook(f"snapshot before a volume of {_name_of(cluster.args)} is deleted", before)


def _name_of(cluster: ClusterArgs) -> str:
    context = getattr(cluster, "context", None)
    return f"cluster {context}" if context else f"the {cluster.kind} cluster"


async def _take_with_remedy(connect_api: Callable[[], SnapshotApi], args: pulumi.ResourceHookArgs) -> None:
    """Adds the remedy if the cluster cannot be reached."""
    try:
        await _take_and_wait(await asyncio.to_thread(connect_api), args)
    except RuntimeError:
        raise
    except Exception as error:
        reason = " ".join(str(error).splitlines()[:2])
        raise RuntimeError(
            f"volume {args.name} is not deleted: its snapshot failed: {reason}. {_remedy_without_snapshot(args)}"
        ) from None


def _remedy_without_snapshot(args: pulumi.ResourceHookArgs) -> str:
    namespace, _, claim = args.id.rpartition("/")
    return (
        f"To delete it without a snapshot: pulumi state delete '{args.urn}'; kubectl -n {namespace} delete pvc {claim}"
    )


async def _take_and_wait(api: SnapshotApi, args: pulumi.ResourceHookArgs) -> None:
    """Returns once the snapshot is ready, or if the volume has no data that one could save."""
    namespace, _, claim = args.id.rpartition("/")
    driver = await asyncio.to_thread(api.driver_of, namespace, claim, _uid(args.old_outputs))
    if driver is None:
        return
    backend = backend_of(driver)
    if backend and not backend.snapshots_outlive_volume:
        pulumi.log.warn(
            f"volume {claim} is deleted without a snapshot: its snapshots are part of the share and would be "
            f"deleted with it"
        )
        return
    if not driver:
        raise RuntimeError(
            f"volume {claim} is not deleted: it has no CSI driver that can take a snapshot. "
            f"{_remedy_without_snapshot(args)}"
        )
    name = manifest.snapshot_name(claim, datetime.now(UTC), manifest.BEFORE_CHANGE)
    if not await asyncio.to_thread(api.take, namespace, name, claim, driver):
        raise RuntimeError(
            f"volume {claim} is not deleted: the cluster does not have the VolumeSnapshot API. "
            f"{_remedy_without_snapshot(args)}"
        )
    deadline = time.monotonic() + _TIMEOUT_SECONDS
    while (progress := await asyncio.to_thread(api.progress, namespace, name)) != "ready":
        if progress == "not_found" and backend and backend.not_found_means_lost:
            await asyncio.to_thread(api.delete, namespace, name)
            pulumi.log.warn(f"volume {claim} is deleted without a snapshot: its driver no longer finds it")
            return
        if time.monotonic() > deadline:
            command = f"kubectl -n {namespace} describe volumesnapshot {name}"
            raise RuntimeError(
                f"volume {claim} is not deleted: its snapshot {name} is not ready after an hour; see {command}. "
                f"{_remedy_without_snapshot(args)}"
            )
        await asyncio.sleep(_POLL_SECONDS)
    pulumi.log.info(f"snapshot {name} has the data of volume {claim}")


def _uid(outputs: Mapping[str, Any] | None) -> str | None:
    return cast(str | None, ((outputs or {}).get("metadata") or {}).get("uid"))
