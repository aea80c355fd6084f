"""What a person reads before an update deletes or replaces a volume: how much it holds, and what keeps it."""

from __future__ import annotations

from typing import Any

import pytest

from tensorplane.cli.commands.preview import render
from tensorplane.cli.commands.preview.report import Report
from tensorplane.driver.update.data_at_risk import Acknowledged, ClusterVolumes, Risk, find_risks, has_unprotected

_STACK = "urn:pulumi:dev::tensorplane::"
URN = f"{_STACK}tensorplane:index:Volume$kubernetes:core/v1:PersistentVolumeClaim::scratch"
HOOKS = {"resourceHooks": {"before-delete": ["snapshot"]}}
ASKED_FOR = {"spec": {"resources": {"requests": {"storage": "2Gi"}}}}

ASKED = Acknowledged("Pulumi.dev.yaml", {"deleteVolume": ("scratch",)})
NAMESPACE = "kubernetes:core/v1:Namespace"


def state(**more: Any) -> dict[str, Any]:
    return {"deployment": {"resources": [{"urn": URN, "id": "ml/scratch", "inputs": ASKED_FOR, **more}]}}


def known(policy: str = "Delete", phase: str = "Bound") -> ClusterVolumes:
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
    return ClusterVolumes({"scratch": claim}, {"pv-1": volume}, tuple(taken), {"scratch": 3 * 2**20})


@pytest.mark.parametrize(
    ("known", "cluster", "says"),
    [
        (state(**HOOKS), known(),
         "(2 GiB requested, 3 MiB used): its data stays in a snapshot taken first and in 2 earlier snapshots, "
         "the newest scratch-20261121"),
        (state(), known("Retain"), "(2 GiB requested, 3 MiB used): its data stays in PersistentVolume pv-1"),
        (state(), known(), "(2 GiB requested, 3 MiB used): no copy of its data is known"),
        (state(**HOOKS), known(phase="Pending"), "(2 GiB requested, 3 MiB used): no storage is provisioned for it yet"),
        (state(), ClusterVolumes(), "(2 GiB requested): no copy of its data is known"),
        (state(retainOnDelete=True), ClusterVolumes(),
         "(2 GiB requested): its data stays in its claim, which stays in the cluster"),
    ],
)  # fmt: skip
def test_each_volume_that_goes_is_one_line_with_what_keeps_its_bytes(
    known: Any, cluster: ClusterVolumes, says: str
) -> None:
    (risk,) = find_risks(
        [{"urn": URN, "op": "delete", "type": "claim"}], ASKED, export=lambda: known, cluster=lambda: cluster
    )
    assert risk == Risk(f"volume scratch is deleted {says}; acknowledged by acknowledge.deleteVolume")


def test_a_loss_that_nobody_acknowledged_stops_the_update_and_says_what_to_write() -> None:
    (risk,) = find_risks(
        [{"urn": URN, "op": "replace", "type": "claim"}], Acknowledged("Pulumi.dev.yaml"), export=state
    )
    assert risk.stops_update
    assert risk.text.startswith("volume scratch is replaced (2 GiB requested): no copy of its data is known; ")
    assert risk.text.endswith("add `tensorplane:acknowledge: {replaceVolume: [scratch]}` to Pulumi.dev.yaml")


def test_without_a_state_the_previewed_claim_says_how_much_goes() -> None:
    (risk,) = find_risks([{"urn": URN, "op": "delete", "type": "claim", "old": {"inputs": ASKED_FOR}}], ASKED)
    says = "volume scratch is deleted (2 GiB requested): whether a copy of its data stays is not known"
    assert risk.text.startswith(says)


def test_an_acknowledgement_of_something_else_does_not_count_and_is_named() -> None:
    other = Acknowledged("Pulumi.dev.yaml", {"deleteVolume": ("other",), "replaceVolume": ("scratch",)})
    stopping, *notes = find_risks([{"urn": URN, "op": "delete", "type": "claim"}], other, export=state)
    assert stopping.stops_update
    assert [note.text for note in notes] == [
        "acknowledge.deleteVolume names other, which this update does not lose; remove the entry",
        "acknowledge.replaceVolume names scratch, which this update does not lose; remove the entry",
    ]
    assert not any(note.stops_update for note in notes)


