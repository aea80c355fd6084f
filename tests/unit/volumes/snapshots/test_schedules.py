"""Scheduled snapshots: what is registered for them."""

from __future__ import annotations

import json

import pytest

from tensorplane import stack
from tensorplane.agents.snapshots import __main__ as program
from tensorplane.components.base import field_docs
from tensorplane.components.base.settings import Settings
from tensorplane.components.controllers import kueue as kueue_controller
from tensorplane.components.volumes.snapshots.settings import DEFAULT_KEEP, SnapshotsArgs
from tensorplane.components.volumes.snapshots.snapshotter import ACCOUNT
from tensorplane.stack import checks
from tests.support.rendered_files import rendered_tree
from tests.support.rendering import Rendered

FILES = {"kind": "storageClass", "name": "files", "driver": "files.csi.example"}


@pytest.fixture(scope="module")
def made() -> Rendered:
    volumes = {
        "models": {"sizeGib": 10, "backend": FILES, "snapshots": {"schedule": "@hourly", "keep": 3, "expire": "2d"}},
        "copy": {"sizeGib": 10, "backend": FILES, "from": {"volume": "models"}},
        "old": {"sizeGib": 10, "backend": FILES, "from": {"snapshot": "models-20261121-0400"}},
    }
    tree = {"cluster": {"kind": "existing", "context": "lab"}, "volumes": volumes}
    return rendered_tree(tree)


def test_the_class_retains_and_is_the_driver_s(made: Rendered) -> None:
    found = made.one("VolumeSnapshotClass").inputs
    assert (found["driver"], found["deletionPolicy"]) == ("files.csi.example", "Retain")


def test_the_schedule_says_which_snapshots_stay(made: Rendered) -> None:
    spec = made.one("CronJob").inputs["spec"]
    assert (spec["schedule"], spec["timeZone"], spec["concurrencyPolicy"]) == ("0 * * * *", "Etc/UTC", "Forbid")
    (container,) = spec["jobTemplate"]["spec"]["template"]["spec"]["containers"]
    words = container["command"][3:]
    arguments = program.parse_arguments(words)
    assert (arguments.volume, arguments.keep, arguments.expire) == ("models", 3, 48 * 3600)
    assert arguments.hold == ["models-20261121-0400"], "volume old is made from it"
    assert arguments.snapshot_class == made.one("VolumeSnapshotClass").inputs["metadata"]["name"]


def test_the_default_number_of_snapshots_is_the_documented_one() -> None:
    plain = SnapshotsArgs(schedule="@hourly")
    assert plain.count == [f"--keep={DEFAULT_KEEP}"]
    assert f"{DEFAULT_KEEP} if `expire` is not set either." in field_docs.docstring(SnapshotsArgs, "keep"), (
        "update the field's text"
    )
    assert SnapshotsArgs(schedule="@hourly", expire="2d").count == []


def test_its_pods_are_restricted_and_may_only_take_and_expire_snapshots(made: Rendered) -> None:
    pod = made.one("CronJob").inputs["spec"]["jobTemplate"]["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
    assert container["securityContext"]["readOnlyRootFilesystem"] is True
    (in_namespace,) = made.one("Role", ACCOUNT).inputs["rules"]
    (everywhere,) = made.one("ClusterRole", f"tensorplane-dev-{ACCOUNT}").inputs["rules"]
    assert (in_namespace["resources"], in_namespace["verbs"]) == (
        ["volumesnapshots"],
        ["get", "list", "create", "delete"],
    )
    assert (everywhere["resources"], everywhere["verbs"]) == (["volumesnapshotcontents"], ["patch"])
    policy = made.one("ValidatingAdmissionPolicy", f"tensorplane-dev-{ACCOUNT}").inputs["spec"]
    assert "system:serviceaccount:tensorplane-dev:volume.snapshots" in policy["matchConditions"][0]["expression"]
    assert policy["validations"][0]["expression"] == "oldObject.spec.volumeSnapshotRef.namespace == 'tensorplane-dev'"


def test_a_restored_and_a_cloned_volume_name_their_origin(made: Rendered) -> None:
    origins = {r.name: r.inputs["spec"].get("dataSource") for r in made.all("PersistentVolumeClaim")}
    assert origins == {
        "models": None,
        "copy": {"kind": "PersistentVolumeClaim", "name": "models"},
        "old": {"apiGroup": "snapshot.storage.k8s.io", "kind": "VolumeSnapshot", "name": "models-20261121-0400"},
    }
    assert "PersistentVolumeClaim models" in made.one("PersistentVolumeClaim", "copy").options["dependsOn"]


def test_nothing_of_it_is_there_without_a_schedule() -> None:
    tree = {"cluster": {"kind": "existing", "context": "lab"}, "volumes": {"models": {"sizeGib": 1, "backend": FILES}}}
    plain = rendered_tree(tree)
    assert not [r for r in plain.resources if "napshot" in f"{r.type} {r.name}"]


def test_kueue_takes_jobsets_alone_and_another_kueue_gets_no_queue_that_takes_all() -> None:
    values = kueue_controller.values()["managerConfig"]["controllerManagerConfigYaml"]
    assert json.loads(values)["integrations"] == {"frameworks": ["jobset.x-k8s.io/jobset"]}

    def faults(kueue: str, queue: str) -> list[str]:
        tree = {
            "cluster": {"kind": "existing", "context": "lab"},
            "controllers": {"kueue": kueue},
            "queues": {queue: {"cpus": 1, "memoryGib": 1}},
            "volumes": {"models": {"sizeGib": 1, "backend": FILES, "snapshots": {"schedule": "@daily"}}},
        }
        resolved = stack.ResolvedStack.of(stack.StackConfig.model_validate(tree))
        return [str(fault) for fault in checks.find_problems(resolved, Settings(tree))]

    (only,) = faults("present", "default")
    assert only.startswith("tensorplane:queues.default: the cluster's own Kueue may queue the pods that take")
    assert faults("chart", "default") == faults("present", "training") == []
