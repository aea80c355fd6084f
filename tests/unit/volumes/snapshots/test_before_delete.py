"""What a snapshot before a deletion asks of a cluster, without one."""

from __future__ import annotations

from typing import Any, cast

import pulumi
import pytest

from tensorplane.components.volumes.backends import embedded
from tensorplane.components.volumes.snapshots import before_delete
from tensorplane.components.volumes.snapshots.before_delete import SnapshotApi, class_that_retains
from tensorplane.core.errors import UNREACHABLE, ApiError
from tensorplane.core.kube import Kube
from tests.support.rendering import Registered, in_a_loop, run

KINDS = ("azureDisk", "azureFiles")
DRIVER = "disk.example.org"
CLASSES = "/apis/snapshot.storage.k8s.io/v1/volumesnapshotclasses"
SNAPSHOTS = "/apis/snapshot.storage.k8s.io/v1/namespaces/space/volumesnapshots"
DELETED = pulumi.ResourceHookArgs(
    urn="urn:models", id="space/models", name="models", type="claim", old_outputs={"metadata": {"uid": "1"}}
)


class Api:
    """A cluster with one claim and its volume, whose snapshots are ready at the second look."""

    def __init__(
        self,
        classes: list[dict[str, Any]] | None,
        *,
        phase: str = "Bound",
        uid: str = "1",
        driver: str | None = DRIVER,
        error: str = "",
    ) -> None:
        claim = {"metadata": {"uid": uid}, "status": {"phase": phase}, "spec": {"volumeName": "pv-1"}}
        self._objects: dict[str, Any] = {
            "/api/v1/namespaces/space/persistentvolumeclaims/models": claim,
            "/api/v1/persistentvolumes/pv-1": {"spec": {"csi": {"driver": driver}} if driver else {}},
            CLASSES: None if classes is None else {"items": classes},
        }
        self.made, self._looks, self._error = list[dict[str, Any]](), 0, error
        self.deleted: list[str] = []

    def get(self, path: str) -> Any:
        return self._objects[path]

    def create(self, path: str, made: dict[str, Any]) -> None:
        self.made.append(made)
        if path == CLASSES:
            raise ApiError(409, "AlreadyExists", "it exists")
        assert path == SNAPSHOTS

    def json(self, method: str, path: str) -> dict[str, Any]:
        assert (method, path) == ("GET", f"{SNAPSHOTS}/{self.made[-1]['metadata']['name']}")
        self._looks += 1
        if self._error:
            return {"status": {"readyToUse": False, "error": {"message": self._error}}}
        return {"status": {"readyToUse": self._looks > 1}}

    def delete(self, path: str) -> None:
        self.deleted.append(path.removeprefix(f"{SNAPSHOTS}/"))


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(before_delete, "_POLL_SECONDS", 0)
    monkeypatch.setattr(pulumi.log, "info", lambda *_: None)


def saved(api: Api) -> list[dict[str, Any]]:
    in_a_loop(lambda: before_delete._take_with_remedy(lambda: SnapshotApi(cast(Kube, api)), DELETED))
    return api.made


def test_the_snapshot_is_retained_and_tells_why() -> None:
    made_class, made = saved(Api([]))
    assert (made_class["driver"], made_class["deletionPolicy"]) == (DRIVER, "Retain")
    assert made["spec"] == {
        "volumeSnapshotClassName": made_class["metadata"]["name"],
        "source": {"persistentVolumeClaimName": "models"},
    }
    assert made["metadata"]["labels"]["tensorplane.dev/reason"] == "before-change"


@pytest.mark.parametrize("api", [Api([], phase="Pending"), Api([], phase="Lost")])
def test_a_claim_without_bytes_needs_none(api: Api) -> None:
    assert saved(api) == []