def test_what_is_protected_is_refused_by_the_engine_and_no_loss() -> None:
    step = {"urn": URN, "op": "delete", "type": "claim"}
    assert find_risks([step], export=lambda: state(protect=True)) == ()
    assert find_risks([{**step, "old": {"protect": True, "inputs": ASKED_FOR}}]) == ()
    assert (has_unprotected(state(protect=True)), has_unprotected(state()), has_unprotected({"deployment": {}})) == (
        False,
        True,
        False,
    )


def test_only_volumes_are_listed_and_a_replacement_once() -> None:
    claim = f"{_STACK}kubernetes:core/v1:PersistentVolumeClaim::by-hand"
    ops = ((URN, "delete-replaced"), (URN, "replace"), (URN, "create-replacement"), (claim, "delete"))
    (risk,) = find_risks([{"urn": urn, "op": op, "type": "claim"} for urn, op in ops], export=state)
    assert risk.text.startswith("volume scratch is replaced")
    assert find_risks([{"urn": URN, "op": "update", "type": "claim"}], export=state) == ()


def test_the_namespace_of_a_team_is_a_loss_and_that_of_the_stack_is_not() -> None:
    team, own = f"{_STACK}{NAMESPACE}::vision", f"{_STACK}tensorplane:index:Namespace${NAMESPACE}::tensorplane-dev"
    assert [
        risk.text for risk in find_risks([{"urn": urn, "op": "delete", "type": NAMESPACE} for urn in (team, own)])
    ] == [
        "namespace vision is deleted with everything in it; if you intend that, add "
        "`tensorplane:acknowledge: {deleteNamespace: [vision]}` to the stack's settings"
    ]
    assert has_unprotected({"deployment": {"resources": [{"urn": team}]}})
    assert not has_unprotected({"deployment": {"resources": [{"urn": own}, {"urn": team, "protect": True}]}})


@pytest.mark.parametrize(
    ("before", "after", "says"),
    [
        ({"sizeGib": 10}, {"sizeGib": 20}, []),
        (
            {"sizeGib": 10},
            {"sizeGib": 9.5},
            [
                Risk(
                    "volume scratch would shrink from 10 to 9.5 GiB. Kubernetes refuses that, since claims only grow: "
                    "nothing is replaced, and its data stays; set sizeGib to 10 or more, or declare a second volume "
                    "and move the data",
                    stops_update=True,
                    loses_data=False,
                )
            ],
        ),
        (
            {"sizeGib": 1, "retain": True},
            {"sizeGib": 1, "retain": False},
            [Risk("volume scratch is no longer protected (retain: false): a later update can delete it")],
        ),
        ({"sizeGib": 1, "retain": False}, {"sizeGib": 1, "retain": True}, []),
        ({}, {"sizeGib": 1}, []),
        ({"sizeGib": {"ciphertext": "x"}}, {"sizeGib": {"ciphertext": "y"}}, []),
    ],
    ids=["grows", "shrinks", "no longer retained", "retained", "new", "secret"],
)
def test_a_volume_that_stays_may_not_shrink(before: Any, after: Any, says: list[Risk]) -> None:
    volume = "tensorplane:index:Volume"
    old, new = ({"inputs": state} if state else None for state in (before, after))
    step = {"urn": f"{_STACK}{volume}::scratch", "op": "update", "type": volume, "old": old, "new": new}
    assert list(find_risks([step])) == says


def test_a_reviewer_reads_first_what_stops_the_update() -> None:
    report = Report("dev", risks=(Risk("volume a goes", stops_update=True), Risk("volume b goes")))
    text = render.markdown(report)
    assert report.must_not_run
    assert "**This update is refused: it would lose data.**" in text
    assert "## Data at risk\n\n- **volume a goes**\n- volume b goes" in text
    assert not Report("dev", risks=report.risks[1:]).must_not_run
