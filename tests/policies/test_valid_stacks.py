"""No rule refuses a valid stack: TENSORPLANE_VALID_STACKS of them, by TENSORPLANE_SEED, judged by every rule."""

from __future__ import annotations

import os

import pytest

from tests.policies import generated
from tests.policies.conftest import Judge
from tests.policies.stacks import registered
from tests.support import goldens

COUNT = int(os.environ.get("TENSORPLANE_VALID_STACKS", "100"))
SEED = os.environ.get("TENSORPLANE_SEED", "20261126")
ADVISED = {"image-digests"}
_MANY = 10**9
UNLIMITED = {
    "gpu-quota": {"maxGpus": _MANY},
    "fleet-gpus": {"maxGpus": _MANY},
    "fleet-cost": {"maxHourlyUsd": _MANY},
    "fleet-idle-cost": {"maxHourlyUsd": _MANY},
    "cluster-log-retention": {"minDays": 0},
}
"""What is allowed is up to who deploys a stack."""


def test_no_rule_refuses_a_valid_stack(judge: Judge, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TENSORPLANE_HOME", "/instance-home")
    monkeypatch.delenv("TENSORPLANE_CONTEXT", raising=False)
    monkeypatch.delenv("PULUMI_CONFIG", raising=False)
    alarms: list[str] = []
    for made, rendered in generated.stacks(COUNT, SEED):
        told = judge("*", registered(map(goldens.row_of, rendered.resources)), UNLIMITED)
        alarms += [f"{made}: {rule}: {each}" for rule, all_ in told.items() if rule not in ADVISED for each in all_]
    assert alarms == []
