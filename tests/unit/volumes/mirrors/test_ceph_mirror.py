"""Ceph's own mirrors: what is registered for them, and which settings are refused."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import pytest

from tensorplane.agents.ceph_mirror import __main__ as program
from tensorplane.components.volumes.mirrors import ceph as ceph_mirror
from tests.support.problems import problems_of
from tests.support.rendered_files import rendered_tree
from tests.support.rendering import Rendered
from tests.support.schema import Fields, differences

SITE = "91046889-a6aa-4f74-9fb0-f7bb111666b4"
TO_PEER = {"to": {"peer": SITE}, "every": "15m"}
OTHER = {"kind": "cephfs", "clusterId": "rook-two", "fileSystem": "fast"}
EXISTING = {"kind": "existing", "context": "lab"}

# The CRD of Rook's CephClient (rook@d0c3b9ce6, pkg/apis/ceph.rook.io/v1/types.go, ClientSpec).
CLIENT = Fields({"name": str, "secretName": str, "removeSecret": bool, "caps": {str: str}}, frozenset({"caps"}))


@cache
def made() -> Rendered:
    volumes: dict[str, dict[str, Any]] = {
        "models": {"backend": {"kind": "cephfs"}, "mirror": TO_PEER},
        "images": {"backend": {"kind": "cephfs"}, "mirror": {"to": {"peer": SITE}, "every": "1d"}},
        "logs": {"backend": OTHER, "mirror": TO_PEER},
        "plain": {"backend": {"kind": "cephfs"}},
    }
    tree = {"cluster": EXISTING, "volumes": {name: {"sizeGib": 10, **args} for name, args in volumes.items()}}
    return rendered_tree(tree)


def job_of(name: str) -> dict[str, Any]:
    spec = made().one("CronJob", f"mirror-{name}").inputs["spec"]
    pod: dict[str, Any] = spec["jobTemplate"]["spec"]["template"]["spec"]
    return pod


def test_each_mirrored_volume_has_a_job_beside_its_rook() -> None:
    found = {one.name: one.inputs for one in made().all("CronJob")}
    assert {name: one["metadata"]["namespace"] for name, one in found.items()} == {
        "mirror-models": "rook-ceph",
        "mirror-images": "rook-ceph",
        "mirror-logs": "rook-two",
    }
    spec = found["mirror-models"]["spec"]
    assert (spec["schedule"], spec["concurrencyPolicy"]) == ("*/15 * * * *", "Forbid")
    (container,) = job_of("models")["containers"]
    asked = program.parse_arguments(container["command"][3:])
    assert (asked.namespace, asked.claim, asked.peer, asked.keep) == ("tensorplane-dev", "models", SITE, 48)


def test_names_fit_and_are_different_where_many_stacks_have_their_jobs() -> None:
    pairs = [("a-b", "c"), ("a", "b-c"), ("a", "c"), ("a", "m" * 63), ("a", "m" * 35 + "-x"), ("a", "m" * 35 + "-y")]
    names = {ceph_mirror._job_name(*pair) for pair in pairs}
    assert len(names) == len(pairs)
    assert max(len(name) for name in names) == 52
    assert not any("--" in name for name in names)


@pytest.mark.parametrize(("every", "kept"), [("1m", 48), ("15m", 48), ("1h", 24), ("6h", 4), ("1d", 4)])
def test_snapshots_of_a_day_stay_few_enough_for_ceph(every: str, kept: int) -> None:
    assert ceph_mirror.copies(every) == kept


def test_ceph_s_user_may_run_the_commands_of_a_run_on_one_file_system_and_no_other() -> None:
    clients = {one.name: one.inputs for one in made().all("CephClient")}
    assert all(list(differences("spec", one["spec"], CLIENT)) == [] for one in clients.values())
    client = clients["tensorplane-dev-ceph-mirrors-rook-two-fast"]
    assert (client["apiVersion"], client["metadata"]["namespace"]) == ("ceph.rook.io/v1", "rook-two")
    caps = client["spec"]["caps"]
    assert caps["mon"] == "allow r"
    # As Ceph's managers parse them: `command_match` in ceph's src/mgr/MgrCap.cc.
    assert all(re.fullmatch(r'allow command "[^"]+" with [\w./-]+="[^"]+"', one) for one in caps["mgr"].split(", "))
    assert caps["mgr"].split(", ")[:3] == [
        'allow command "fs snapshot mirror peer_list" with fs_name="fast"',
        'allow command "fs snapshot mirror add" with fs_name="fast"',
        'allow command "fs subvolume info" with vol_name="fast"',
    ]
    secret = next(one["secret"] for one in job_of("logs")["volumes"] if "secret" in one)
    user = client["metadata"]["name"]
    assert (secret["secretName"], secret["items"]) == (f"rook-ceph-client-{user}", [{"key": user, "path": "key"}])


def test_the_account_sees_the_mirrored_claims_and_volumes_and_the_admin_s_key_is_nowhere() -> None:
    role = made().one("Role", "tensorplane-dev-ceph-mirrors-rook-ceph").inputs
    (rule,) = role["rules"]
    assert (rule["resources"], rule["verbs"]) == (["persistentvolumeclaims"], ["get"])
    assert rule["resourceNames"] == ["images", "models"]
    (rule,) = made().one("ClusterRole", "tensorplane-dev-ceph-mirrors-rook-ceph").inputs["rules"]
    assert (rule["resources"], rule["verbs"]) == (["persistentvolumes"], ["get"])
    assert "rook-ceph-mon'" not in str([one.inputs for one in made().all("CronJob")])


def test_its_pods_are_restricted() -> None:
    pod = job_of("models")
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    (container,) = pod["containers"]
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }


@pytest.mark.parametrize(
    ("volume", "line"),
    [
        ({"mirror": {"to": {"peer": SITE}}}, "mirror.every: missing, but the CronJob for Ceph mirrors requires an"),
        ({"mirror": {**TO_PEER, "every": "7m"}}, "mirror.every: is 7m, but the CronJob for Ceph mirrors requires"),
        ({"mirror": {**TO_PEER, "alert": True}}, "mirror.alert: is not supported, because Ceph reports the lag"),
        ({"mirror": {"to": {"peer": ""}, "every": "1h"}}, "mirror.to.peer: invalid value ''; use some text"),
        (
            {"mirror": TO_PEER, "accessModes": ["ReadOnlyMany"], "from": {"snapshot": "models-20261121-0400"}},
            "mirror.to.peer: is not supported for a shallow read-only volume, which has no directory of its own;",
        ),
        (
            {"mirror": TO_PEER, "backend": {"kind": "nfs", "server": "nfs.example.com", "folder": "/data"}},
            "mirror.to.peer: backend nfs cannot mirror to a peer (it mirrors to remote or volume); use cephfs",
        ),
    ],
)
def test_what_ceph_cannot_mirror_is_one_line(volume: dict[str, Any], line: str) -> None:
    tree = {"cluster": EXISTING, "volumes": {"models": {"sizeGib": 1, "backend": {"kind": "cephfs"}, **volume}}}
    (found,) = problems_of(tree)
    assert found.removeprefix("tensorplane:volumes.models.").startswith(line)
