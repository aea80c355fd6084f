"""Whether a deployed stack has a main job to follow to its end."""

from __future__ import annotations

import pytest

from embedded.watch import has_job_and_server

_JOB, _SERVER = {"digits": {"kind": "trainingJob"}}, {"digits-server": {"kind": "modelServer"}}


@pytest.mark.parametrize(
    ("workloads", "expected"), [({**_JOB, **_SERVER}, True), (_JOB, False), (_SERVER, False), ({}, False)]
)
def test_it_takes_a_job_and_a_server(workloads: dict[str, dict[str, str]], expected: bool) -> None:
    assert has_job_and_server({"namespace": "n", "workloads": workloads}) is expected
