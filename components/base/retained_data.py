"""The PersistentVolume with the data of a deleted claim, and its reservation for a new claim of that name."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from tensorplane.components.base.quantities import exact

Object = Mapping[str, Any]


def holder(volumes: Iterable[Object], namespace: str, name: str) -> Object | None:
    """The PersistentVolume with the data of a claim: one that is reserved for it, else the one released last."""
    found = [
        one
        for one in volumes
        if (reference := one["spec"].get("claimRef"))
        and (reference.get("namespace"), reference.get("name")) == (namespace, name)
        and one["spec"].get("persistentVolumeReclaimPolicy") == "Retain"
        and not one["metadata"].get("deletionTimestamp")
    ]
    return max(found, key=_order, default=None)


def to_reserve(claim: Object, volumes: Iterable[Object]) -> Object | None:
    """The PersistentVolume to reserve for a new claim; None if there is none or one is already reserved."""
    about, wanted = claim["metadata"], claim["spec"].get("volumeName")
    fitting = [one for one in volumes if wanted in (None, one["metadata"]["name"])]
    found = holder(fitting, about["namespace"], about["name"])
    return found if found and not _is_reserved(found) else None


def _is_reserved(volume: Object) -> bool:
    # A volume that lost its claim still names that claim's UID.
    return not volume["spec"]["claimRef"].get("uid")


def _order(volume: Object) -> tuple[bool, str, str]:
    since = (volume.get("status") or {}).get("lastPhaseTransitionTime") or volume["metadata"].get("creationTimestamp")
    return _is_reserved(volume), since or "", volume["metadata"]["name"]


def misfits(claim: Object, volume: Object, unset_class: str) -> Iterator[str]:
    """Requests of the claim that the PersistentVolume does not meet, so that Kubernetes would not bind them.

    `unset_class`: the VolumeAttributesClass that is equivalent to none.
    """
    spec, has = claim["spec"], volume["spec"]
    size, capacity = spec["resources"]["requests"].get("storage", "0"), has["capacity"].get("storage", "0")
    if exact(size) > exact(capacity):
        yield f"it has {capacity}, but the claim requests {size}"
    if lacking := sorted(set(spec.get("accessModes") or ()) - set(has.get("accessModes") or ())):
        yield f"it does not support {', '.join(lacking)}"
    if (wanted := spec.get("storageClassName")) is not None and wanted != has.get("storageClassName", ""):
        yield f"its StorageClass is {has.get('storageClassName') or 'none'}, not {wanted or 'none'}"
    ours, its = spec.get("volumeAttributesClassName"), has.get("volumeAttributesClassName")
    if ours != its and not (its is None and ours == unset_class):
        yield f"its VolumeAttributesClass is {its or 'none'}, not {ours or 'none'} (another mirror)"


def reserved(claim: Object, volume: Object) -> list[dict[str, Any]]:
    """The JSON patch that reserves the PersistentVolume for the claim."""
    about, reference = claim["metadata"], volume["spec"]["claimRef"]
    waits = {"kind": "PersistentVolumeClaim", "namespace": about["namespace"], "name": about["name"]}
    patch: list[dict[str, Any]] = [
        # Fails if another claim was bound to it meanwhile.
        {"op": "test", "path": "/spec/claimRef/uid", "value": reference["uid"]},
        {"op": "replace", "path": "/spec/claimRef", "value": waits},
    ]
    wanted = claim["spec"].get("volumeAttributesClassName")
    if wanted != volume["spec"].get("volumeAttributesClassName"):
        patch.append({"op": "add", "path": "/spec/volumeAttributesClassName", "value": wanted})
    return patch
