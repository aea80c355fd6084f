"""What a person reads of a failed update: the resources and their errors, without Pulumi's notices."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tensorplane.core.step import Step
from tensorplane.driver.stack_settings import StackSettings
from tensorplane.driver.update.stack import Stack, diagnostics

_FAILED = """\
Updating (dev):
    kubernetes:core/v1:Namespace demo creating failed error: Namespace demo was not created: quota
Diagnostics:
  pulumi:pulumi:Stack (tensorplane-dev):
    warning: using pulumi-resource-kubernetes from $PATH at /x/pulumi-resource-kubernetes
    error: update failed
  kubernetes:core/v1:Namespace (demo):
    error: Namespace demo was not created: quota
      and a second line

Resources:
    1 unchanged

Duration: 2s
"""


_URN = "urn:pulumi:dev::tensorplane::tensorplane:index:"
VOLUME = {"urn": f"{_URN}Volume$kubernetes:core/v1:PersistentVolumeClaim::models", "type": "claim"}
JOB = {"urn": f"{_URN}TrainingJob::digits", "type": "tensorplane:index:TrainingJob"}


def test_errors_come_with_their_resource_and_without_notices() -> None:
    assert diagnostics(_FAILED) == [
        "kubernetes:core/v1:Namespace (demo):",
        "  Namespace demo was not created: quota",
        "    and a second line",
    ]


_PREVIEWED = """\
Previewing update (dev):
 +  pulumi:pulumi:Stack tensorplane-dev create 1 warning
Diagnostics:
  pulumi:pulumi:Stack (tensorplane-dev):
    warning: using pulumi-language-python from $PATH at /x/pulumi-language-python

Resources:
    + 2 to create

"""


def test_errors_are_those_of_the_update_and_not_of_the_preview_before_it() -> None:
    assert diagnostics(_PREVIEWED + _FAILED) == diagnostics(_FAILED)


def test_an_update_that_ended_before_its_first_resource_has_none() -> None:
    assert diagnostics("error: could not load the current stack: no such passphrase\n") == []


_FORCE = "PULUMI_K8S_ENABLE_PATCH_FORCE"


@pytest.mark.parametrize(
    ("before", "result", "deployed", "looks"),
    [
        ({"volumes": {"models": {"sizeGib": 2}}}, "succeeded", [VOLUME, JOB], False),
        ({"volumes": {"models": {"sizeGib": 2}}}, "failed", [VOLUME], True),
        ({"volumes": {"models": {"sizeGib": 2}}}, "failed", [JOB], True),
        ({"volumes": {"models": {"sizeGib": 2}}}, "failed", [], False),
        ({"volumes": {"models": {"sizeGib": 1}}}, "succeeded", [VOLUME], True),
        ({"volumes": {"models": {"sizeGib": 1}}}, "succeeded", [JOB], True),
        ({}, "succeeded", [VOLUME], True),
        ({"volumes": {"models": {"sizeGib": 2}}, "queues": {"a": {}}}, "succeeded", [VOLUME], False),
        ({"volumes": {"models": {"sizeGib": 2}}, "queues": {"a": {}}}, "succeeded", [JOB], True),
    ],
)
def test_an_update_is_previewed_where_settings_differ_that_volumes_or_jobs_follow_from(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    before: dict[str, Any],
    result: str,
    deployed: list[dict[str, Any]],
    looks: bool,
) -> None:
    (tmp_path / "Pulumi.dev.yaml").write_text("config:\n  tensorplane:volumes: {models: {sizeGib: 2}}\n")
    config = {f"tensorplane:{key}": {"value": json.dumps(value), "secret": False} for key, value in before.items()}
    monkeypatch.setattr(Stack, "_call", lambda *_: json.dumps([{"result": result, "config": config}]))
    monkeypatch.setattr("tensorplane.driver.update.run_effects.code_differs", lambda *_: False)
    stack = Stack(StackSettings("dev", tmp_path, tmp_path), Path("pulumi"), {})
    assert stack._may_delete_or_restart({"deployment": {"resources": deployed}}) == looks


@pytest.mark.parametrize(
    ("refresh", "deployed", "takes_over"),
    [(True, [VOLUME], True), (True, [], False), (False, [VOLUME], False)],
    ids=["a repair", "a new stack", "another update"],
)
def test_only_a_repair_takes_over_fields_that_somebody_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refresh: bool, deployed: list[dict[str, Any]], takes_over: bool
) -> None:
    (tmp_path / "Pulumi.dev.yaml").write_text("config:\n  tensorplane:volumes: {models: {sizeGib: 2}}\n")
    answers = {"export": {"deployment": {"resources": deployed}}, "history": [{}]}
    monkeypatch.setattr(Stack, "_call", lambda self, *words: json.dumps(answers[words[1]]))
    monkeypatch.setattr(Stack, "_may_delete_or_restart", lambda *_: False)
    given: list[tuple[str, bool]] = []
    monkeypatch.setattr(Stack, "_run", lambda self, words, step, more: given.append((words[0], _FORCE in more)))
    Stack(StackSettings("dev", tmp_path, tmp_path), Path("pulumi"), {}).up(Step("up"), refresh=refresh)
    assert given == [("up", takes_over)]
