"""Whether a deployed stack has a main job to follow to its end."""

from __future__ import annotations

import pytest

from driver.watch import Outputs, has_job_and_server

_JOB, _SERVER = {"digits": {"kind": "trainingJob"}}, {"digits-server": {"kind": "modelServer"}}


@pytest.mark.parametrize(
    ("workloads", "expected"), [({**_JOB, **_SERVER}, True), (_JOB, False), (_SERVER, False), ({}, False)]
)
def test_it_takes_a_job_and_a_server(workloads: dict[str, dict[str, str]], expected: bool) -> None:
    assert has_job_and_server({"namespace": "n", "workloads": workloads}) is expected


@pytest.mark.parametrize(("page", "last"), [({}, "gRPC"), ({"page": "http://there/"}, "page")])
def test_the_address_of_a_servers_page_is_among_those_at_the_end(page: dict[str, str], last: str) -> None:
    server = {
        "kind": "modelServer",
        "deployment": "s",
        "service": "s",
        "grpc": "there:8500",
        "models": {"m": "http://m"},
    }
    job = {"kind": "trainingJob", "jobSet": "j", "queue": "q"}
    outputs = Outputs.of({"namespace": "n", "workloads": {"job": job, "server": {**server, **page}}})
    assert [*outputs.urls][-1] == last
