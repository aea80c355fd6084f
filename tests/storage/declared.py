"""A stack of volumes alone on the tests' cluster, with the real engine: its updates, its state, its bytes."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Collection
from pathlib import Path
from typing import Any

import yaml

from components import versions
from driver import linked_project
from driver.deploy import Stack, open_stack
from driver.target import Target
from embedded.cluster import processes
from embedded.cluster.image_store import ImageStore
from embedded.cluster.places import Places
from embedded.step import Step
from tests.storage.claims import Claims
from tests.support.waiting import eventually

NAMESPACE = "tensorplane-dev"
_SNAPSHOTS = f"/apis/snapshot.storage.k8s.io/v1/namespaces/{NAMESPACE}/volumesnapshots"


class Declared:
    """The dev stack with other settings, on the tests' cluster."""

    def __init__(self, claims: Claims, folder: Path) -> None:
        self.claims, self._folder = claims, folder
        self._left: set[str] | None = None
        alive = processes.find(claims.instance)
        assert alive
        self._places, self._alive = Places(claims.instance), alive
        self.pool = alive.path(self._places.pool)

    def load_image(self) -> None:
        """What jobs that take snapshots run."""
        store = ImageStore(self._places, self._alive)
        store.load((versions.EMBEDDED_IMAGES.python,), Step("the snapshots' image"))

    def opened(self) -> Stack:
        """The dev stack of the tests' cluster."""
        return open_stack(Target("", self.claims.instance))

    def stack(self, **volumes: Any) -> Stack:
        """The stack with these volumes, ready for `pulumi`."""
        return self.stack_of({"cluster": {"kind": "embedded"}, "volumes": volumes})

    def stack_of(self, settings: dict[str, Any]) -> Stack:
        """The stack with these settings, ready for `pulumi`. What earlier tests left of it may go."""
        stack = with_settings(self.opened(), self._folder, settings)
        stack.prepare(Step("pulumi up"))
        deletable = unprotected(stack)
        self._left = deletable if self._left is None else self._left & deletable
        gone = self._left - settings.get("volumes", {}).keys()
        return with_settings(stack, self._folder, acknowledged(settings, deleteVolume=gone)) if gone else stack

    def up(self, *, acknowledge: dict[str, list[str]] | None = None, **volumes: Any) -> None:
        """`pulumi up` of these volumes."""
        settings = {"cluster": {"kind": "embedded"}, "volumes": volumes, "acknowledge": acknowledge or {}}
        self.stack_of(settings).up(Step("pulumi up"))

    def content(self, name: str, namespace: str = NAMESPACE) -> Path:
        """Where the bytes of a volume are."""
        path = f"/api/v1/namespaces/{namespace}/persistentvolumeclaims/{name}"
        bound = self.claims.until(path, lambda found: found["spec"].get("volumeName"))
        return self.content_of(bound["spec"]["volumeName"])

    def content_of(self, volume: str) -> Path:
        """Where the bytes of a PersistentVolume are."""
        found = self.claims.kube.get(f"/api/v1/persistentvolumes/{volume}")
        assert found
        return self.pool / "volumes" / str(found["spec"]["csi"]["volumeHandle"])

    def snapshot_now(self, volume: str) -> str:
        """Runs the schedule's job by hand; the name of the snapshot that it took."""
        self.claims.run_now(NAMESPACE, f"snapshots-{volume}")
        (taken,) = eventually(lambda: self.snapshots("manual"))
        self.claims.until(f"{_SNAPSHOTS}/{taken}", lambda found: found.get("status", {}).get("readyToUse"))
        return taken

    def snapshots(self, reason: str, namespace: str = NAMESPACE) -> list[str]:
        """Names of the snapshots that were taken for a reason, the newest last."""
        path = f"/apis/snapshot.storage.k8s.io/v1/namespaces/{namespace}/volumesnapshots"
        found = self.claims.kube.items(path, labelSelector=f"tensorplane.dev/reason={reason}")
        return sorted(str(one["metadata"]["name"]) for one in found)


def with_settings(stack: Stack, folder: Path, settings: dict[str, Any]) -> Stack:
    """The stack with other settings, in a project of links."""
    text = yaml.safe_dump({"config": {f"tensorplane:{key}": value for key, value in settings.items()}})
    made = linked_project.with_settings(stack, folder, text)
    made.settings.refresh()
    return made


def unprotected(stack: Stack) -> set[str]:
    """The volumes in the stack's state whose deletion only an acknowledgement allows."""
    return {
        urn.rpartition("::")[2]
        for urn, one in state(stack).items()
        if one["type"].endswith(":PersistentVolumeClaim") and not one.get("protect")
    }


def acknowledged(settings: dict[str, Any], **names: Collection[str]) -> dict[str, Any]:
    """The settings, with these losses acknowledged besides those that they acknowledge themselves."""
    known = settings.get("acknowledge", {})
    lists = {kind: sorted({*known.get(kind, ()), *more}) for kind, more in names.items()}
    return {**settings, "acknowledge": {**known, **lists}}


def pulumi(stack: Stack, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Runs the CLI as a person would, without questions."""
    updates = words[0] in ("up", "destroy", "refresh")
    more = ["--yes", "--suppress-outputs", "--config-file", str(stack.settings.file)] if updates else []
    argv = [str(stack.pulumi), *words, *more, "--non-interactive", "--color=never", "--stack", stack.settings.name]
    environment = os.environ | stack.environment | variables
    return subprocess.run(
        argv, cwd=stack.settings.project, env=environment, capture_output=True, text=True, check=False
    )


def state(stack: Stack) -> dict[str, Any]:
    """Every resource of the stack's state by its URN."""
    exported = json.loads(pulumi(stack, "stack", "export").stdout)
    return {one["urn"]: one for one in exported["deployment"].get("resources") or ()}
