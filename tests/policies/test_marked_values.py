"""Values that the engine marks in its messages: secrets, files, what only the update knows."""

from __future__ import annotations

from typing import Any

import pytest

from tests.policies.conftest import Violations
from tests.policies.stacks import GPU, UNKNOWN_NUMBER, config_map, raw, workload

_MARK = "4dabf18193072939515e22adb298388d"
_FILES = {
    "asset": {_MARK: "c44067f5952c0a294b673a41bacd8c17", "text": "a: 1"},
    "archive": {_MARK: "0def7320c3a5731c473e5ecbe6d01bc7", "assets": {}},
}


def secret(value: Any) -> Any:
    return {_MARK: "1b47061264138c4ac30d75fd1eb44270", "value": value}


def test_a_secret_number_counts(violations: Violations) -> None:
    (message,) = violations(workload("TrainingJob", "digits", gpus=secret(8)), maxGpus=4)
    assert "request 8 GPUs; the quota is 4" in message


def test_a_secret_manifest_is_read(violations: Violations) -> None:
    (message,) = violations(raw("apps/v1:Deployment", "web", secret({"replicas": 3, **GPU})), maxGpus=2)
    assert "request 3 GPUs; the quota is 2" in message


@pytest.mark.parametrize("number", [secret(UNKNOWN_NUMBER), UNKNOWN_NUMBER], ids=["secret", "plain"])
def test_a_number_that_only_the_update_knows_is_refused(violations: Violations, number: Any) -> None:
    (message,) = violations(workload("TrainingJob", "digits", gpus=number), maxGpus=4)
    assert message.startswith("digits (TrainingJob): `gpus` is not known before the update")


@pytest.mark.parametrize("file", _FILES.values(), ids=_FILES.keys())
def test_files_are_not_read(violations: Violations, file: Any) -> None:
    assert violations(config_map(file)) == []


@pytest.mark.parametrize("value", [{_MARK: "?"}, {_MARK: secret("")[_MARK]}], ids=["unknown mark", "empty secret"])
def test_a_mark_without_meaning_is_refused(violations: Violations, value: Any) -> None:
    (message,) = violations(raw("core/v1:Pod", "x", {"containers": value}))
    assert message.startswith("x (Pod): this rule cannot read it")
