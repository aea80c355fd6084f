"""The policy pack's environment for its tests: rules are evaluated where they will run, not in the tests' Python."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import pytest

from tensorplane.core.paths import PROJECT
from tests.hosts.conftest import engine as engine
from tests.support.waiting import PATIENT_SECONDS

PACK = PROJECT / "policies"
ADVISED = frozenset({"image-digests", "team-budget-known"})
"""Rules that only warn, unless the configuration says otherwise."""
Resource = dict[str, Any]
Violations = Callable[..., list[str]]
Rules = list[dict[str, Any]]
Judge = Callable[[str, Sequence[Resource], Mapping[str, Any]], dict[str, list[str]]]


_RULES = """
import json, rules
print(json.dumps([
    dict(name=one.name, severity=one.severity.value, level=one.level.value, description=one.description,
         remedy=one.remedy, tags=one.tags, config=one.config)
    for one in rules.found()
]))
"""


@pytest.fixture(scope="session")
def rules() -> Rules:
    """Each rule of the pack: name, severity, level, description, remedy, tags, and the schemas of its configuration."""
    told = subprocess.run(
        [sys.executable, "-c", _RULES],
        env={**os.environ, "PYTHONPATH": str(PACK)},
        capture_output=True,
        text=True,
        check=True,
    )
    found: Rules = json.loads(told.stdout)
    return found


@pytest.fixture(scope="session")
def judge() -> Iterator[Judge]:
    """What one rule, or all (`*`), report on the resources of a stack, under a configuration."""
    evaluator = subprocess.Popen(
        [sys.executable, PROJECT / "tests" / "policies" / "evaluator.py"],
        env={**os.environ, "PYTHONPATH": str(PACK)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert evaluator.stdin and evaluator.stdout

    def evaluate(rule: str, resources: Sequence[Resource], config: Mapping[str, Any]) -> dict[str, list[str]]:
        assert evaluator.stdin and evaluator.stdout
        evaluator.stdin.write(json.dumps({"rule": rule, "resources": resources, "config": config}) + "\n")
        evaluator.stdin.flush()
        answer: dict[str, list[str]] = json.loads(evaluator.stdout.readline())
        return answer

    yield evaluate
    evaluator.stdin.close()
    assert evaluator.wait(PATIENT_SECONDS) == 0


@pytest.fixture(scope="session")
def violations(judge: Judge) -> Violations:
    """What the GPU quota reports on a stack of resources, under a configuration."""
    return lambda *resources, **config: judge("gpu-quota", resources, config)["gpu-quota"]


def refusals(judge: Judge, resources: Sequence[Resource], config: Mapping[str, Any]) -> dict[str, list[str]]:
    """What the mandatory rules report on the resources of a stack."""
    told = judge("*", resources, config)
    return {rule: messages for rule, messages in told.items() if messages and rule not in ADVISED}
