"""One stack of its own to which a destructive change happens: before, the change, and what became of the bytes."""

from __future__ import annotations

import json
from typing import Any

from tensorplane.cli.commands.volumes import leftovers
from tensorplane.cli.commands.volumes import objects as volume_objects
from tensorplane.cli.commands.volumes.leftovers import Leftover
from tensorplane.core.gvk import GVK
from tensorplane.core.kube import Kube
from tensorplane.core.kube_objects import Objects
from tensorplane.core.step import Step
from tensorplane.driver.update.stack import Stack
from tests.storage import kubectl
from tests.storage.claims import SNAPSHOT_API, from_snapshot
from tests.storage.declared import SNAPSHOT_KIND, Declared, pulumi, state
from tests.storage.destructive_diffs import Delete, Diff, Pulumi, Rename, Settings, Up
from tests.support.waiting import eventually

_CLAIMS = "v1/persistentvolumeclaims"
_KINDS = (_CLAIMS, "v1/pods", SNAPSHOT_KIND)


class Changed:
    """The stack, and what it had before."""

    def __init__(self, declared: Declared) -> None:
        self._declared, self.claims, self.namespace = declared, declared.claims, declared.namespace
        self._api = Objects(Kube.of(self.claims.instance.kubeconfig))

    # -- before

    def deploy(self, settings: Settings) -> None:
        """The stack as it is before, a file in each volume, and a snapshot of the first where there is one."""
        self._stack(settings).up(Step("pulumi up"))
        self._before = settings
        self._volumes = {name: self._declared.volume(name) for name in settings["volumes"]}
        for name in settings["volumes"]:
            self._declared.write(name, _held(name))

    def snapshot(self) -> None:
        """A snapshot by hand, which a change may name or delete."""
        spec = {"source": {"persistentVolumeClaimName": "models"}}
        self._apply(SNAPSHOT_API, "VolumeSnapshot", "taken", spec)
        self._declared.until_ready("taken")

    # -- the change

    def change(self, diff: Diff) -> None:
        """Each step; what must fail does, and then nothing was changed."""
        for step in diff.steps:
            fails = getattr(step, "fails", False)
            before = self._everything() if fails and getattr(step, "looks", True) else None
            failed, said = self._run(step)
            assert failed == fails, said
            if before:
                assert self._everything() == before, f"refused, and yet something was changed: {said}"

    def _run(self, step: Up | Pulumi | Delete | Rename) -> tuple[bool, str]:
        if isinstance(step, Delete):
            self._delete(step)
            return False, ""
        if isinstance(step, Rename):
            stack = self._stack(self._before)
            self._declared.name += "-renamed"
            done = pulumi(stack, "stack", "rename", self._declared.name)
        elif isinstance(step, Up):
            adopting = {"PULUMI_K8S_UPSERT_EXISTING_OBJECTS": "true"} if step.adopts else {}
            at_once = [] if step.looks else ["--skip-preview"]
            done = pulumi(self._stack(step.settings), "up", *at_once, **adopting)
        else:
            stack = self._stack(self._before)
            claims = {one["id"].split("/")[-1]: urn for urn, one in state(stack).items() if urn.count("Claim")}
            done = pulumi(stack, *(word.format(**claims) for word in step.words))
        return done.returncode != 0, done.stdout + done.stderr

    def _delete(self, step: Delete) -> None:
        kind, name, namespace = {
            "claim": ("PersistentVolumeClaim", step.name, self.namespace),
            "volume": ("PersistentVolume", self._volumes.get(step.name, ""), None),
            "namespace": ("Namespace", self.namespace, None),
            "snapshot": ("VolumeSnapshot", "taken", self.namespace),
            "content": ("VolumeSnapshotContent", self._content_object(), None),
        }[step.kind]
        version = SNAPSHOT_API if "Snapshot" in kind else "v1"
        self._api.delete(GVK.of({"apiVersion": version, "kind": kind}), name, namespace)
        held = step.kind in ("volume", "content")
        path = self._api.path(GVK.of({"apiVersion": version, "kind": kind}), namespace, name)
        if held:  # finalizers keep it while it is in use
            self.claims.until(path, lambda found: found["metadata"].get("deletionTimestamp"))
        else:
            self.claims.until_gone(path)

    # -- after

    def check(self, volume: str, end: str) -> None:
        """The bytes of a volume are where they should be, whole."""
        {"refused": self._stays, "stays": self._stays, "snapshot": self._saved}.get(end, self._left)(volume)

    def _stays(self, volume: str) -> None:
        assert self._declared.volume(volume) == self._volumes[volume]
        assert self._declared.read(volume) == _held(volume)

    def _saved(self, volume: str) -> None:
        """As `from: {snapshot: NAME}` does."""
        (taken,) = self._declared.snapshots("before-change", volume)
        self._restored(taken, volume)

    def _restored(self, snapshot: str, volume: str) -> None:
        spec = {
            "accessModes": ["ReadWriteMany"],
            "resources": {"requests": {"storage": "1Gi"}},
            "storageClassName": "tensorplane-embedded",
            "dataSource": from_snapshot(snapshot),
        }
        self._apply("v1", "PersistentVolumeClaim", f"{volume}-restored", spec)
        assert self._declared.read(f"{volume}-restored") == _held(volume)

    def _left(self, volume: str) -> None:
        """By the commands that `tensorplane volumes` prints, then `pulumi up --refresh`."""
        # A volume is Released a moment after its claim is gone.
        found = eventually(lambda: self._leftovers(volume))
        for one in (one for one in found if one.kind == "PersistentVolume"):
            kubectl.run(self.claims.instance.kubeconfig, one.back)
            self._rebound(one, volume)
        for one in (one for one in found if one.kind == "VolumeSnapshotContent"):
            for manifest in leftovers.brought_back(self._facts(), one.name):
                self._api.apply(manifest, manager="kubectl")
            name = one.was.split("/")[1]
            self._declared.until_ready(name)
            self._restored(name, "models" if volume == "taken" else volume)

    def _of(self, one: Leftover, volume: str) -> bool:
        return one.was == f"{self.namespace}/{volume}" or one.was.startswith(f"{self.namespace}/{volume}-")

    def _rebound(self, one: Leftover, volume: str) -> None:
        claim = json.loads(one.back.partition(" -p ")[2].strip("'"))[0]["value"]["name"]
        back = {**self._before, "volumes": {**self._before["volumes"], claim: self._before["volumes"][volume]}}
        done = pulumi(self._stack(back), "up", "--refresh")
        assert done.returncode == 0, done.stdout + done.stderr
        assert self._declared.volume(claim) == one.name
        assert self._declared.read(claim) == _held(volume)
        self._before = back

    def _leftovers(self, volume: str) -> list[Leftover]:
        found = leftovers.leftovers(self._facts())
        return [one for one in found if self._of(one, volume)]

    def _facts(self) -> volume_objects.VolumeObjects:
        return volume_objects.gather(self.claims.kube, self.namespace)

    # -- helpers

    def _stack(self, settings: Settings) -> Stack:
        instance = self.claims.instance
        text = json.dumps(settings)
        text = text.replace("KUBECONFIG", str(instance.kubeconfig)).replace("CONTEXT", instance.namespace)
        return self._declared.stack_of(json.loads(text))

    def _everything(self) -> dict[str, Any]:
        """What a refused change leaves as it is: the state, and every object of the namespace that matters."""
        known = state(self._stack(self._before))
        resources = {
            (one["type"], urn.split("::")[-1]): (one.get("id"), one.get("inputs"), one.get("protect", False))
            for urn, one in known.items()
        }
        objects = {
            f"{kind} {one['metadata']['name']}": (one["metadata"]["uid"], one["spec"])
            for kind in _KINDS
            for one in self.claims.kube.items(self._declared.path(kind))
        }
        return {"state": resources, "cluster": objects, "claims": self._bound_all()}

    def _bound_all(self) -> dict[str, str]:
        found = self.claims.kube.items(self._declared.path(_CLAIMS))
        return {one["metadata"]["name"]: one["spec"].get("volumeName", "") for one in found}

    def _content_object(self) -> str:
        found = self.claims.kube.get(self._declared.path(SNAPSHOT_KIND, "taken"))
        return str(found["status"]["boundVolumeSnapshotContentName"]) if found else ""

    def _apply(self, version: str, kind: str, name: str, spec: Settings) -> None:
        about = {"name": name, "namespace": self.namespace}
        self._api.apply({"apiVersion": version, "kind": kind, "metadata": about, "spec": spec}, manager="test")


def _held(volume: str) -> str:
    return f"what {volume} holds"
