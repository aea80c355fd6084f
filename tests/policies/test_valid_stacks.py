"""No rule refuses a valid stack: stacks drawn by seed, judged by every rule."""

from __future__ import annotations

import copy
from dataclasses import replace
from functools import partial

import pytest

from tensorplane import stack
from tests.policies import generated, recordings
from tests.policies.conftest import Judge
from tests.support import counts, rendering
from tests.support.rendering import PROJECT, settings_of

COUNT = counts.of(quick=100, nightly=1000)
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


@pytest.fixture(autouse=True)
def _one_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is built does not depend on who builds it."""
    monkeypatch.setenv("TENSORPLANE_HOME", "/instance-home")
    monkeypatch.delenv("TENSORPLANE_CONTEXT", raising=False)
    monkeypatch.delenv("PULUMI_CONFIG", raising=False)


@pytest.mark.counted
@pytest.mark.nightly("random stacks: 70 s; test_no_false_alarms has the recorded ones")
def test_no_rule_refuses_a_valid_stack(judge: Judge) -> None:
    alarms: list[str] = []
    for made, rendered in generated.stacks(COUNT, counts.seed()):
        told = judge("*", recordings.of_rendered(rendered), UNLIMITED)
        alarms += [f"{made}: {rule}: {each}" for rule, all_ in told.items() if rule not in ADVISED for each in all_]
    assert alarms == []


@pytest.mark.parametrize("example", ["recorder", "scorer", "pipeline"])
def test_no_rule_refuses_what_tensorplane_lets_run_on_spot_nodes(judge: Judge, example: str) -> None:
    base = settings_of(PROJECT / f"examples/{example}.yaml")
    tree = copy.deepcopy(dict(base.tree))
    spot = {"cheap": {"max": 4, "spot": True}, "gpus-spot": {"accelerator": "t4", "perNode": 1, "max": 2, "spot": True}}
    tree["nodeGroups"] = {**tree.get("nodeGroups", {}), "cpu": {"min": 2, "max": 4}, **spot}
    rendered = rendering.run(partial(stack.build, stack.load(replace(base, tree=tree))))
    assert any("tensorplane.dev/spot" in repr(each.inputs.get("spec")) for each in rendered.resources)
    told = judge("*", recordings.of_rendered(rendered), UNLIMITED)
    assert {rule: found for rule, found in told.items() if found and rule not in ADVISED} == {}
