"""The requests to a cluster that a snapshot before a change needs, with the rights of whoever deploys."""

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
_SECONDS = 10, 60  # to reach it, and for an answer: a cluster that is gone must not hold up whoever deletes
# CSI's answer for a volume that the driver does not find. Some drivers have it for other things, too.
_LOST = "code = NotFound"

Progress = Literal["waiting", "ready", "lost"]


def of(kubeconfig: str | None, context: str | None) -> "Snapshots":
    """The snapshots of a cluster: of the path or content of a kubeconfig, or of a context of kubectl's."""
    from kubernetes import client

    api = cluster_api.connected(kubeconfig, context)
    return Snapshots(client.CoreV1Api(api), client.CustomObjectsApi(api))


class Snapshots:
    """A cluster's volumes and snapshots, by the official client."""

    def __init__(self, core: Any, custom: Any) -> None:
        self._core, self._custom = core, custom

    def driver_of(self, namespace: str, claim: str, uid: str | None) -> str | None:
        """The CSI driver that holds the claim's bytes, empty where none does; None where there are none to save."""
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
        """Ask for a snapshot that retains; false where the cluster has no snapshots."""
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
        """Whether its bytes are safe, or the driver says that there are none: lost with a disk, perhaps."""
        found = self._custom.get_namespaced_custom_object(
            manifest.GROUP, "v1", namespace, _SNAPSHOTS, name, _request_timeout=_SECONDS
        )
        status = found.get("status") or {}
        if status.get("readyToUse"):
            return "ready"
        return "lost" if _LOST in ((status.get("error") or {}).get("message") or "") else "waiting"

    def give_up(self, namespace: str, name: str) -> None:
        """Take back what was asked for: while it is pending, Kubernetes keeps the claim."""
        self._custom.delete_namespaced_custom_object(
            manifest.GROUP, "v1", namespace, _SNAPSHOTS, name, _request_timeout=_SECONDS
        )


def class_that_retains(driver: str, namespace: str, present: list[dict[str, Any]]) -> dict[str, Any]:
    """A class that outlives every stack, with the parameters (pools, secrets) of the one that the cluster has."""
    usable = sorted((one for one in present if one["driver"] == driver), key=lambda one: _preference(one, namespace))
    # Where settings decide the parameters, the cluster has a class of theirs.
    usual: Mapping[str, str] = getattr(backend_of(driver), "snapshot_parameters", {})
    parameters = usable[0].get("parameters") or {} if usable else usual
    told = SnapshotClass(driver, tuple(sorted(parameters.items())))
    return {
        "apiVersion": f"{manifest.GROUP}/v1",
        "kind": "VolumeSnapshotClass",
        "metadata": {"name": told.name(_PREFIX), "labels": {**manifest.PART_OF}},
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
    """The backend that this driver is of, as it is without settings; None for a driver of nobody's."""
    backends = (cast(Backend, variant.model_construct()) for variant in Backend.variants.values())
    return next((one for one in backends if getattr(one, "csi_driver", None) == driver), None)


def _unless_status(status: int, call: Callable[[], Any]) -> Any:
    """What a call answers; None where the server answers with this status."""
    from kubernetes import client

    try:
        return call()
    except client.ApiException as error:
        if error.status == status:
            return None
        raise
