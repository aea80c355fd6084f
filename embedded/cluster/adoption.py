"""Moves claims on folders of this machine into the CSI driver's pool, while no pod runs: same claim, same content.

Every step can be repeated, and a start that was killed is finished by the next one. The folder itself is only moved
aside, and only when its copy has been compared and the claim has its new volume.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from kubernetes.utils import parse_quantity

from embedded.cluster import csi
from embedded.cluster.host import run
from embedded.cluster.places import Places
from embedded.cluster.processes import Alive
from embedded.csi.contract import DRIVER
from embedded.paths import PROJECT
from embedded.progress import Step
from embedded.provider.api import GVK, Api, ApiError

MARK = "tensorplane.dev/adopts"
"""Annotation of a volume whose claim is still being moved to it: what is to be done."""
_VOLUME, _CLAIM = GVK("", "v1", "PersistentVolume"), GVK("", "v1", "PersistentVolumeClaim")
_MANAGER = "tensorplane"

_Object = dict[str, Any]


def adopt_all(at: Places, alive: Alive, api: Api, step: Step) -> None:
    """For a cluster whose API server answers and whose kubelet does not run yet."""
    for volume, claim in _on_folders(at, api):
        folder = Path(volume["spec"]["local"]["path"])
        step.note(f"moving {folder} into the pool of volumes")
        id_ = _copy(at, alive, folder, volume)
        api.apply(successor(volume, claim, id_), manager=_MANAGER, force=True)
    for volume in api.list(_VOLUME):
        if MARK in volume["metadata"].get("annotations", {}):
            _finish(at, api, volume)


def _on_folders(at: Places, api: Api) -> Iterator[tuple[_Object, _Object]]:
    """Volumes on a folder of ours, each with the claim that has it."""
    for volume in api.list(_VOLUME):
        path, bound = volume["spec"].get("local", {}).get("path"), volume["spec"].get("claimRef")
        if bound and path and Path(path).is_relative_to(at.instance.volumes) and Path(path).is_dir():
            claim = _get(api, _CLAIM, bound["name"], bound["namespace"])
            if claim and claim["spec"].get("volumeName") == volume["metadata"]["name"]:
                yield volume, claim


def _copy(at: Places, alive: Alive, folder: Path, volume: _Object) -> str:
    # Inside the namespaces: the pool is mounted there alone.
    inside = ("nsenter", "--target", str(alive.pid), "--mount", "--pid", "--net", "--wd=/")
    program = ("env", f"PYTHONPATH={PROJECT}", sys.executable, "-m", "embedded.csi.adopt")
    name, size = volume["metadata"]["name"], int(parse_quantity(volume["spec"]["capacity"]["storage"]))
    return run(*inside, *program, f"--pool={at.pool}", f"--name={name}", f"--size={size}", str(folder)).strip()


def successor(volume: _Object, claim: _Object, id_: str) -> _Object:
    """The volume that takes a folder's place, and in its annotation what is left to do."""
    old, spec = volume["metadata"], volume["spec"]
    name = f"{old['name']}-pool"
    kept = ("accessModes", "capacity", "nodeAffinity", "volumeMode")
    todo = {"claim": _moved(claim, name), "volume": old["name"], "folder": spec["local"]["path"]}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {
            "name": name,
            "labels": old.get("labels", {}),
            "annotations": {"pv.kubernetes.io/provisioned-by": DRIVER, MARK: json.dumps(todo)},
        },
        "spec": {
            **{key: spec[key] for key in kept if key in spec},
            "persistentVolumeReclaimPolicy": "Retain",
            "storageClassName": csi.CLASS,
            "csi": {"driver": DRIVER, "volumeHandle": id_},
            "claimRef": {
                "apiVersion": "v1",
                "kind": "PersistentVolumeClaim",
                "namespace": claim["metadata"]["namespace"],
                "name": claim["metadata"]["name"],
            },
        },
    }


def _moved(claim: _Object, volume: str) -> _Object:
    meta = claim["metadata"]
    annotations = meta.get("annotations", {})
    notes = {key: value for key, value in annotations.items() if not key.startswith("pv.kubernetes.io/")}
    kept = ("accessModes", "resources", "volumeMode")
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {
            **{key: meta[key] for key in ("name", "namespace", "labels") if key in meta},
            **({"annotations": notes} if notes else {}),
        },
        "spec": {
            **{key: claim["spec"][key] for key in kept if key in claim["spec"]},
            "storageClassName": csi.CLASS,
            "volumeName": volume,
        },
    }


def _finish(at: Places, api: Api, volume: _Object) -> None:
    name, todo = volume["metadata"]["name"], json.loads(volume["metadata"]["annotations"][MARK])
    wanted = todo["claim"]
    meta = wanted["metadata"]
    found = _get(api, _CLAIM, meta["name"], meta["namespace"])
    if found and found["spec"].get("volumeName") == todo["volume"]:
        _delete(api, _CLAIM, found)
        found = None
    if not found:
        api.create(wanted, manager=_MANAGER)
    if old := _get(api, _VOLUME, todo["volume"]):
        _delete(api, _VOLUME, old)
    _put_aside(at, Path(todo["folder"]))
    api.patch(_VOLUME, name, None, {"metadata": {"annotations": {MARK: None}}}, manager=_MANAGER)


def _delete(api: Api, kind: GVK, found: _Object) -> None:
    """Deletes an object at once: who would take its finalizers off, when it is no longer used, does not run yet."""
    meta = found["metadata"]
    name, namespace, uid = meta["name"], meta.get("namespace"), meta["uid"]
    api.patch(kind, name, namespace, {"metadata": {"finalizers": None, "uid": uid}}, manager=_MANAGER)
    api.delete(kind, name, namespace, uid=uid)


def _put_aside(at: Places, folder: Path) -> None:
    if not folder.exists():
        return
    target = at.adopted / folder.relative_to(at.instance.volumes)
    target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    number = 1
    while target.exists():
        number += 1
        target = target.with_name(f"{folder.name}.{number}")
    folder.rename(target)


def _get(api: Api, kind: GVK, name: str, namespace: str | None = None) -> _Object | None:
    try:
        return api.get(kind, name, namespace)
    except ApiError as error:
        if error.not_found:
            return None
        raise
