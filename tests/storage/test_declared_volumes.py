"""Volumes as a stack declares them: a snapshot by the schedule's own job, restored and cloned by one more setting."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from components import versions
from embedded import linked_project, up
from embedded.cluster import processes
from embedded.cluster.image_store import ImageStore
from embedded.cluster.places import Places
from embedded.progress import Step
from tests.storage.claims import Claims

NAMESPACE = "tensorplane-dev"
SCHEDULED: dict[str, Any] = {"sizeGib": 1, "retain": False, "snapshots": {"schedule": "0 4 1 1 *", "keep": 2}}


class Declared:
    """The dev stack with other volumes and nothing else, on the tests' cluster."""

    def __init__(self, claims: Claims, folder: Path) -> None:
        self.claims, self._folder = claims, folder
        alive = processes.find(claims.instance)
        assert alive
        places = Places(claims.instance)
        self._pool = alive.path(places.pool)
        ImageStore(places, alive).load((versions.images("embedded").python,), Step("the snapshots' image"))

    def up(self, **volumes: Any) -> None:
        """`pulumi up` of these volumes."""
        settings = {"config": {"tensorplane:cluster": {"kind": "embedded"}, "tensorplane:volumes": volumes}}
        opened = up.open_stack(up.Target("", self.claims.instance))
        stack = linked_project.with_settings(opened, self._folder, yaml.safe_dump(settings))
        stack.prepare(Step("pulumi up"))
        stack.up(Step("pulumi up"))

    def content(self, name: str) -> Path:
        """Where the bytes of a volume are."""
        path = f"/api/v1/namespaces/{NAMESPACE}/persistentvolumeclaims/{name}"
        bound = self.claims.until(path, lambda found: found["spec"].get("volumeName"))
        volume = self.claims.kube.get(f"/api/v1/persistentvolumes/{bound['spec']['volumeName']}")
        assert volume
        return self._pool / "volumes" / str(volume["spec"]["csi"]["volumeHandle"])

    def snapshot_now(self, volume: str) -> str:
        """Runs the schedule's job by hand; the name of the snapshot that it took."""
        self.claims.run_now(NAMESPACE, f"snapshots-{volume}")
        path = f"/apis/snapshot.storage.k8s.io/v1/namespaces/{NAMESPACE}/volumesnapshots"
        (taken,) = self.claims.eventually(lambda: self.claims.kube.items(path))
        name = str(taken["metadata"]["name"])
        self.claims.until(f"{path}/{name}", lambda found: found.get("status", {}).get("readyToUse"))
        return name


@pytest.fixture
def declared(claims: Claims, tmp_path: Path) -> Declared:
    """A stack of volumes alone."""
    return Declared(claims, tmp_path)


def test_a_scheduled_snapshot_is_restored_and_a_volume_cloned(declared: Declared) -> None:
    declared.up(models=SCHEDULED)
    (declared.content("models") / "version").write_text("first")
    taken = declared.snapshot_now("models")
    (declared.content("models") / "version").write_text("second")
    begun = {
        "old": {"sizeGib": 1, "retain": False, "from": {"snapshot": taken}},
        "copy": {"sizeGib": 2, "retain": False, "from": {"volume": "models"}},
    }
    declared.up(models=SCHEDULED, **begun)
    assert (declared.content("old") / "version").read_text() == "first"
    assert (declared.content("copy") / "version").read_text() == "second"
    (declared.content("old") / "version").write_text("third")
    assert (declared.content("models") / "version").read_text() == "second"
