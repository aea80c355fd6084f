"""Kubernetes API requests for the snapshot before a deletion, with the rights of the deploying user."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, cast

from agents.snapshots import manifest
from components.volumes import cluster_api
from components.volumes.backend import Backend
from components.volumes.snapshots.snapshot_class import SnapshotClass
from core.errors import ApiError
from core.kube import Kube

_PREFIX = "tensorplane-before-change"
_CLASSES = f"/apis/{manifest.GROUP}/v1/volumesnapshotclasses"
_IS_DEFAULT = "snapshot.storage.kubernetes.io/is-default-class"
# CSI's error for a volume that the driver does not find. Some drivers also use it for other errors.
_LOST = "code = NotFound"

Progress = Literal["waiting", "ready", "lost"]


def of(kubeconfig: str | None, context: str | None) -> Snapshots:
    """The snapshots of a cluster. `kubeconfig`: a path or the content; None uses kubectl's own, with `context`."""
    return Snapshots(cluster_api.connected(kubeconfig, context))


class Snapshots:
    """Volumes and snapshots of a cluster."""

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
        """Create a VolumeSnapshot with deletion policy Retain; False if the cluster has no VolumeSnapshot API."""
        classes = self._api.get(_CLASSES)
        if classes is None:
            return False
        wanted = class_that_retains(driver, namespace, classes["items"])
        try:
            self._api.create(_CLASSES, wanted)
        except ApiError as error:
            if not error.exists:
                raise
        taken = manifest.snapshot(name, claim, wanted["metadata"]["name"], manifest.BEFORE_CHANGE, by="pulumi")
        self._api.create(_snapshots_of(namespace), taken)
        return True

    def progress(self, namespace: str, name: str) -> Progress:
        """Whether the snapshot is ready, or the driver does not find the volume."""
        found = self._api.json("GET", f"{_snapshots_of(namespace)}/{name}")
        status = found.get("status") or {}
        if status.get("readyToUse"):
            return "ready"
        return "lost" if _LOST in ((status.get("error") or {}).get("message") or "") else "waiting"

    def give_up(self, namespace: str, name: str) -> None:
        """Delete the snapshot, because Kubernetes keeps the claim while it is pending."""
        self._api.delete(f"{_snapshots_of(namespace)}/{name}")


def _snapshots_of(namespace: str) -> str:
    return f"/apis/{manifest.GROUP}/v1/namespaces/{namespace}/volumesnapshots"


def class_that_retains(driver: str, namespace: str, present: list[dict[str, Any]]) -> dict[str, Any]:
    """A VolumeSnapshotClass with policy Retain that belongs to no stack, with the parameters of an existing class."""
    usable = sorted((one for one in present if one["driver"] == driver), key=lambda one: _preference(one, namespace))
    # If settings decide the parameters, the cluster has a class that was created from them.
    usual: Mapping[str, str] = getattr(backend_of(driver), "snapshot_parameters", {})
    parameters = usable[0].get("parameters") or {} if usable else usual
    snapshot_class = SnapshotClass(driver, tuple(sorted(parameters.items())))
    return {
        "apiVersion": f"{manifest.GROUP}/v1",
        "kind": "VolumeSnapshotClass",
        "metadata": {"name": snapshot_class.name(_PREFIX), "labels": {**manifest.PART_OF}},
        "driver": driver,
        "deletionPolicy": "Retain",
        **({"parameters": dict(parameters)} if parameters else {}),
    }


def _preference(one: dict[str, Any], namespace: str) -> tuple[bool, bool, str]:
    """The stack's own first, then the cluster's default."""
    about = one["metadata"]
    default = (about.get("annotations") or {}).get(_IS_DEFAULT) == "true"
    return not about["name"].startswith(f"{namespace}-"), not default, about["name"]


def backend_of(driver: str) -> Backend | None:
    """The backend of this driver, without settings; None for an unknown driver."""
    backends = (cast(Backend, variant.model_construct()) for variant in Backend.variants.values())
    return next((one for one in backends if getattr(one, "csi_driver", None) == driver), None)
