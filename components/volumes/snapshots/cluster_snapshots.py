"""Kubernetes API requests for the snapshot before a deletion, with the rights of the deploying user."""

from collections.abc import Callable, Mapping
from typing import Any, Literal, cast

from agents.snapshots import manifest
from components.volumes import cluster_api
from components.volumes.backend import Backend
from components.volumes.snapshots.snapshot_class import SnapshotClass

_PREFIX = "tensorplane-before-change"
_CLASSES, _SNAPSHOTS = "volumesnapshotclasses", "volumesnapshots"
_IS_DEFAULT = "snapshot.storage.kubernetes.io/is-default-class"
_NOT_FOUND, _CONFLICT = 404, 409
_SECONDS = 10, 60  # to connect, and to answer: a cluster that no longer exists must not block a deletion
# CSI's error for a volume that the driver does not find. Some drivers also use it for other errors.
_LOST = "code = NotFound"

Progress = Literal["waiting", "ready", "lost"]


def of(kubeconfig: str | None, context: str | None) -> "Snapshots":
    """The snapshots of a cluster. `kubeconfig`: a path or the content; None uses kubectl's own, with `context`."""
    from kubernetes import client

    api = cluster_api.connected(kubeconfig, context)
    return Snapshots(client.CoreV1Api(api), client.CustomObjectsApi(api))


class Snapshots:
    """Volumes and snapshots of a cluster."""

    def __init__(self, core: Any, custom: Any) -> None:
        self._core, self._custom = core, custom

    def driver_of(self, namespace: str, claim: str, uid: str | None) -> str | None:
        """The CSI driver of the claim's volume; empty if it has none, None if there is no data to save."""
        found = _unless_status(
            _NOT_FOUND,
            lambda: self._core.read_namespaced_persistent_volume_claim(claim, namespace, _request_timeout=_SECONDS),
        )
        if found is None or found.status.phase != "Bound":
            return None
        if uid is not None and found.metadata.uid != uid:
            raise RuntimeError(
                f"volume {claim} is not deleted: its claim was recreated outside Pulumi; check it, then run "
                f"pulumi refresh"
            )
        volume = _unless_status(
            _NOT_FOUND,
            lambda: self._core.read_persistent_volume(found.spec.volume_name, _request_timeout=_SECONDS),
        )
        if volume is None:
            return None
        return cast(str, volume.spec.csi.driver) if volume.spec.csi else ""

    def take(self, namespace: str, name: str, claim: str, driver: str) -> bool:
        """Create a VolumeSnapshot with deletion policy Retain; False if the cluster has no VolumeSnapshot API."""
        listed = _unless_status(
            _NOT_FOUND,
            lambda: self._custom.list_cluster_custom_object(manifest.GROUP, "v1", _CLASSES, _request_timeout=_SECONDS),
        )
        if listed is None:
            return False
        wanted = class_that_retains(driver, namespace, listed["items"])
        _unless_status(
            _CONFLICT,
            lambda: self._custom.create_cluster_custom_object(
                manifest.GROUP, "v1", _CLASSES, wanted, _request_timeout=_SECONDS
            ),
        )
        taken = manifest.snapshot(name, claim, wanted["metadata"]["name"], manifest.BEFORE_CHANGE, by="pulumi")
        self._custom.create_namespaced_custom_object(
            manifest.GROUP, "v1", namespace, _SNAPSHOTS, taken, _request_timeout=_SECONDS
        )
        return True

    def progress(self, namespace: str, name: str) -> Progress:
        """Whether the snapshot is ready, or the driver does not find the volume."""
        found = self._custom.get_namespaced_custom_object(
            manifest.GROUP, "v1", namespace, _SNAPSHOTS, name, _request_timeout=_SECONDS
        )
        status = found.get("status") or {}
        if status.get("readyToUse"):
            return "ready"
        return "lost" if _LOST in ((status.get("error") or {}).get("message") or "") else "waiting"

    def give_up(self, namespace: str, name: str) -> None:
        """Delete the snapshot, because Kubernetes keeps the claim while it is pending."""
        self._custom.delete_namespaced_custom_object(
            manifest.GROUP, "v1", namespace, _SNAPSHOTS, name, _request_timeout=_SECONDS
        )


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


def _unless_status(status: int, call: Callable[[], Any]) -> Any:
    """The result of a call; None if the server answers with this status."""
    from kubernetes import client

    try:
        return call()
    except client.ApiException as error:
        if error.status == status:
            return None
        raise
