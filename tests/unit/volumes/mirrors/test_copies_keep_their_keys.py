"""What is made of a volume elsewhere, its backups and its mirror, is encrypted by keys as the volume is, and stays."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest

from tests.support.rendered_files import rendered_tree
from tests.support.rendering import Rendered
from tests.unit.volumes.clouds.test_eks import EAST, EKS, NIGHTLY, WEST, problems

MIRROR = {"mirror": {"to": {"region": "us-east-2"}}}


def efs(**settings: str) -> dict[str, Any]:
    return {"sizeGib": 1, "backend": {"kind": "efs", **settings}}


@cache
def made() -> Rendered:
    volume = {**efs(kmsKey=WEST, mirrorKmsKey=EAST), **MIRROR, "snapshots": NIGHTLY, "retain": False}
    groups = {"cpu": {"machine": "m7i.2xlarge", "min": 2, "max": 2}}
    tree = {"cluster": EKS, "nodeGroups": groups, "volumes": {"models": volume}}
    return rendered_tree(tree)


def test_backups_and_mirror_of_efs_have_keys_of_yours() -> None:
    assert made().one("backup/vault:Vault").inputs["kmsKeyArn"] == WEST
    copy = made().one("efs/replicationConfiguration:ReplicationConfiguration").inputs["destination"]
    assert copy == {"region": "us-east-2", "kmsKeyId": EAST}


def test_a_vault_with_backups_in_it_stays_when_its_volume_goes() -> None:
    vault = made().one("backup/vault:Vault")
    assert (vault.options.get("protect"), vault.options["retainOnDelete"]) == (None, True)
    # So that the next volume of this name can have one.
    assert "name" not in vault.inputs


@pytest.mark.parametrize(
    ("volume", "line"),
    [
        ({**efs(kmsKey=WEST), **MIRROR}, "backend.mirrorKmsKey: missing, but kmsKey is set and works in its own"),
        ({**efs(mirrorKmsKey=WEST), **MIRROR}, "backend.mirrorKmsKey: the key is in us-west-2, but the data is in"),
        (efs(mirrorKmsKey=EAST), "backend.mirrorKmsKey: is set, but the volume has no mirror; remove it, or set"),
    ],
)
def test_a_mirror_has_a_key_where_its_volume_has_one(volume: dict[str, Any], line: str) -> None:
    (found,) = problems(volume)
    assert found.startswith(line)


def test_a_mirror_may_have_a_key_where_its_volume_has_none() -> None:
    assert not problems({**efs(mirrorKmsKey=EAST), **MIRROR})
