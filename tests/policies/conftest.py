"""The policy pack's environment for its tests: rules are evaluated where they will run, not in the tests' Python."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from embedded.hosts import policy_environment
from embedded.paths import PROJECT
from embedded.step import Step

PACK = PROJECT / "policies"
Resource = dict[str, Any]
Violations = Callable[..., list[str]]


@pytest.fixture(scope="session")
def pack_environment() -> None:
    """policies/.venv, made if it is not there."""
    policy_environment.make(Step("policy environment"))


@pytest.fixture(scope="session")
def violations(pack_environment: None) -> Iterator[Violations]:
    """What the rule reports on a stack of resources, under a configuration."""
    evaluator = subprocess.Popen(
        [PACK / ".venv" / "bin" / "python", PROJECT / "tests" / "policies" / "evaluator.py"],
        env={**os.environ, "PYTHONPATH": str(PACK)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert evaluator.stdin and evaluator.stdout

    def evaluate(*resources: Resource, **config: Any) -> list[str]:
        assert evaluator.stdin and evaluator.stdout
        evaluator.stdin.write(json.dumps({"resources": resources, "config": config}) + "\n")
        evaluator.stdin.flush()
        answer: list[str] = json.loads(evaluator.stdout.readline())
        return answer

    yield evaluate
    evaluator.stdin.close()
    assert evaluator.wait(60) == 0
