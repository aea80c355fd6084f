"""Claims of the driver's class in a real cluster: shared, snapshotted, restored, cloned, grown, never lost."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tensorplane.embedded.cluster import csi
from tests.storage.claims import CLAIMS, SNAPSHOTS, Claims, from_claim, from_snapshot

Run = Callable[..., str]


@pytest.fixture(scope="module")
def writer(claims: Claims) -> Run:
    """A pod that has written one file into the claim `data`."""
    claims.claim("data", "ReadWriteMany")
    run = claims.pod("writer", "data")
    run("sh", "-c", "echo first > /data/file")
    return run


def test_a_pod_of_the_users_group_can_write(writer: Run) -> None:
    assert writer("stat", "-c", "%g", "/data/file").strip() == "65532"


def test_a_second_pod_sees_what_the_first_one_writes(claims: Claims, writer: Run) -> None:
    reader = claims.pod("reader", "data")
    assert reader("cat", "/data/file") == "first\n"
    reader("sh", "-c", "echo hello > /data/from-reader")
    assert writer("cat", "/data/from-reader") == "hello\n"


def test_a_snapshot_keeps_what_was_there_and_restores_it(claims: Claims, writer: Run) -> None:
    writer("sh", "-c", "echo before > /data/state; sync")
    claims.snapshot("state", "data")
    writer("sh", "-c", "echo after > /data/state")
    claims.claim("restored", source=from_snapshot("state"))
    restored = claims.pod("restored", "restored")
    assert restored("cat", "/data/state") == "before\n"
    restored("sh", "-c", "echo mine > /data/state")
    assert writer("cat", "/data/state") == "after\n"


def test_a_clone_is_a_volume_of_its_own(claims: Claims, writer: Run) -> None:
    writer("sh", "-c", "echo shared > /data/cloned; sync")
    claims.claim("clone", source=from_claim("data"))
    clone = claims.pod("clone", "clone")
    assert clone("cat", "/data/cloned") == "shared\n"
    clone("rm", "/data/cloned")
    assert writer("cat", "/data/cloned") == "shared\n"


def test_a_full_volume_takes_more_once_it_is_larger(claims: Claims) -> None:
    claims.claim("small", mib=32)
    run = claims.pod("small", "small")
    with pytest.raises(AssertionError, match="quota"):
        run("dd", "if=/dev/urandom", "of=/data/much", "bs=1M", "count=48")
    claims.claim("small", mib=128)
    claims.until(f"{CLAIMS}/small", lambda found: found["status"]["capacity"]["storage"] == "128Mi")
    run("dd", "if=/dev/urandom", "of=/data/much", "bs=1M", "count=48")


def test_what_is_deleted_in_kubernetes_is_kept_in_the_pool(claims: Claims) -> None:
    name = claims.claim("kept")["spec"]["volumeName"]
    folder = claims.content_of(name)
    bound = claims.snapshot("kept", "kept")["status"]["boundVolumeSnapshotContentName"]
    for gone in (f"{SNAPSHOTS}/kept", f"{CLAIMS}/kept"):
        claims.kube.delete(gone)
        # The controller takes its finalizer away once it has decided what becomes of the data.
        claims.until_gone(gone)
    claims.released(name)
    content = claims.kube.get(f"/apis/snapshot.storage.k8s.io/v1/volumesnapshotcontents/{bound}")
    assert content
    assert folder.is_dir()
    assert (claims.pool / "snapshots" / content["status"]["snapshotHandle"]).is_dir()


def test_a_driver_that_was_killed_serves_again(claims: Claims, writer: Run) -> None:
    before = claims.supervised.states()[csi.DRIVER_PROGRAM].pid
    claims.kill_driver()
    claims.claim("after-kill", source=from_claim("data"))
    assert claims.pod("after-kill", "after-kill")("cat", "/data/file") == "first\n"
    assert writer("cat", "/data/file") == "first\n"
    claims.until_driver_runs()
    assert claims.supervised.states()[csi.DRIVER_PROGRAM].pid != before
