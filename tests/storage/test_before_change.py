"""A volume that is not retained is deleted by the real engine: a snapshot keeps what it held."""

from __future__ import annotations

import pytest

from tensorplane.cli.commands.preview.engine import Preview
from tensorplane.core.errors import UserError
from tensorplane.core.step import Step
from tests.storage.declared import UNRETAINED, Declared, pulumi, state

pytestmark = pytest.mark.nightly("up to five updates each; told by test_destructive_diffs")
CONTENTS = "/apis/snapshot.storage.k8s.io/v1/volumesnapshotcontents"


def test_a_volume_that_is_removed_comes_back_from_the_snapshot_before(declared: Declared) -> None:
    declared.up(kept=UNRETAINED, removed=UNRETAINED)
    declared.write("removed", "what it held")
    told: list[str] = []
    settings = {"volumes": {"kept": UNRETAINED}}
    stack = declared.stack_of(settings)
    before = state(stack)
    with pytest.raises(UserError, match=r"volume removed is deleted .* add `tensorplane:acknowledge: {deleteVolume: "):
        stack.up(Step("pulumi up"), declared.claims.kube, told.append)
    assert (told, state(stack)) == ([], before), "refused before anything is changed"
    stack = declared.stack_of({**settings, "acknowledge": {"deleteVolume": ["removed"]}})
    shown = Preview(stack.settings, stack.pulumi, stack.environment, api=declared.claims.kube).run()
    stack.up(Step("pulumi up"), declared.claims.kube, told.append)
    (line,) = told
    assert [risk.text for risk in shown.risks] == [line]
    assert line.startswith("volume removed is deleted (1 GiB requested): its data stays in PersistentVolume pvc-")
    assert line.endswith(" and in a snapshot taken first; acknowledged by acknowledge.deleteVolume")
    assert not declared.claims.kube.get(declared.path("v1/persistentvolumeclaims", "removed"))
    (taken,) = declared.snapshots("before-change", "removed")
    declared.up(kept=UNRETAINED, removed={**UNRETAINED, "from": {"snapshot": taken}})
    assert declared.read("removed") == "what it held"


def test_a_destroy_that_cannot_take_the_snapshot_is_refused_and_one_that_can_takes_it(declared: Declared) -> None:
    declared.up(kept=UNRETAINED)
    declared.write("kept", "what it held")
    stack = declared.stack(kept=UNRETAINED)
    before = state(stack)
    refused = pulumi(stack, "destroy")
    assert refused.returncode
    assert "--run-program" in refused.stdout + refused.stderr
    assert state(stack) == before
    held = _handles(declared)
    stack.destroy(Step("destroy"))
    assert not state(stack)
    (handle,) = _handles(declared) - held
    assert (declared.claims.pool / "snapshots" / handle / "file").read_text() == "what it held"


def _handles(declared: Declared) -> set[str]:
    """What has the bytes of snapshots, whether somebody has the snapshot or not."""
    return {one.get("status", {}).get("snapshotHandle", "") for one in declared.claims.kube.items(CONTENTS)} - {""}


def test_giving_up_a_retained_volume_is_refused_before_anything_is_changed(declared: Declared) -> None:
    declared.up(models={"sizeGib": 1}, kept=UNRETAINED)
    stack = declared.stack(kept={**UNRETAINED, "sizeGib": 2})
    before = state(stack)
    says = r"volume models is protected \(retain: true\): its deletion is blocked; declare it again"
    with pytest.raises(UserError, match=says):
        stack.up(Step("pulumi up"))
    assert state(stack) == before
