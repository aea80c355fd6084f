"""What a snapshot before a deletion asks of a cluster, without one."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace as Some
from typing import Any

import pulumi
import pytest
import urllib3
from kubernetes import client

from components.volumes.backends import embedded
from components.volumes.snapshots import before_delete, cluster_snapshots
from components.volumes.snapshots.cluster_snapshots import Snapshots, class_that_retains
from tests.support.rendering import Registered, run

KINDS = ("azureDisk", "azureFiles")
DRIVER = "disk.example.org"
DELETED = pulumi.ResourceHookArgs(
    urn="urn:models", id="space/models", name="models", type="claim", old_outputs={"metadata": {"uid": "1"}}
)


class Core:
    """A cluster with one claim and its volume."""

    def __init__(self, *, phase: str = "Bound", uid: str = "1", driver: str | None = DRIVER) -> None:
        self._phase, self._uid, self._driver = phase, uid, driver

    def read_namespaced_persistent_volume_claim(self, name: str, namespace: str, **_: Any) -> Any:
        if (namespace, name) != ("space", "models"):
            raise client.ApiException(status=404)
        return Some(metadata=Some(uid=self._uid), status=Some(phase=self._phase), spec=Some(volume_name="pv-1"))

    def read_persistent_volume(self, name: str, **_: Any) -> Any:
        return Some(spec=Some(csi=Some(driver=self._driver) if self._driver else None))


class Custom:
    """Snapshots that are ready at the second look."""

    def __init__(self, classes: list[dict[str, Any]] | None, error: str = "") -> None:
        self._classes, self.made, self._looks, self._error = classes, list[dict[str, Any]](), 0, error
        self.deleted: list[str] = []

    def list_cluster_custom_object(self, *_: str, **__: Any) -> dict[str, Any]:
        if self._classes is None:
            raise client.ApiException(status=404)
        return {"items": self._classes}

    def create_cluster_custom_object(self, *made: Any, **_: Any) -> None:
        self.made.append(made[-1])
        raise client.ApiException(status=409)

    def create_namespaced_custom_object(self, *made: Any, **_: Any) -> None:
        self.made.append(made[-1])

    def get_namespaced_custom_object(self, *_: str, **__: Any) -> dict[str, Any]:
        self._looks += 1
        if self._error:
            return {"status": {"readyToUse": False, "error": {"message": self._error}}}
        return {"status": {"readyToUse": self._looks > 1}}

    def delete_namespaced_custom_object(self, *named: str, **_: Any) -> None:
        self.deleted.append(named[-1])


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(before_delete, "_SECONDS_BETWEEN_LOOKS", 0)
    monkeypatch.setattr(pulumi.log, "info", lambda *_: None)


def saved(core: Core, custom: Custom) -> list[dict[str, Any]]:
    # A loop of its own: the SDK's mocks need the thread's.
    loop = asyncio.new_event_loop()
    try:
        loop.run_until_complete(before_delete._guarded(lambda: Snapshots(core, custom), DELETED))
    finally:
        loop.close()
    return custom.made


def test_the_snapshot_is_retained_and_tells_why() -> None:
    made_class, made = saved(Core(), Custom([]))
    assert (made_class["driver"], made_class["deletionPolicy"]) == (DRIVER, "Retain")
    assert made["spec"] == {
        "volumeSnapshotClassName": made_class["metadata"]["name"],
        "source": {"persistentVolumeClaimName": "models"},
    }
    assert made["metadata"]["labels"]["tensorplane.dev/reason"] == "before-change"


@pytest.mark.parametrize("core", [Core(phase="Pending"), Core(phase="Lost")])
def test_a_claim_without_bytes_needs_none(core: Core) -> None:
    assert saved(core, Custom([])) == []


def test_a_volume_that_its_driver_has_lost_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []
    monkeypatch.setattr(pulumi.log, "warn", told.append)
    custom = Custom([], error="rpc error: code = NotFound desc = volume v: does not exist")
    taken = saved(Core(driver=embedded.DRIVER), custom)[-1]["metadata"]["name"]
    assert custom.deleted == [taken], "pending, it would keep the claim from going"
    assert told == ["volume models is deleted without a snapshot: its driver no longer finds it"]
    monkeypatch.setattr(before_delete, "_SECONDS_FOR_A_SNAPSHOT", 0)
    for driver, error in ((embedded.DRIVER, "code = Unavailable desc = no answer"), (DRIVER, "code = NotFound")):
        with pytest.raises(RuntimeError, match="not ready after an hour"):
            saved(Core(driver=driver), Custom([], error=error))


@pytest.mark.parametrize(
    ("core", "custom", "why"),
    [
        (Core(uid="2"), Custom([]), "its claim was recreated"),
        (Core(driver=None), Custom([]), "pulumi state delete 'urn:models'; kubectl -n space delete pvc models"),
        (Core(), Custom(None), "pulumi state delete 'urn:models'; kubectl -n space delete pvc models"),
    ],
)
def test_without_a_snapshot_the_volume_stays(core: Core, custom: Custom, why: str) -> None:
    with pytest.raises(RuntimeError, match="volume models is not deleted: ") as refused:
        saved(core, custom)
    assert why in str(refused.value)


@pytest.mark.parametrize(
    ("error", "why"),
    [
        (
            client.ApiException(status=403, reason="Forbidden"),
            "(403) Reason: Forbidden. To delete it without a snapshot: pulumi",
        ),
        (urllib3.exceptions.ProtocolError("reset"), "reset. To delete it without a snapshot: pulumi state delete"),
    ],
)
def test_a_cluster_that_cannot_be_asked_is_no_reason_to_delete_and_the_way_out_is_said(
    monkeypatch: pytest.MonkeyPatch, error: Exception, why: str
) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise error

    core = Core()
    monkeypatch.setattr(core, "read_namespaced_persistent_volume_claim", refuse)
    with pytest.raises(RuntimeError, match="volume models is not deleted: its snapshot failed: ") as refused:
        saved(core, Custom([]))
    assert why in str(refused.value)


def test_a_cluster_that_is_not_known_is_not_the_one_of_kubectl() -> None:
    with pytest.raises(RuntimeError, match="its cluster is not known"):
        cluster_snapshots.of(None, None)


def test_the_class_has_what_the_drivers_own_class_says() -> None:
    def named(name: str, *, default: str = "false", driver: str = DRIVER) -> dict[str, Any]:
        about = {"name": name, "annotations": {"snapshot.storage.kubernetes.io/is-default-class": default}}
        return {"metadata": about, "driver": driver, "parameters": {"secret": name}}

    present = [named("a"), named("b", default="true"), named("0", default="true", driver="other")]
    assert class_that_retains(DRIVER, "space", present)["parameters"] == {"secret": "b"}
    own = class_that_retains(DRIVER, "space", [*present, named("space-z")])
    assert own["parameters"] == {"secret": "space-z"}
    # Nothing in a class can be changed: another one has another name.
    assert own["metadata"]["name"] != class_that_retains(DRIVER, "space", present)["metadata"]["name"]
    assert class_that_retains("filestore.csi.storage.gke.io", "space", [])["parameters"] == {"type": "backup"}
    assert "parameters" not in class_that_retains(DRIVER, "space", [])


def test_volumes_that_are_retained_or_have_no_snapshots_are_deleted_without() -> None:
    import stack

    tree = {
        "cluster": {"kind": "existing", "context": "kind-dev"},
        "volumes": {
            "kept": {"sizeGib": 1, "backend": {"kind": "storageClass", "driver": DRIVER}},
            "saved": {"sizeGib": 1, "retain": False, "backend": {"kind": "storageClass", "driver": DRIVER}},
            "unknown": {"sizeGib": 1, "retain": False},
        },
    }
    rendered = run(lambda: stack.build(stack.ResolvedStack.of(stack.StackConfig.model_validate(tree))))

    def hooks(claim: str) -> Any:
        found: Registered = rendered.one("PersistentVolumeClaim", claim)
        return found.options.get("beforeDelete", [])

    assert hooks("saved") == ["snapshot before a volume of cluster kind-dev is deleted"]
    assert (hooks("kept"), hooks("unknown")) == ([], [])


def test_a_class_of_azure_files_is_told_that_no_snapshot_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []
    monkeypatch.setattr(pulumi.log, "warn", told.append)
    assert saved(Core(driver="file.csi.azure.com"), Custom([])) == []
    assert told == [
        "volume models is deleted without a snapshot: its snapshots are part of the share and would be deleted with it"
    ]


def test_a_snapshot_that_goes_with_its_volume_is_not_said_to_keep_it() -> None:
    from components.clusters.embedded import Embedded
    from components.volumes.settings import VolumeArgs

    cluster = Embedded()  # which volumes that name their backend do not ask
    volumes = [
        VolumeArgs.model_validate({"sizeGib": 100, "retain": False, "backend": {"kind": kind}}) for kind in KINDS
    ]
    assert [volume.saved_before_deletion(cluster) for volume in volumes] == [True, False]
