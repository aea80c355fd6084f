"""Each predicate of each rule decides something: without it, or negated, a case of `cases/*.yaml` fails."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import asdict

import pytest

from tensorplane.core.paths import PROJECT
from tests.policies import cases_of
from tests.policies.conftest import PACK

pytestmark = pytest.mark.nightly("over 1,000 changes, each judged on every case: 100 s")


def test_every_changed_predicate_is_noticed() -> None:
    cases = json.dumps([asdict(case) for case in cases_of.load()])
    told = subprocess.run(
        [sys.executable, PROJECT / "tests/policies/mutate.py"],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(PACK), str(PROJECT)])},
        input=cases,
        capture_output=True,
        text=True,
        check=True,
    )
    *unnoticed, tried = told.stdout.splitlines()
    assert unnoticed == []
    assert int(tried.split()[0]) > 1000
