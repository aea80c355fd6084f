"""What a person reads before an update deletes or replaces a volume: how much it holds, and what keeps it."""

from __future__ import annotations

from typing import Any

import pytest

from cli.commands.preview import render
from cli.commands.preview.report import Report
from driver.deleted_volumes import Facts, going, lines, loose

_STACK = "urn:pulumi:dev::tensorplane::"
URN = f"{_STACK}tensorplane:index:Volume$kubernetes:core/v1:PersistentVolumeClaim::scratch"
HOOKS = {"resourceHooks": {"before-delete": ["snapshot"]}}
ASKED = {"spec": {"resources": {"requests": {"storage": "2Gi"}}}}


def state(**more: Any) -> dict[str, Any]:
    return {"deployment": {"resources": [{"urn": URN, "id": "ml/scratch", "inputs": ASKED, **more}]}}


def facts(policy: str = "Delete", phase: str = "Bound") -> Facts:
    claim = {"spec": {"volumeName": "pv-1"}, "status": {"phase": phase}}
    volume = {"metadata": {"name": "pv-1"}, "spec": {"persistentVolumeReclaimPolicy": policy}}
    taken = [
        {
            "metadata": {"name": f"scratch-{day}", "creationTimestamp": day},
            "spec": {"source": {"persistentVolumeClaimName": "scratch"}},
            "status": {"readyToUse": True},
        }
        for day in ("20261120", "20261121")
    ]
    return Facts({"scratch": claim}, {"pv-1": volume}, tuple(taken), {"scratch": 3 * 2**20})


@pytest.mark.parametrize(
    ("known", "cluster", "says"),
    [
        (state(**HOOKS), facts(),
         "(2 GiB requested, 3 MiB used): its data stays in a snapshot taken first and in 2 earlier snapshots, "
         "the newest scratch-20261121"),
        (state(), facts("Retain"), "(2 GiB requested, 3 MiB used): its data stays in PersistentVolume pv-1"),
        (state(), facts(), "(2 GiB requested, 3 MiB used): no copy of its data is known"),
        (state(**HOOKS), facts(phase="Pending"), "(2 GiB requested, 3 MiB used): no storage is provisioned for it yet"),
        (state(), Facts(), "(2 GiB requested): no copy of its data is known"),
        (state(retainOnDelete=True), Facts(),
         "(2 GiB requested): its data stays in its claim, which stays in the cluster"),
    ],
)  # fmt: skip
def test_each_volume_that_goes_is_one_line_with_what_keeps_its_bytes(known: Any, cluster: Facts, says: str) -> None:
    assert lines(known, {URN: "deleted"}, cluster) == [f"volume scratch is deleted {says}"]


def test_what_is_protected_is_refused_and_no_volume_that_goes() -> None:
    assert lines(state(protect=True), {URN: "deleted"}, facts()) == []
    assert (loose(state(protect=True)), loose(state()), loose({"deployment": {}})) == (False, True, False)


def test_only_volumes_are_listed_and_a_replacement_once() -> None:
    claim = f"{_STACK}kubernetes:core/v1:PersistentVolumeClaim::by-hand"
    ops = ((URN, "delete-replaced"), (URN, "replace"), (URN, "create-replacement"), (claim, "delete"))
    assert going({"urn": urn, "op": op} for urn, op in ops) == {URN: "replaced"}
    assert going([{"urn": URN, "op": "update"}]) == {}


def test_a_reviewer_reads_it_in_the_report() -> None:
    text = render.markdown(Report("dev", data=("volume scratch is deleted",)))
    assert "## What keeps data\n\n- volume scratch is deleted" in text
