"""Who may mount a volume: told at preview for the workloads of the stack, enforced in the cluster for every pod."""

from __future__ import annotations

from typing import Any

import pytest

import stack
from components.settings import Settings
from tests.unit import rendering
from tests.unit.test_bad_settings import dev, faults_of


def with_access(**access: list[str]) -> dict[str, Any]:
    """The dev stack, of which `digits` trains on `models`, and `digits-server` serves from it."""
    tree = dev()
    tree["volumes"]["models"].update(access)
    return tree


def test_the_one_that_trains_and_the_one_that_serves_are_let_in() -> None:
    assert faults_of(with_access(writers=["digits"], readers=["digits-server"])) == []
    assert faults_of(with_access(writers=["digits", "digits-server"])) == []


@pytest.mark.parametrize(
    ("access", "line"),
    [
        (
            {"writers": ["digits"]},
            "digits-server.model.volume: volume models does not let digits-server in: add it to the volume's readers "
            "or writers",
        ),
        (
            {"readers": ["digits", "digits-server"]},
            "digits.volumes.models: volume models does not let digits in: add it to the volume's writers",
        ),
    ],
)
def test_a_workload_that_is_not_let_in_is_one_line(access: dict[str, list[str]], line: str) -> None:
    assert faults_of(with_access(**access)) == [f"tensorplane:workloads.{line}"]


def test_the_cluster_refuses_every_other_pod() -> None:
    tree = with_access(writers=["digits"], readers=["digits-server", "backup"])
    made = rendering.run(lambda: stack.build(stack.StackConfig.load(Settings(tree))))
    policy, binding = (
        made.one(f"ValidatingAdmissionPolicy{part}", "tensorplane-dev-models-access") for part in ("", "Binding")
    )
    (condition,), (validation,) = (policy.inputs["spec"][key] for key in ("matchConditions", "validations"))
    claim = 'has(v.persistentVolumeClaim) && v.persistentVolumeClaim.claimName == "models"'
    assert condition["expression"] == f"has(object.spec.volumes) && object.spec.volumes.exists(v, {claim})"
    assert validation["expression"] == (
        'object.spec.serviceAccountName in ["digits"] || '
        '(object.spec.serviceAccountName in ["backup", "digits-server"] && object.spec.volumes.all(v, '
        f"!({claim}) || (has(v.persistentVolumeClaim.readOnly) && v.persistentVolumeClaim.readOnly)))"
    )
    assert (binding.inputs["spec"]["policyName"], binding.inputs["spec"]["validationActions"]) == (
        "tensorplane-dev-models-access",
        ["Deny"],
    )


def test_a_volume_that_lists_nobody_is_everybody_s() -> None:
    made = rendering.run(lambda: stack.build(stack.StackConfig.load(Settings(dev()))))
    assert not made.all("ValidatingAdmissionPolicy")
