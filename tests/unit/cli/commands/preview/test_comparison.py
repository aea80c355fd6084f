"""A branch compared with its merge base: what the two previews say together."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tensorplane.cli.commands.preview import comparison, merge_base, render
from tensorplane.cli.commands.preview.engine import Streamed
from tensorplane.cli.commands.preview.report import Report
from tensorplane.core.errors import UserError
from tensorplane.driver.update.data_at_risk import Acknowledged
from tests.hosts.preview_events import diagnostic

_URN = "urn:pulumi:dev::tensorplane::"
_CLAIM = "tensorplane:index:Volume$kubernetes:core/v1:PersistentVolumeClaim"
_POOL = "aws:eks/nodeGroup:NodeGroup"
_ROLE = "aws:iam/role:Role"
_JOB_SET = "kubernetes:jobset.x-k8s.io/v1alpha2:JobSet"

Event = Mapping[str, Any]


def _made(chain: str, inputs: Event, name: str = "a", **more: Any) -> Event:
    """What a preview against nothing streams of one resource."""
    state = {"inputs": inputs, **more}
    metadata = {"op": "create", "urn": f"{_URN}{chain}::{name}", "type": chain.rpartition("$")[2], "new": state}
    return {"resourcePreEvent": {"metadata": metadata}}


def _claim(size: str = "1Gi", namespace: str = "ml") -> Event:
    metadata = {"name": "a", "namespace": namespace}
    spec = {"resources": {"requests": {"storage": size}}}
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata, "spec": spec}


def _compared(
    before: list[Event], after: list[Event], *, failed: bool = False, asked: Acknowledged | None = None
) -> Report:
    return comparison.report(
        "dev",
        "3f9c2ab417",
        Streamed(before, False),
        Streamed(after, failed),
        acknowledged=asked or Acknowledged("Pulumi.dev.yaml"),
    )


@pytest.mark.parametrize(
    ("chain", "before", "after", "operation"),
    [
        (_ROLE, {"path": "/"}, {"path": "/"}, "same"),
        (_ROLE, {"path": "/"}, {"path": "/x"}, "update"),
        (_POOL, {"instanceTypes": ["g4dn.xlarge"]}, {"instanceTypes": ["g6.xlarge"]}, "replace"),
        (_POOL, {"scalingConfig": {"maxSize": 1}}, {"scalingConfig": {"maxSize": 2}}, "update"),
        (_CLAIM, _claim(), _claim("2Gi"), "update"),
        (_CLAIM, _claim(), _claim(namespace="other"), "replace"),
        (
            _JOB_SET,
            {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "metadata": {"name": "a"}, "spec": {"a": 1}},
            {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "metadata": {"name": "a"}, "spec": {"a": 2}},
            "replace",
        ),
        ("tensorplane:index:Queue", {"gpus": 1}, {"gpus": 2}, "update"),
    ],
)
def test_a_resource_changes_as_its_provider_would_change_it(
    chain: str, before: Event, after: Event, operation: str
) -> None:
    found = _compared([_made(chain, before)], [_made(chain, after)])
    assert [change.operation for change in found.changes] == ([] if operation == "same" else [operation])
    assert found.unchanged == (operation == "same")


_TAG = "aws:autoscaling/tag:Tag"


@pytest.mark.parametrize(("machine", "operation"), [("g6.xlarge", "replace"), ("g4dn.xlarge", "same")])
def test_tags_of_a_groups_scaling_group_are_replaced_with_the_group(machine: str, operation: str) -> None:
    tag = _made(f"{_POOL}${_TAG}", {"autoscalingGroupName": "eks-a"}, "tag", parent=f"{_URN}{_POOL}::a")
    before, after = (_made(_POOL, {"instanceTypes": [each]}) for each in ("g4dn.xlarge", machine))
    changes = {each.name: each for each in _compared([before, tag], [after, tag]).changes}
    assert [each.operation for each in changes.values()] == ([] if operation == "same" else ["replace", "replace"])
    if operation == "replace":
        (changed,) = changes["tag"].properties
        assert (changed.path, changed.new, changed.replaces) == (
            "autoscalingGroupName",
            '"(known after the update)"',
            True,
        )


def test_what_only_one_side_has_comes_or_goes() -> None:
    found = _compared([_made(_ROLE, {}, "gone")], [_made(_ROLE, {}, "new")])
    assert [(change.operation, change.name) for change in found.changes] == [("delete", "gone"), ("create", "new")]


def test_a_protected_volume_that_goes_is_one_risk_with_the_words_of_the_engines_refusal() -> None:
    storage = _made("tensorplane:index:Volume$aws:efs/fileSystem:FileSystem", {}, "dev-a", protect=True)
    found = _compared([storage, _made(_CLAIM, _claim(), protect=True)], [])
    (risk,) = found.risks
    assert risk.stops_update
    assert risk.text.startswith("volume a is protected (retain: true): its deletion is blocked; declare it again")


def test_a_refused_update_says_who_refuses_it_and_marks_what_is_protected() -> None:
    text = render.markdown(_compared([_made(_CLAIM, _claim(), protect=True), _made(_ROLE, {})], []))
    assert "`make up` stops in its own preview, before its first change. Everything stays as it is" in text
    assert "**Interrupts, if it were not refused:**" in text
    assert "| delete (blocked) | core/v1:PersistentVolumeClaim **a** |" in text
    assert "| delete | aws:iam/role:Role **a** |" in text


@pytest.mark.parametrize(("protect", "says"), [(True, "Pulumi refuses it too"), (False, "Pulumi itself would not")])
def test_a_removed_environment_that_loses_data_says_whether_pulumi_refuses_it(protect: bool, says: str) -> None:
    before = Streamed([_made(_CLAIM, _claim(), protect=protect)], False)
    nothing = Streamed([], False)
    found = comparison.report(
        "dev", "3f9c2ab417", before, nothing, acknowledged=Acknowledged("Pulumi.dev.yaml"), stack_removed=True
    )
    text = render.markdown(found)
    assert f"**This check fails: that would lose data.** {says}" in text
    remedy = "first deploy a change of Pulumi.dev.yaml that removes a and adds `tensorplane:acknowledge:"
    assert (remedy in text) is not protect


def test_an_unprotected_volume_needs_an_acknowledgement() -> None:
    before = [_made(_CLAIM, _claim())]
    assert _compared(before, []).must_not_run
    found = _compared(before, [], asked=Acknowledged("Pulumi.dev.yaml", {"deleteVolume": ("a",)}))
    assert not found.must_not_run
    assert found.risks[0].text.endswith("acknowledged by acknowledge.deleteVolume")


def test_a_branch_whose_program_fails_deletes_nothing_in_its_report() -> None:
    found = _compared(
        [_made(_CLAIM, _claim(), protect=True)], [diagnostic("error", "volumes.a: no backend")], failed=True
    )
    assert (found.changes, found.risks, found.errors) == ((), (), ("volumes.a: no backend",))
    assert found.failed


def test_a_merge_base_whose_preview_fails_is_named() -> None:
    before = Streamed([diagnostic("error", "unknown setting")], failed=True)
    found = comparison.report(
        "dev", "3f9c2ab417", before, Streamed([_made(_ROLE, {})], False), acknowledged=Acknowledged()
    )
    assert found.warnings == (
        "the preview of commit 3f9c2ab417 failed (unknown setting), so everything is shown as new",
    )
    assert found.count("create") == 1


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository with a branch `main`, and a branch of it with a commit of its own."""
    folder = tmp_path / "project"
    folder.mkdir()
    _git(folder, "init", "-q", "-b", "main")
    for text, branch in (("first", ""), ("on the branch", "topic")):
        if branch:
            _git(folder, "checkout", "-q", "-b", branch)
        (folder / "Pulumi.dev.yaml").write_text(text)
        _git(folder, "add", ".")
        _git(folder, "-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "-q", "-m", text)
    return folder


def _git(folder: Path, *arguments: str) -> None:
    subprocess.run(["git", "-C", folder, *arguments], check=True, capture_output=True)


def test_the_merge_base_is_a_copy_that_goes_and_the_checkout_stays(repository: Path) -> None:
    (repository / "Pulumi.dev.yaml").write_text("not committed")
    with merge_base.check_out("main", repository) as base:
        assert (base.folder / "Pulumi.dev.yaml").read_text() == "first"
        assert base.short == base.commit[:10]
    assert not base.folder.exists()
    assert (repository / "Pulumi.dev.yaml").read_text() == "not committed"


def test_a_revision_that_this_clone_does_not_have_is_one_line(repository: Path) -> None:
    says = r"^merge base: git merge-base HEAD nowhere failed: .*; give a revision that this clone has"
    with pytest.raises(UserError, match=says), merge_base.check_out("nowhere", repository):
        pass
