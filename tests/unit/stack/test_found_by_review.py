"""Settings with mistakes that were accepted in silence, until a reviewer edited the stacks' files by hand."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from tensorplane.components.base.settings import Settings
from tensorplane.stack import checks, load
from tests.support.problems import problems_of, put
from tests.support.rendering import PROJECT, settings_of


def _tree(stack: str, **settings: Any) -> dict[str, Any]:
    folder = PROJECT if stack.startswith("Pulumi.") else PROJECT / "examples"
    tree = copy.deepcopy(settings_of(folder / f"{stack}.yaml").tree)
    for path, value in settings.items():
        put(tree, path, value)
    return tree


def _problems(stack: str, **settings: Any) -> list[str]:
    return [line.removeprefix("tensorplane:") for line in problems_of(_tree(stack, **settings))]


def _notes(stack: str, **settings: Any) -> list[str]:
    """The notes of settings without faults, but those that the stack has anyway."""
    usual = {str(note) for note in checks.notes(load(Settings(_tree(stack))))}
    found = [str(note) for note in checks.notes(load(Settings(_tree(stack, **settings))))]
    return [note.removeprefix("tensorplane:") for note in found if note not in usual]


def _class(name: str, **more: Any) -> dict[str, Any]:
    return {"kind": "storageClass", "name": name, **more}


@pytest.mark.parametrize(
    ("stack", "volume", "name", "line"),
    [
        ("Pulumi.staging", "models", "tensorplane-fliles",
         "volumes.models.backend.name: the cluster has no StorageClass 'tensorplane-fliles'; choose one of "),
        ("aks", "models", "tensorplane-files",
         "volumes.models.backend.name: the cluster has no StorageClass 'tensorplane-files'; choose one of "),
        ("Pulumi.dev", "models", "tensorplane-embeded",
         "volumes.models.backend.name: the cluster has no StorageClass 'tensorplane-embeded'; choose one of "),
    ],
)  # fmt: skip
def test_a_class_of_tensorplanes_that_the_cluster_does_not_get_is_refused(
    stack: str, volume: str, name: str, line: str
) -> None:
    (found,) = _problems(stack, **{f"volumes/{volume}/backend": _class(name)})
    assert found.startswith(line)


def test_a_mistyped_class_is_refused_with_the_nearest() -> None:
    (found,) = _problems("Pulumi.staging", **{"volumes/models/backend": _class("tensorplane-fliles")})
    assert found.endswith("(did you mean tensorplane-files?)")


def test_the_class_in_a_network_of_yours_is_not_made() -> None:
    own = {"network": "n", "subnetwork": "s", "podsRange": "p", "servicesRange": "v"}
    (found,) = _problems("Pulumi.staging", **{"cluster/network": {"existing": own}})
    assert found.startswith("volumes.models.backend.name: the cluster has no StorageClass 'tensorplane-files'; ")


@pytest.mark.parametrize("name", ["premium-rw0", "fast"])
def test_a_class_that_somebody_else_must_make_is_a_note(name: str) -> None:
    (note,) = _notes("Pulumi.staging", **{"volumes/models/backend": _class(name)})
    assert note.startswith(
        f"volumes.models.backend.name: neither this stack nor the cloud creates StorageClass {name!r}"
    )
    assert ("did you mean premium-rwo" in note) == (name == "premium-rw0")


@pytest.mark.parametrize(
    ("stack", "backend"),
    [
        ("Pulumi.staging", _class("standard-rwx")),
        ("Pulumi.staging", _class("rook-cephfs", driver="rook-ceph.cephfs.csi.ceph.com")),
        ("existing-cluster", _class("tensorplane-fliles")),
    ],
)
def test_classes_of_the_cloud_of_a_driver_of_yours_and_of_other_clusters_are_accepted(stack: str, backend: Any) -> None:
    volume = next(iter(_tree(stack)["volumes"]))
    assert _notes(stack, **{f"volumes/{volume}/backend": backend}) == []


def test_the_class_of_brokers_is_one_of_the_cluster() -> None:
    cluster = _tree("Pulumi.staging")["cluster"]
    put_in = "streams/events/broker/brokers/storageClass"
    groups = _tree("Pulumi.staging")["nodeGroups"]
    given = {"cluster": cluster, "nodeGroups": groups}
    (found,) = _problems("streams", **given, **{put_in: "tensorplane-file"})
    assert found.startswith("streams.events.broker.brokers.storageClass: the cluster has no StorageClass")


_JOB = "workloads/digits"


def test_a_job_with_files_runs_in_their_folder_whatever_its_image() -> None:
    (line,) = _problems("Pulumi.staging", **{f"{_JOB}/command": ["python3", "trian.py"]})
    assert line == "workloads.digits.command.1: 'trian.py' is not one of `files`; add it (did you mean train.py?)"
    (line,) = _problems("Pulumi.staging", **{f"{_JOB}/command": ["./bin/train"]})
    assert line.startswith("workloads.digits.command.0: './bin/train' is not in the working directory, which has")


@pytest.mark.parametrize(
    "command",
    [
        ["python3", "/srv/other.py"],
        ["python3", "../other.py"],
        ["python3", "$(SCRIPT)"],
        ["bash", "train.sh"],
        ["train"],
    ],
)
def test_an_image_of_yours_has_scripts_and_programs_elsewhere(command: list[str]) -> None:
    assert _problems("Pulumi.staging", **{f"{_JOB}/command": command}) == []


@pytest.mark.parametrize(
    ("stack", "path"),
    [
        ("Pulumi.dev", f"{_JOB}/queue"),
        ("Pulumi.dev", f"{_JOB}/checkpoints"),
        ("Pulumi.dev", f"{_JOB}/resources/accelerator"),
        ("Pulumi.dev", "volumes/models/backend"),
        ("Pulumi.dev", "namespace"),
        ("Pulumi.prod", "nodeGroups/cpu/accelerator"),
        ("Pulumi.prod", "cluster/name"),
        ("existing-cluster", "cluster/kubeconfig"),
    ],
)
def test_a_key_without_a_value_is_no_way_to_ask_for_the_default(stack: str, path: str) -> None:
    (line,) = _problems(stack, **{path: None})
    assert line == f"{path.replace('/', '.')}: no value; set one, or remove the key"


def test_null_where_it_has_a_meaning_of_its_own() -> None:
    assert _problems("streams", **{"streams/events/topics/clicks/retentionHours": None}) == []
    assert _problems("Pulumi.dev", **{"volumes/models/path": "/models", f"{_JOB}/volumes/models": None}) == []


@pytest.mark.parametrize(
    ("path", "written"),
    [("digitz", " (did you mean digits?)"), ("other", " (jobs write to digits)")],
)
def test_a_server_beside_jobs_that_write_elsewhere_is_a_note(path: str, written: str) -> None:
    (note,) = _notes("Pulumi.dev", **{f"{_JOB}-server/model/path": path})
    said = (
        f"no job of the stack writes models to {path} on volume models{written}; the server waits until a "
        f"model appears there"
    )
    assert note.startswith(f"workloads.digits-server.model.path: {said}")


def test_models_of_other_volumes_and_below_a_jobs_folder_are_no_note() -> None:
    assert _notes("Pulumi.dev", **{f"{_JOB}-server/model/path": "digits/best"}) == []
    bought = {"volumes/bought": {"sizeGib": 1}, f"{_JOB}-server/model": {"volume": "bought", "path": "half"}}
    assert _notes("Pulumi.dev", **bought) == []


_SERVER = f"{_JOB}-server"
_ARM = {"machine": "c4a-standard-8", "min": 2, "max": 6}


def _served_on(group: Any, **more: Any) -> dict[str, Any]:
    return {"nodeGroups/cpu": group, f"{_SERVER}/resources": {"cpus": 1, "memoryGib": 4}, **more}


@pytest.mark.parametrize("image", [None, "tensorflow/serving:2.20.0"])
def test_tensorflow_serving_is_refused_where_all_nodes_are_arm64(image: str | None) -> None:
    named = {f"{_SERVER}/image": image} if image else {}
    (line,) = _problems("Pulumi.staging", **_served_on(_ARM, **named))
    shown = repr(image) if image else "missing, and the default image"
    assert line.startswith(f"workloads.digits-server.image: {shown} has no build for arm64, the architecture of group")


def test_an_image_of_yours_may_be_built_for_arm64() -> None:
    mine = {f"{_SERVER}/image": "registry.example/serving:1"}
    assert _notes("Pulumi.staging", **_served_on(_ARM, **mine)) == []


def test_nodes_of_both_kinds_are_a_note_until_the_server_names_its_group() -> None:
    both = _served_on({"machine": "n2-standard-8", "max": 2}, **{"nodeGroups/arm": _ARM})
    (note,) = _notes("Pulumi.staging", **both)
    assert note.startswith(
        "workloads.digits-server.resources: pods cannot start on group arm, because tensorflow/serving has no"
    )
    assert _notes("Pulumi.staging", **both, **{f"{_SERVER}/resources/nodeGroup": "cpu"}) == []
