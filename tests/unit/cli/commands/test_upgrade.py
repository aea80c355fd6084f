"""What `tensorplane upgrade` says of a preview: what is refused, replaced, deleted, restarted and renamed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tensorplane.cli.commands.preview.report import Change, PolicyResult, Property, Report
from tensorplane.cli.commands.upgrade import command
from tensorplane.driver.update import last_update
from tensorplane.driver.update.data_at_risk import Risk
from tensorplane.version import __version__

_IMAGE = Property("spec.template.spec.containers[server].image", "a", "b", replaces=False)
_CHART = Property("version", "1", "2", replaces=False)
_COUNT = Property("spec.replicas", "1", "2", replaces=False)
_NAME = Property("metadata.name", "code-1", "code-2", replaces=True)
_LABEL = Property("metadata.labels.x", "", "y", replaces=False)
_DEPLOYMENT, _SET, _RELEASE = "apps/v1:Deployment", "apps/v1:StatefulSet", "helm.sh/v3:Release"
_TO_UPGRADE = "To upgrade: make up"


def _lines(*changes: Change, **more: Any) -> list[str]:
    found = command.upgrade(Report("dev", changes, unchanged=7), "0.0.9", **more)
    assert found.version == __version__
    first, *rest = command.lines(found)
    assert first == f"Stack dev was deployed by version 0.0.9; this is version {__version__}."
    return rest


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ([Change("update", _DEPLOYMENT, "server", (_IMAGE,))],
         ["Restarted:", "  Deployment server: spec.containers[server].image"]),
        ([Change("update", _SET, "a", (_IMAGE, _COUNT)), Change("update", _SET, "b", (_IMAGE,))],
         ["Restarted:", "  StatefulSet a, b: spec.containers[server].image"]),
        ([Change("update", _RELEASE, "kueue", (_CHART,))], ["Restarted:", "  Release kueue: version"]),
        ([Change("replace", "core/v1:ConfigMap", "code", (_NAME, _LABEL))],
         ["Replaced:", "  ConfigMap code: metadata.name"]),
        ([Change("delete", "core/v1:Secret", "old")], ["Deleted:", "  Secret old"]),
    ],
)  # fmt: skip
def test_what_does_not_stay_is_named(changes: list[Change], said: list[str]) -> None:
    assert _lines(*changes) == [*said, "The rest: 7 resources unchanged, 0 updated in place, 0 new.", _TO_UPGRADE]
    assert command.upgrade(Report("dev", tuple(changes)), "").exit_code == command.CHANGES


def test_a_stack_that_is_up_to_date_has_nothing_to_upgrade() -> None:
    assert command.lines(command.upgrade(Report("dev"), __version__))[-1] == "Nothing to upgrade."
    created = Report("dev", (Change("create", "v1:Secret", "new"),))
    assert command.lines(command.upgrade(created, __version__))[-1] == _TO_UPGRADE


def test_what_changes_in_place_is_counted() -> None:
    changes = Change("update", "apps/v1:Deployment", "server", (_COUNT,)), Change("create", "v1:Secret", "new")
    said = "Nothing is replaced, deleted or restarted: 7 resources unchanged, 1 updated in place, 1 new."
    assert _lines(*changes) == [said, _TO_UPGRADE]
    assert command.upgrade(Report("dev", changes), "").exit_code == 0


def test_runs_say_what_happens_to_them() -> None:
    report = Report("dev", runs=("restarts digits from step 300",))
    assert command.upgrade(report, "").restarted == ("restarts digits from step 300",)


@pytest.mark.parametrize(
    ("report", "said"),
    [
        (Report("dev", errors=("tensorplane:queues.a: unknown",), failed=True), "tensorplane:queues.a: unknown"),
        (Report("dev", risks=(Risk("volume a is deleted", stops_update=True), Risk("b"))), "volume a is deleted"),
        (Report("dev", policy_results=(PolicyResult("fleet-gpus", "p 1", "mandatory", ("9 GPUs",)),), failed=True),
         "policy fleet-gpus: 9 GPUs"),
        (Report("dev", failed=True), "the preview failed; see what it says with make preview"),
    ],
)  # fmt: skip
def test_what_is_refused_says_why(report: Report, said: str) -> None:
    found = command.upgrade(report, "0.1.0")
    assert (found.refused, found.exit_code) == ((said,), 1)
    assert command.lines(found)[-1] == "Fix what is refused, then run this again; nothing has changed."


def test_an_advisory_policy_refuses_nothing() -> None:
    results = (PolicyResult("prices", "p 1", "advisory", ("dear",)),)
    assert command.upgrade(Report("dev", policy_results=results), "").exit_code == 0


def test_renamed_settings_are_named() -> None:
    note = "tensorplane:queues.a.ram: is called memoryGib since 0.3, and 0.4 refuses this name; rename it"
    assert _lines(renamed=(note,))[:2] == ["Renamed:", f"  {note}"]


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        (("queues", "workloads"),
         "The settings changed since the last update (queues, workloads), so this shows what they change, too."),
        (None, "The last update failed, so this may also show changes of the settings."),
    ],
)  # fmt: skip
def test_changes_of_the_settings_are_told_apart(changed: tuple[str, ...] | None, said: str) -> None:
    assert said in _lines(changed=changed)


def test_another_version_may_restart_the_embedded_cluster() -> None:
    assert any("embedded cluster restarts" in line for line in _lines(embedded=True))
    assert not command.upgrade(Report("dev"), __version__, embedded=True).restarts_cluster


def test_a_stack_without_a_version_was_deployed_by_an_earlier_one() -> None:
    assert command.lines(command.upgrade(Report("dev"), ""))[0].startswith(
        "Stack dev was deployed by a version before 0.2;"
    )


def test_sections_that_differ_from_the_last_update_are_found(tmp_path: Path) -> None:
    settings = {"tensorplane:queues": {"value": '{"a":{"cpus":4}}'}, "tensorplane:namespace": {"value": "ml"}}
    before = last_update.settings([{"result": "succeeded", "config": settings}])
    file = tmp_path / "Pulumi.dev.yaml"
    text = "config:\n  tensorplane:queues: {a: {cpus: %s}}\n  tensorplane:namespace: ml\n  other:x: 1\n"
    file.write_text(text % 4)
    assert command.changed_settings(before, file) == ()
    file.write_text(text % 8 + "  tensorplane:volumes: {}\n")
    assert command.changed_settings(before, file) == ("queues", "volumes")
    file.write_text(text % "{secure: abc}")
    assert command.changed_settings(before, file) == (), "what is encrypted cannot be compared"
    assert command.changed_settings(last_update.settings([{"result": "failed", "config": settings}]), file) is None


def test_the_version_is_that_of_the_state() -> None:
    stack = {"type": "pulumi:pulumi:Stack", "outputs": {"tensorplaneVersion": "0.2.0"}}
    assert command.deployed_version({"deployment": {"resources": [stack]}}) == "0.2.0"
    assert command.deployed_version({"deployment": {"resources": [{**stack, "outputs": {}}]}}) == ""
    assert command.deployed_version({"deployment": {}}) == ""
