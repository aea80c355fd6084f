"""The policy pack of an update: arguments, violations, updates that skip it, and when it needs no preview."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tensorplane.driver.stack_settings import StackSettings
from tensorplane.driver.update import policy_pack
from tensorplane.driver.update.policy_pack import PACK, PassRecord, Policies

_REFUSED = """\
Previewing update (dev):
 +  pulumi:pulumi:Stack tiny-dev create error: preview failed
Policies:
    ❌ tensorplane@v0.1.0 (local: /x/policies)
        - [mandatory] [severity: high]  gpu-quota  (pulumi:pulumi:Stack: tiny-dev)
          Workloads request at most `maxGpus` GPUs.
          The workloads request 6 GPUs; the quota is 0.
        - [advisory] [severity: medium]  image-digests  (kubernetes:apps/v1:Deployment: web)
          Every image has a digest.
          web (Deployment): no digest; add one
        - [mandatory] [severity: critical]  pod-privileges  (kubernetes:apps/v1:Deployment: web)
          No container is privileged.
          web (Deployment): it is privileged; remove it

Diagnostics:
  pulumi:pulumi:Stack (tiny-dev):
    error: preview failed
"""


def test_what_mandatory_rules_found_is_a_line_each() -> None:
    assert policy_pack.violations(_REFUSED) == [
        "policy gpu-quota: The workloads request 6 GPUs; the quota is 0.",
        "policy pod-privileges: web (Deployment): it is privileged; remove it",
    ]


def test_output_without_violations_has_none() -> None:
    assert policy_pack.violations("Updating (dev):\nDiagnostics:\n    error: update failed\n") == []
    assert policy_pack.violations("Policies:\n    ✅ tensorplane@v0.1.0 (local: /x/policies)\n\nResources:\n") == []


@pytest.mark.parametrize(("stack", "configured"), [("prod", True), ("mine", False)])
def test_a_stack_has_a_configuration_of_its_own(stack: str, configured: bool) -> None:
    arguments = policy_pack.update_arguments(Policies.RUN, stack)
    assert arguments[:2] == ["--policy-pack", str(PACK)]
    assert (arguments[2:] == ["--policy-pack-config", str(PACK / f"config.{stack}.json")]) == configured


def test_an_update_that_skips_them_is_recorded_in_the_history() -> None:
    _, message = policy_pack.update_arguments(Policies.SKIP, "prod")
    skipped, other = ({"kind": "update", "message": text} for text in (message, "Raise the quota"))
    assert policy_pack.has_skipped([skipped, other])
    assert policy_pack.has_skipped([{"kind": "refresh", "message": ""}, skipped])
    assert not policy_pack.has_skipped([other, skipped])
    assert not policy_pack.has_skipped([])


def test_the_limits_of_a_stack_are_those_of_its_configuration(tmp_path: Path) -> None:
    given = {"gpu-quota": {"maxGpus": 60}, "image-digests": "disabled"}
    (tmp_path / "config.prod.json").write_text(json.dumps(given))
    assert policy_pack.limits("prod", tmp_path) == {"gpu-quota": {"maxGpus": 60}}
    assert policy_pack.limits("dev", tmp_path) == {}


def test_rules_that_refuse_nothing_are_named_by_what_they_do(tmp_path: Path) -> None:
    given = {
        "a": "disabled",
        "b": {"enforcementLevel": "disabled"},
        "c": {"enforcementLevel": "advisory"},
        "d": {"x": 1},
    }
    (tmp_path / "config.prod.json").write_text(json.dumps(given))
    assert policy_pack.lenient("prod", tmp_path) == {"disabled": ["a", "b"], "advise only": ["c"]}
    assert policy_pack.lenient("mine", tmp_path) == {}


def test_a_change_of_the_rules_is_told_with_what_was_before(tmp_path: Path) -> None:
    before, after = tmp_path / "before", tmp_path / "after"
    for folder, settings, rule in (
        (before, {"gpu-quota": {"maxGpus": 60, "exempt": ["a"]}, "image-digests": "mandatory"}, "raise"),
        (after, {"gpu-quota": {"maxGpus": 600, "exempt": ["a"]}, "fleet-cost": {"maxHourlyUsd": 9}}, "pass"),
    ):
        (folder / "rules").mkdir(parents=True)
        (folder / "config.prod.json").write_text(json.dumps(settings))
        (folder / "rules" / "gpu_quota.py").write_text(rule)
        (folder / "serving.py").write_text("")
    assert policy_pack.changes("prod", before, after) == [
        "fleet-cost.maxHourlyUsd none → 9",
        "gpu-quota.maxGpus 60 → 600",
        'image-digests "mandatory" → none',
        "the pack itself: rules/gpu_quota.py",
    ]
    assert policy_pack.changes("dev", before, after) == ["the pack itself: rules/gpu_quota.py"]
    assert policy_pack.changes("prod", tmp_path / "absent", after) == []


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> StackSettings:
    """Of a stack in a project of links, for which the policies have passed."""
    real, project, pack = tmp_path / "real", tmp_path / "project", tmp_path / "pack"
    for folder in (real / "components", project, pack / "rules"):
        folder.mkdir(parents=True)
    (real / "components" / "prices.csv").write_text("1")
    (pack / "rules" / "gpu.py").write_text("1")
    (pack / "config.dev.json").write_text("{}")
    (project / "components").symlink_to(real / "components")
    (project / "__main__.py").write_text("")
    (project / "Pulumi.yaml").write_text("name: tiny\n")
    (project / "Pulumi.dev.yaml").write_text("config: {}\n")
    monkeypatch.setattr(policy_pack, "PACK", pack)
    made = StackSettings("dev", tmp_path / "home", project)
    made.refresh()
    PassRecord.of(made, {}).save()
    return made


def test_the_same_update_has_passed(settings: StackSettings) -> None:
    (settings.project / "preview.md").write_text("a report of the same stack")
    (settings.project / ".git").mkdir()
    (settings.project / "__pycache__").mkdir()
    (settings.project / "__pycache__" / "cached.py").write_text("")
    assert PassRecord.of(settings, {"PATH": "/bin"}).passed


def test_nothing_has_passed_before_the_first_update(settings: StackSettings) -> None:
    PassRecord.of(settings, {}).file.unlink()
    assert not PassRecord.of(settings, {}).passed


@pytest.mark.parametrize(
    "change",
    [
        lambda folder: (folder / "project/Pulumi.dev.yaml").write_text("config: {tensorplane:volumes: {}}\n"),
        lambda folder: (folder / "project/__main__.py").write_text("from tensorplane import stack"),
        lambda folder: (folder / "project/more.py").write_text(""),
        lambda folder: (folder / "real/components/prices.csv").write_text("12"),
        lambda folder: os.utime(folder / "real/components/prices.csv", (1, 1)),
        lambda folder: (folder / "pack/rules/gpu.py").unlink(),
        lambda folder: (folder / "pack/config.dev.json").write_text('{"gpu-quota": {"maxGpus": 1}}'),
    ],
)
def test_a_change_of_what_policies_see_has_not_passed(
    settings: StackSettings, tmp_path: Path, change: Callable[[Path], object]
) -> None:
    change(tmp_path)
    settings.refresh()
    assert not PassRecord.of(settings, {}).passed


@pytest.mark.parametrize("variable", ["TENSORPLANE_CONTEXT", "TENSORPLANE_USAGE"])
def test_another_cluster_or_use_has_not_passed(settings: StackSettings, variable: str) -> None:
    assert not PassRecord.of(settings, {variable: "other"}).passed
