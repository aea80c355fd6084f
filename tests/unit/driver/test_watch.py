"""Whether a deployed stack has a main job to follow to its end."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from core.progress import Progress
from driver import up, watch
from driver.target import Target
from driver.watch import Outputs, has_job_and_server
from embedded.instance import Instance

_JOB, _SERVER = {"digits": {"kind": "trainingJob"}}, {"digits-server": {"kind": "modelServer"}}


@pytest.mark.parametrize(
    ("workloads", "expected"), [({**_JOB, **_SERVER}, True), (_JOB, False), (_SERVER, False), ({}, False)]
)
def test_it_takes_a_job_and_a_server(workloads: dict[str, dict[str, str]], expected: bool) -> None:
    assert has_job_and_server({"namespace": "n", "workloads": workloads}) is expected


def test_a_stack_of_jobs_alone_is_followed_until_they_begin(monkeypatch: pytest.MonkeyPatch) -> None:
    """`make up` ends with what it finds, though no server waits for their model."""
    looked: list[str] = []
    monkeypatch.setattr(watch, "jobs", lambda api, outputs, stack: looked.append("jobs"))
    monkeypatch.setattr(watch, "wait_for_start", lambda api, outputs, step: looked.append("wait_for_start"))
    monkeypatch.setattr(Target, "api", lambda self: object())
    with Progress(Console(file=io.StringIO())) as progress:
        assert up._follow(Target("", Instance("test")), {"namespace": "n", "workloads": _JOB}, {}, progress) is None
    assert looked == ["jobs", "wait_for_start"]


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
