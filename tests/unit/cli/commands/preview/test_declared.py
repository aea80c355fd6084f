"""What a new volume starts with, from its resources."""

from __future__ import annotations

from typing import Any

import pytest

from tensorplane.cli.commands.preview import declared

CLAIM, CLASS = "kubernetes:core/v1:PersistentVolumeClaim", "kubernetes:storage.k8s.io/v1:StorageClass"
PERSISTENT: declared.Resource = ("kubernetes:core/v1:PersistentVolume", {})
END = "kubernetes:volsync.backube/v1alpha1:ReplicationDestination"
SNAPSHOT = {"kind": "VolumeSnapshot", "name": "monday"}


def _claim(**spec: Any) -> declared.Resource:
    return CLAIM, {"spec": spec}


@pytest.mark.parametrize(
    ("resources", "says"),
    [
        ([_claim(storageClassName="ceph")], ""),
        ([_claim(dataSource=SNAPSHOT)], "a copy of VolumeSnapshot monday"),
        ([_claim(dataSource={"kind": "PersistentVolumeClaim", "name": "models"})], "a copy of volume models"),
        ([_claim(volumeName="a"), PERSISTENT], "whatever its existing storage has"),
        ([_claim(volumeName="a"), PERSISTENT, ("aws:efs/fileSystem:FileSystem", {})], ""),
        ([_claim(), (CLASS, {"parameters": {"mirrorOf": "models"}})], "the newest copy of the mirror of volume models"),
        ([_claim(), (END, {})], "what its mirror sends"),
        ([(CLAIM, {"spec": "hidden"})], ""),
    ],
)
def test_a_volume_starts_with_its_source(resources: list[declared.Resource], says: str) -> None:
    assert declared.volume_origin(resources) == says


def test_resources_belong_to_the_volume_that_is_their_parent() -> None:
    urn = "urn:pulumi:dev::tensorplane::tensorplane:index:Volume"
    step = {"op": "create", "urn": f"{urn}${CLASS}::dev-a", "type": CLASS, "new": {"parent": f"{urn}::a"}}
    assert declared.volume_of(step) == "a"
    assert declared.volume_of({**step, "urn": f"{urn}${CLAIM}::a", "type": CLAIM, "new": {"inputs": {}}}) == "a"
    assert declared.volume_of({**step, "op": "delete"}) == ""
    assert declared.volume_of({**step, "urn": f"urn:pulumi:dev::tensorplane::{CLASS}::dev-a"}) == ""
