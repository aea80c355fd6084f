"""The pod of a copy: what it may mount, and what it cannot do."""

from __future__ import annotations

from typing import Any

import pytest

from tensorplane import stack
from tensorplane.cli.commands.cp import volume_pod
from tensorplane.components.base.settings import Settings
from tensorplane.core.errors import UserError
from tests.support.problems import dev


def _pod(tree: dict[str, Any], *, account: str = "default", read_only: bool = False) -> dict[str, Any]:
    return volume_pod.of(stack.load(Settings(tree)), "models", account, read_only=read_only)


@pytest.mark.parametrize("read_only", [True, False])
def test_it_mounts_the_volume_alone_and_runs_as_every_pod_does(read_only: bool) -> None:
    spec = _pod(dev(), read_only=read_only)["spec"]
    claims = [volume["persistentVolumeClaim"] for volume in spec["volumes"] if "persistentVolumeClaim" in volume]
    assert claims == [{"claimName": "models", **({"readOnly": True} if read_only else {})}]
    assert (spec["serviceAccountName"], spec["automountServiceAccountToken"]) == ("default", False)
    assert spec["securityContext"]["runAsNonRoot"]
    assert spec["restartPolicy"] == "Never"
    assert spec["activeDeadlineSeconds"] > 3600, "a command that was killed leaves no pod for ever"


@pytest.mark.parametrize(
    ("volume", "account", "read_only", "fault"),
    [
        ({}, "default", False, None),
        ({"writers": ["digits"]}, "digits", False, None),
        ({"writers": ["digits"]}, "digits", True, None),
        ({"writers": ["digits"], "readers": ["other"]}, "other", True, None),
        ({"writers": ["digits"], "readers": ["other"]}, "other", False, "does not allow other to mount it"),
        ({"writers": ["digits"], "readers": ["digits-server"]}, "default", True, "does not allow default to mount it"),
        ({"writers": ["digits"], "readers": ["digits-server", "group:research"]}, "default", True, None),
    ],
)
def test_readers_may_copy_from_a_volume_and_writers_to_it(
    volume: dict[str, Any], account: str, read_only: bool, fault: str | None
) -> None:
    tree = dev()
    tree["volumes"]["models"] |= volume
    tree["workloads"] = {}
    if fault is None:
        assert _pod(tree, account=account, read_only=read_only)["spec"]["serviceAccountName"] == account
    else:
        with pytest.raises(UserError, match=f"^models: volume models {fault}; add it to the volume's "):
            _pod(tree, account=account, read_only=read_only)


def test_an_unknown_volume_names_those_there_are() -> None:
    with pytest.raises(
        UserError, match=r"modls: no volume is named 'modls'; choose one of models \(did you mean models\?\)"
    ):
        volume_pod.of(stack.load(Settings(dev())), "modls", "default", read_only=True)


def test_a_disk_of_one_node_is_mounted_where_the_other_pods_are() -> None:
    tree = dev()
    tree["cluster"] = {"kind": "existing", "context": "lab"}
    pod = _pod(tree)
    (term,) = pod["spec"]["affinity"]["podAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    assert term["labelSelector"]["matchLabels"].items() <= pod["metadata"]["labels"].items()
