"""What pods mount, and where: one volume at a path, read-only mounts, and what their backends can do."""

from dataclasses import replace

import pytest

from tensorplane.components.volumes.backends.nfs import Nfs
from tests.support.problems import dev, problems_of


def test_two_volumes_in_one_place() -> None:
    tree = dev()
    tree["volumes"]["data"] = {"sizeGib": 1}
    tree["workloads"]["digits"]["volumes"]["data"] = "/models"
    reason = "/models is already the mount path of volume models; use another path"
    assert problems_of(tree) == [f"tensorplane:workloads.digits.volumes.data: {reason}"]


def test_no_volume_is_mounted_inside_another() -> None:
    tree = dev()
    tree["volumes"]["data"] = {"sizeGib": 1}
    tree["workloads"]["digits"]["volumes"]["data"] = "/models/data"
    reason = "/models/data is inside /models, the mount path of volume models; use a path outside it, such as /data"
    assert problems_of(tree) == [f"tensorplane:workloads.digits.volumes.data: {reason}"]
    tree["workloads"]["digits"]["volumes"]["data"] = "/models-data"
    assert problems_of(tree) == []


def test_nothing_can_be_written_to_a_read_only_mount() -> None:
    tree = dev()
    tree["workloads"]["digits"]["volumes"] = {"models": {"path": "/models", "readOnly": True}}
    reason = "volume models is mounted read-only here, but must be writable; remove readOnly"
    assert problems_of(tree) == [
        f"tensorplane:workloads.digits.model.volume: {reason}",
        f"tensorplane:workloads.digits.checkpoints.volume: {reason}",
    ]


def test_what_cannot_rename_takes_neither_checkpoints_nor_models(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Nfs, "capabilities", replace(Nfs.capabilities, rename=False))
    tree = dev()
    tree["cluster"] = {"kind": "existing", "context": "lab"}
    tree["volumes"]["models"]["backend"] = {"kind": "nfs", "server": "s", "folder": "/f"}
    reason = "volume models is on backend nfs, which cannot rename files; use a volume on "
    for key in ("model", "checkpoints"):
        (line,) = [line for line in problems_of(tree) if f"digits.{key}." in line]
        assert line.startswith(f"tensorplane:workloads.digits.{key}.volume: {reason}")
        have = line.rpartition("use a volume on ")[2].split(", ")
        assert "storageClass" in have
        assert not {"nfs", "efs"} & set(have)


def test_a_place_must_be_mounted() -> None:
    tree = dev()
    del tree["workloads"]["digits"]["checkpoints"]
    tree["workloads"]["digits"]["volumes"] = {}
    assert problems_of(tree) == [
        "tensorplane:workloads.digits.model.volume: volume models is not mounted here; add it to `volumes`"
    ]
