"""The CSI side of the cluster: who runs, what each may do, and that nothing there deletes data."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from tensorplane.embedded.cluster import configuration, csi, pki, pool, process_specs
from tensorplane.embedded.cluster.node_paths import NodePaths
from tensorplane.embedded.csi.contract import DRIVER
from tensorplane.embedded.instance import Instance


@pytest.fixture
def paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> NodePaths:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "odd place"))
    return NodePaths(Instance("test"))


@pytest.fixture
def made(tmp_path: Path) -> list[dict[str, Any]]:
    for name in ("snapshot.storage.k8s.io_volumesnapshots.yaml", "groupsnapshot.storage.k8s.io_other.yaml"):
        kind = {"kind": "CustomResourceDefinition", "metadata": {"name": name}}
        (tmp_path / name).write_text(yaml.safe_dump(kind))
    return csi.manifests(tmp_path)


def _of(made: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    return [one for one in made if one["kind"] == kind]


def test_the_driver_starts_before_its_controllers_and_only_where_asked_for(paths: NodePaths) -> None:
    usual, storing = (process_specs.of_instance(paths, storage=wanted) for wanted in (False, True))
    assert storing[: len(usual)] == usual
    driver, *controllers = storing[len(usual) :]
    assert (driver.name, [one.name for one in controllers]) == (csi.DRIVER_PROGRAM, list(csi.CONTROLLERS))
    assert {one.start_order for one in controllers} == {driver.start_order + 1}


def test_kubelet_driver_and_controllers_agree_on_the_sockets(paths: NodePaths) -> None:
    driver, *controllers = process_specs.of_instance(paths, storage=True)[-5:]
    assert driver.program
    told = dict(zip(driver.arguments[2::2], driver.arguments[3::2], strict=True))
    assert Path(told["--registration"]).parent == paths.kubelet_root / "plugins_registry"
    assert Path(told["--socket"]).is_relative_to(paths.kubelet_root / "plugins" / DRIVER)
    calling = [one for one in controllers if one.name != "snapshot-controller"]
    assert all(f"--csi-address={told['--socket']}" in one.arguments for one in calling)
    assert all(len(told[name]) < 100 for name in ("--socket", "--registration"))  # a socket's path has 107 bytes


def test_each_controller_has_a_name_and_rights_of_its_own(paths: NodePaths, made: list[dict[str, Any]]) -> None:
    clients = [leaf for leaf in csi.leaves(paths.instance) if not leaf.addresses]
    users = {leaf.name: leaf.common_name for leaf in clients}
    assert set(users) == {csi.DRIVER_PROGRAM, *csi.CONTROLLERS}
    assert len(set(users.values())) == len(users)
    assert not any(leaf.organization for leaf in csi.leaves(paths.instance))
    bindings = _of(made, "ClusterRoleBinding")
    assert [binding["subjects"][0]["name"] for binding in bindings] == list(users.values())
    assert [binding["roleRef"]["name"] for binding in bindings] == list(users.values())
    rules = [rule for role in _of(made, "ClusterRole") for rule in role["rules"]]
    assert not {"secrets", "*"} & {word for rule in rules for words in rule.values() for word in words}


def test_only_controllers_that_must_delete_may(made: list[dict[str, Any]]) -> None:
    allowed = {
        (role["metadata"]["name"].removeprefix("tensorplane:"), resource)
        for role in _of(made, "ClusterRole")
        for rule in role["rules"]
        for resource in rule["resources"]
        if "delete" in rule["verbs"]
    }
    assert allowed == {("csi-provisioner", "persistentvolumes"), ("snapshot-controller", "volumesnapshotcontents")}


def test_the_classes_never_delete_data(made: list[dict[str, Any]]) -> None:
    [volumes], [snapshots] = _of(made, "StorageClass"), _of(made, "VolumeSnapshotClass")
    assert (volumes["reclaimPolicy"], snapshots["deletionPolicy"]) == ("Retain", "Retain")
    assert {volumes["provisioner"], snapshots["driver"], _of(made, "CSIDriver")[0]["metadata"]["name"]} == {DRIVER}


def test_kinds_come_before_what_is_of_them_and_groups_not_at_all(made: list[dict[str, Any]]) -> None:
    assert [one["metadata"]["name"] for one in _of(made, "CustomResourceDefinition")] == [
        "snapshot.storage.k8s.io_volumesnapshots.yaml"
    ]
    assert made[0]["kind"] == "CustomResourceDefinition"


def test_an_instance_without_the_driver_gets_no_key_for_it(paths: NodePaths) -> None:
    ours = {leaf.name for leaf in csi.leaves(paths.instance)}
    names = [
        {leaf.name for leaf in configuration.leaves(paths, simulated_nodes=False, storage=wanted)}
        for wanted in (False, True)
    ]
    assert names[0] == {leaf.name for leaf in pki.leaves(paths.instance)}
    assert names[1] == names[0] | ours


def test_a_loop_device_is_ours_by_the_file_behind_it(paths: NodePaths, tmp_path: Path) -> None:
    real = tmp_path / "real"
    real.mkdir()
    paths.instance.home.parent.mkdir(parents=True)
    paths.instance.home.symlink_to(real)
    file = real / paths.pool_file.name
    for name, behind in (
        ("loop0", Path("/elsewhere")),
        ("loop1", file),
        ("loop10", file.with_suffix(".other")),
        ("loop3", real / "mirror.btrfs"),
    ):
        backing = tmp_path / name / "loop" / "backing_file"
        backing.parent.mkdir(parents=True)
        backing.write_text(f"{behind}\n")
    (tmp_path / "loop2").mkdir()
    assert pool.loop_devices(paths, tmp_path) == ["loop1", "loop3"]
