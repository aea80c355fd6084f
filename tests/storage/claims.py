"""Claims, snapshots and pods of the tests, as short words."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Any

from tensorplane.core.kube import Kube
from tensorplane.core.kube_objects import Objects
from tensorplane.embedded.cluster import csi, processes, supervisor
from tensorplane.embedded.cluster.node_paths import NodePaths
from tensorplane.embedded.cluster.processes import Alive
from tensorplane.embedded.cluster.supervisor import Supervisor
from tensorplane.embedded.csi.contract import DRIVER
from tensorplane.embedded.instance import Instance
from tests.cluster import shell
from tests.support.waiting import eventually

USER = 65532
CLAIMS = "/api/v1/namespaces/default/persistentvolumeclaims"
PODS = "/api/v1/namespaces/default/pods"
SNAPSHOT_API = "snapshot.storage.k8s.io/v1"
SNAPSHOTS = f"/apis/{SNAPSHOT_API}/namespaces/default/volumesnapshots"


class Claims:
    """Makes and asks for objects of the default namespace."""

    def __init__(self, instance: Instance) -> None:
        self.instance = instance

    @cached_property
    def _api(self) -> Objects:
        return Objects(Kube.of(self.instance.kubeconfig))

    @cached_property
    def kube(self) -> Kube:
        return Kube.of(self.instance.kubeconfig)

    def claim(
        self,
        name: str,
        mode: str = "ReadWriteOnce",
        *,
        mib: int = 64,
        source: Any = None,
        of_class: str = csi.CLASS,
        mirrored: str = "",
    ) -> dict[str, Any]:
        """A claim of the driver's class, bound."""
        spec = {
            "accessModes": [mode],
            "resources": {"requests": {"storage": f"{mib}Mi"}},
            "storageClassName": of_class,
            **({"dataSource": source} if source else {}),
            **({"volumeAttributesClassName": mirrored} if mirrored else {}),
        }
        self._apply("v1", "PersistentVolumeClaim", name, spec)
        return self.bound(name)

    def bound(self, name: str, namespace: str = "default") -> dict[str, Any]:
        """A claim, once it is bound."""
        path = f"/api/v1/namespaces/{namespace}/persistentvolumeclaims/{name}"
        return self.until(path, lambda found: found["status"].get("phase") == "Bound")

    def released(self, volume: str) -> None:
        """Waits until a volume is nobody's: a moment after its claim is gone."""
        self.until(f"/api/v1/persistentvolumes/{volume}", lambda found: found["status"]["phase"] == "Released")

    def content_of(self, volume: str) -> Path:
        """Where the bytes of a PersistentVolume are."""
        found = self.kube.get(f"/api/v1/persistentvolumes/{volume}")
        assert found
        return self.pool / "volumes" / str(found["spec"]["csi"]["volumeHandle"])

    def remove(self, *names: str) -> None:
        """Deletes claims, and the pods of the same names that mount them."""
        for name in names:
            for path in (f"{PODS}/{name}", f"{CLAIMS}/{name}"):
                self.kube.delete(path)
                self.until_gone(path)

    def mirroring_class(self, name: str, seconds: int) -> str:
        """A class that has volumes copied into the second pool that often."""
        parameters = {"mirrorSeconds": str(seconds)}
        about = {"apiVersion": "storage.k8s.io/v1", "kind": "VolumeAttributesClass", "metadata": {"name": name}}
        self._api.apply({**about, "driverName": DRIVER, "parameters": parameters}, manager="test")
        return name

    def unmirror(self, name: str) -> None:
        """Ends the mirror of a claim's volume, which would be copied until the cluster ends."""
        self.claim(name, mirrored=csi.UNMIRRORED)
        current = "currentVolumeAttributesClassName"
        self.until(f"{CLAIMS}/{name}", lambda found: found["status"].get(current) == csi.UNMIRRORED)

    def class_of_copies(self, name: str, claim: str) -> str:
        """A class whose volumes begin as the newest copy of a claim's volume."""
        about = {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": name}}
        rules = {"provisioner": DRIVER, "reclaimPolicy": "Delete", "parameters": {"mirrorOf": claim}}
        self._api.apply({**about, **rules}, manager="test")
        return name

    def deleting_classes(self, name: str) -> None:
        """Classes of that name for volumes and for snapshots, whose bytes go with the claim and with the snapshot."""
        about = {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": name}}
        rules = {"provisioner": DRIVER, "reclaimPolicy": "Delete", "allowVolumeExpansion": True}
        self._api.apply({**about, **rules}, manager="test")
        about = {"apiVersion": SNAPSHOT_API, "kind": "VolumeSnapshotClass", "metadata": {"name": name}}
        self._api.apply({**about, "driver": DRIVER, "deletionPolicy": "Delete"}, manager="test")

    def snapshot(self, name: str, claim: str, *, of_class: str = csi.CLASS) -> dict[str, Any]:
        """A snapshot that can be restored."""
        spec = {"source": _of(claim), "volumeSnapshotClassName": of_class}
        self._apply(SNAPSHOT_API, "VolumeSnapshot", name, spec)
        return self.until(f"{SNAPSHOTS}/{name}", lambda found: found.get("status", {}).get("readyToUse"))

    @property
    def _alive(self) -> Alive:
        alive = processes.find(self.instance)
        assert alive
        return alive

    @property
    def pool(self) -> Path:
        """Where the driver keeps volumes, as this process sees it."""
        return self._alive.path(NodePaths(self.instance).pool)

    def copied(self, name: str) -> list[str]:
        """What files of this name hold in the second pool's copies, which come and go meanwhile."""
        found = []
        with contextlib.suppress(FileNotFoundError):
            for file in self._alive.path(NodePaths(self.instance).mirror).glob(f"snapshots/[!.]*/{name}"):
                found.append(file.read_text())
        return found

    @property
    def supervised(self) -> Supervisor:
        """What runs the driver and starts it again."""
        return Supervisor(self._alive.path(NodePaths(self.instance).supervisor_socket))

    def kill_driver(self) -> None:
        """Ends the driver at once, wherever it is."""
        # supervisord numbers processes as its namespace does.
        inner = self.supervised.states()[csi.DRIVER_PROGRAM].pid
        [pid] = [pid for pid in processes.members(self.instance) if processes.inner(pid) == inner]
        os.kill(pid, signal.SIGKILL)

    def until_driver_runs(self) -> None:
        """Waits until the driver that was killed is there again, for good: supervisord takes a second to say so."""
        socket = self._alive.path(NodePaths(self.instance).supervisor_socket)
        eventually(lambda: supervisor.all_running(socket))

    def pod(self, name: str, claim: str) -> Callable[..., str]:
        """A pod with the claim at /data; gives what runs BusyBox in it, and fails where that fails."""
        container = {
            "name": name,
            "image": shell.IMAGE,
            "args": ["sleep", "100000"],
            "volumeMounts": [{"name": "data", "mountPath": "/data"}],
        }
        spec = {
            "containers": [container],
            "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": claim}}],
            "securityContext": {"runAsUser": USER, "runAsGroup": USER, "fsGroup": USER},
            "terminationGracePeriodSeconds": 0,
        }
        self._apply("v1", "Pod", name, spec)
        self.until(f"{PODS}/{name}", lambda found: found["status"].get("phase") == "Running")

        def run(*command: str) -> str:
            status, output = shell.execute(self.instance, name, *command)
            assert status == 0, output
            return output

        return run

    def run_now(self, namespace: str, cron_job: str) -> None:
        """Makes the job of a CronJob, as `kubectl create job --from` does."""
        found = self.kube.get(f"/apis/batch/v1/namespaces/{namespace}/cronjobs/{cron_job}")
        assert found
        template = found["spec"]["jobTemplate"]
        about = {"name": f"{cron_job}-now", "namespace": namespace, "labels": template["metadata"].get("labels", {})}
        annotations = {"cronjob.kubernetes.io/instantiate": "manual"}
        job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {**about, "annotations": annotations}}
        self._api.apply({**job, "spec": template["spec"]}, manager="test")

    def until(self, path: str, condition: Callable[[dict[str, Any]], Any]) -> dict[str, Any]:
        """The object, as soon as the condition holds for it."""

        def holds() -> dict[str, Any] | None:
            found = self.kube.get(path)
            return found if found and condition(found) else None

        return eventually(holds, about=lambda: self.kube.get(path)) or {}

    def until_gone(self, path: str) -> None:
        """Waits until there is no such object."""
        eventually(lambda: self.kube.get(path) is None, about=lambda: path)

    def _apply(self, version: str, kind: str, name: str, spec: dict[str, Any]) -> None:
        meta = {"name": name, "namespace": "default"}
        self._api.apply(
            {"apiVersion": version, "kind": kind, "metadata": meta, "spec": spec}, manager="test", force=True
        )


def _of(claim: str) -> dict[str, str]:
    return {"persistentVolumeClaimName": claim}


def from_snapshot(name: str) -> dict[str, str]:
    """A claim's source: what a snapshot holds."""
    return {"apiGroup": "snapshot.storage.k8s.io", "kind": "VolumeSnapshot", "name": name}


def from_claim(name: str) -> dict[str, str]:
    """A claim's source: what another claim holds now."""
    return {"kind": "PersistentVolumeClaim", "name": name}
