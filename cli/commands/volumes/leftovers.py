"""Data of deleted volumes: where it is, and the commands that restore it or delete it permanently."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from tensorplane.agents.snapshots.manifest import PART_OF_LABELS, REASON_LABEL, VOLUME_LABEL
from tensorplane.cli.api_values import Object, moment
from tensorplane.cli.commands.volumes.objects import VolumeObjects
from tensorplane.components.base.quantities import size_bytes
from tensorplane.core import command_lines
from tensorplane.core.command_lines import STACK
from tensorplane.core.errors import UserError
from tensorplane.embedded.cluster import csi
from tensorplane.embedded.csi.contract import DRIVER

_PROVISIONED = "pv.kubernetes.io/provisioned-by"
_GROUP = "snapshot.storage.k8s.io/v1"


@dataclass(frozen=True)
class Leftover:
    """A PersistentVolume that lost its claim, or a VolumeSnapshotContent that lost its VolumeSnapshot."""

    kind: str
    name: str
    was: str
    """Namespace and name of its former claim or VolumeSnapshot."""
    size: int | None
    since: datetime | None
    state: str
    back: str
    """The command that restores it."""
    gone: str
    """The commands that delete it permanently."""


def leftovers(
    objects: VolumeObjects, declared: Collection[str] = (), *, stack: str = STACK, context: str = ""
) -> list[Leftover]:
    """Leftovers of all namespaces, also of deleted ones; the newest first.

    `declared`: the volumes in the settings of `stack`, as namespace/name.
    """
    found = [*_volumes(objects, declared, command_lines.refresh(stack, context)), *_contents(objects, stack)]
    return sorted(found, key=lambda one: (one.since is not None, one.since, one.name), reverse=True)


def _volumes(objects: VolumeObjects, declared: Collection[str], refresh: str) -> Iterator[Leftover]:
    for volume in objects.volumes:
        name, spec = volume["metadata"]["name"], volume["spec"]
        claim, phase = spec.get("claimRef"), volume.get("status", {}).get("phase", "Unknown")
        if not claim or phase not in ("Released", "Failed", "Available"):
            continue
        was = f"{claim['namespace']}/{claim['name']}"
        ready = phase == "Available"
        yield Leftover(
            kind="PersistentVolume",
            name=name,
            was=was,
            size=size_bytes(spec["capacity"]["storage"]),
            since=moment(volume["status"].get("lastPhaseTransitionTime") or volume["metadata"]["creationTimestamp"]),
            state=f"waits for claim {claim['name']}" if ready else phase,
            back=refresh if ready else _rebind(volume, in_use=was in objects.every_claim, new=was not in declared),
            gone=_delete_volume(volume),
        )


def _rebind(volume: Object, *, in_use: bool, new: bool) -> str:
    """Reserves the volume for its claim, or for one of another name if the claim has another volume now."""
    spec = volume["spec"]
    claim = spec["claimRef"]
    wanted = f"{claim['name']}-before" if in_use else claim["name"]
    reference = {"kind": "PersistentVolumeClaim", "namespace": claim["namespace"], "name": wanted}
    changes: list[dict[str, Any]] = [{"op": "replace", "path": "/spec/claimRef", "value": reference}]
    ours = spec.get("csi", {}).get("driver") == DRIVER
    if ours and (in_use or new or not spec.get("volumeAttributesClassName")):
        # A claim binds no volume of another class, and a new volume has no mirror yet: it would be empty.
        changes.append({"op": "add", "path": "/spec/volumeAttributesClassName", "value": csi.UNMIRRORED})
    patch = json.dumps(changes, separators=(",", ":"))
    return f"kubectl patch pv {volume['metadata']['name']} --type json -p '{patch}'"


def _delete_volume(volume: Object) -> str:
    name = volume["metadata"]["name"]
    if _PROVISIONED not in (volume["metadata"].get("annotations") or {}):
        return f"kubectl delete pv {name}  # its data stays"
    return f"""kubectl patch pv {name} -p '{{"spec":{{"persistentVolumeReclaimPolicy":"Delete"}}}}'"""


def _contents(objects: VolumeObjects, stack: str) -> Iterator[Leftover]:
    # A restored one has two contents for the same snapshot: deleting the data of one deletes that of the other.
    handles = {_handle(one) for one in objects.contents if _is_bound(one, objects)}
    for content in objects.contents:
        reference, status = content["spec"]["volumeSnapshotRef"], content.get("status") or {}
        handle = _handle(content)
        if handle is None or handle in handles:
            continue
        handles.add(handle)
        name, taken = content["metadata"]["name"], status.get("creationTime")
        patch = """--type merge -p '{"spec":{"deletionPolicy":"Delete"}}'"""
        yield Leftover(
            kind="VolumeSnapshotContent",
            name=name,
            was=f"{reference['namespace']}/{reference['name']}",
            size=status.get("restoreSize"),
            since=datetime.fromtimestamp(taken / 1e9, UTC) if taken else None,
            state="no VolumeSnapshot",
            back=f"{command_lines.tensorplane(f'volumes {name} --bring-back', stack)} | kubectl apply -f -",
            gone=f"kubectl patch volumesnapshotcontent {name} {patch}; kubectl delete volumesnapshotcontent {name}",
        )


def _handle(content: Object) -> tuple[str, str] | None:
    handle = (content.get("status") or {}).get("snapshotHandle")
    return (content["spec"]["driver"], handle) if handle else None


def _is_bound(content: Object, objects: VolumeObjects) -> bool:
    return content["spec"]["volumeSnapshotRef"].get("uid", "") in objects.every_snapshot


def brought_back(objects: VolumeObjects, name: str) -> list[dict[str, Any]]:
    """The objects that make a VolumeSnapshotContent a VolumeSnapshot again: a content cannot be bound twice."""
    content = next((one for one in objects.contents if one["metadata"]["name"] == name), None)
    handle = _handle(content) if content else None
    if content is None or handle is None or _is_bound(content, objects):
        have = ", ".join(one.name for one in _contents(objects, STACK)) or "none"
        raise UserError(f"{name} is not a VolumeSnapshotContent without a VolumeSnapshot; choose one of {have}")
    spec, reference = content["spec"], content["spec"]["volumeSnapshotRef"]
    snapshot, namespace = reference["name"], reference["namespace"]
    new = f"{namespace}-{snapshot}-back"
    labels = {VOLUME_LABEL: _volume_of(snapshot), REASON_LABEL: "brought-back", **PART_OF_LABELS}
    annotated = {
        key: value for key, value in (content["metadata"].get("annotations") or {}).items() if "deletion-secret" in key
    }
    return [
        {
            "apiVersion": _GROUP,
            "kind": "VolumeSnapshotContent",
            "metadata": {"name": new, **({"annotations": annotated} if annotated else {})},
            "spec": {
                "deletionPolicy": "Retain",
                "driver": spec["driver"],
                "source": {"snapshotHandle": handle[1]},
                "volumeSnapshotRef": {"namespace": namespace, "name": snapshot},
            },
        },
        {
            "apiVersion": _GROUP,
            "kind": "VolumeSnapshot",
            "metadata": {"name": snapshot, "namespace": namespace, "labels": labels},
            "spec": {"source": {"volumeSnapshotContentName": new}},
        },
    ]


def _volume_of(snapshot: str) -> str:
    """The volume's name in a snapshot's name, which ends with date and time."""
    return snapshot.rsplit("-", 2)[0]