def test_a_volume_that_its_driver_has_lost_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []
    monkeypatch.setattr(pulumi.log, "warn", told.append)
    api = Api([], driver=embedded.DRIVER, error="rpc error: code = NotFound desc = volume v: does not exist")
    snapshot = saved(api)[-1]["metadata"]["name"]
    assert api.deleted == [snapshot], "pending, it would keep the claim from going"
    assert told == ["volume models is deleted without a snapshot: its driver no longer finds it"]
    monkeypatch.setattr(before_delete, "_TIMEOUT_SECONDS", 0)
    for driver, error in ((embedded.DRIVER, "code = Unavailable desc = no answer"), (DRIVER, "code = NotFound")):
        with pytest.raises(RuntimeError, match="not ready after an hour"):
            saved(Api([], driver=driver, error=error))


@pytest.mark.parametrize(
    ("api", "why"),
    [
        (Api([], uid="2"), "its claim was recreated"),
        (Api([], driver=None), "pulumi state delete 'urn:models'; kubectl -n space delete pvc models"),
        (Api(None), "pulumi state delete 'urn:models'; kubectl -n space delete pvc models"),
    ],
)
def test_without_a_snapshot_the_volume_stays(api: Api, why: str) -> None:
    with pytest.raises(RuntimeError, match="volume models is not deleted: ") as refused:
        saved(api)
    assert why in str(refused.value)


@pytest.mark.parametrize(
    ("error", "why"),
    [
        (
            ApiError.from_response(403, "Forbidden", "", "GET /claim"),
            "GET /claim: 403 Forbidden. To delete it without a snapshot: pulumi",
        ),
        (ApiError(0, UNREACHABLE, "reset"), "reset. To delete it without a snapshot: pulumi state delete"),
    ],
)
def test_a_cluster_that_cannot_be_asked_is_no_reason_to_delete_and_the_way_out_is_said(
    monkeypatch: pytest.MonkeyPatch, error: Exception, why: str
) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise error

    api = Api([])
    monkeypatch.setattr(api, "get", refuse)
    with pytest.raises(RuntimeError, match="volume models is not deleted: its snapshot failed: ") as refused:
        saved(api)
    assert why in str(refused.value)


def test_a_cluster_that_is_not_known_is_not_the_one_of_kubectl() -> None:
    with pytest.raises(RuntimeError, match="its cluster is not known"):
        before_delete.connect(None, None)


def test_the_class_has_what_the_drivers_own_class_says() -> None:
    def named(name: str, *, default: str = "false", driver: str = DRIVER) -> dict[str, Any]:
        metadata = {"name": name, "annotations": {"snapshot.storage.kubernetes.io/is-default-class": default}}
        return {"metadata": metadata, "driver": driver, "parameters": {"secret": name}}

    present = [named("a"), named("b", default="true"), named("0", default="true", driver="other")]
    assert class_that_retains(DRIVER, "space", present)["parameters"] == {"secret": "b"}
    own = class_that_retains(DRIVER, "space", [*present, named("space-z")])
    assert own["parameters"] == {"secret": "space-z"}
    # Nothing in a class can be changed: another one has another name.
    assert own["metadata"]["name"] != class_that_retains(DRIVER, "space", present)["metadata"]["name"]
    assert class_that_retains("filestore.csi.storage.gke.io", "space", [])["parameters"] == {"type": "backup"}
    assert "parameters" not in class_that_retains(DRIVER, "space", [])


def test_volumes_that_are_retained_or_have_no_snapshots_are_deleted_without() -> None:
    from tensorplane import stack

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
    assert saved(Api([], driver="file.csi.azure.com")) == []
    assert told == [
        "volume models is deleted without a snapshot: its snapshots are part of the share and would be deleted with it"
    ]


def test_a_snapshot_that_goes_with_its_volume_is_not_said_to_keep_it() -> None:
    from tensorplane.components.clusters.embedded import Embedded
    from tensorplane.components.volumes.settings import VolumeArgs

    cluster = Embedded()  # which volumes that name their backend do not ask
    volumes = [
        VolumeArgs.model_validate({"sizeGib": 100, "retain": False, "backend": {"kind": kind}}) for kind in KINDS
    ]
    assert [volume.saved_before_deletion(cluster) for volume in volumes] == [True, False]
