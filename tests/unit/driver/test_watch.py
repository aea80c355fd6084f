"""`make up` follows jobs and servers until they run, and says why one cannot."""

from __future__ import annotations

from typing import Any

import pytest

from tensorplane.core.errors import UserError
from tensorplane.core.step import Step
from tensorplane.driver import watch
from tensorplane.driver.runs.job_set import JobSet
from tensorplane.driver.watch import Outputs, has_job_and_server
from tests.support.failed_jobs import RUN, TRACEBACK, UNPULLED, api_of, exited, job_set_of, pod_of, unpulled

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


_OUTPUTS = {
    "namespace": "ml",
    "workloads": {
        "digits": {"kind": "trainingJob", "jobSet": RUN},
        "other": {"kind": "trainingJob", "jobSet": "other-1"},
        "server": {"kind": "modelServer"},
    },
}


def test_an_update_that_changes_nothing_still_tells_of_failed_jobs_and_of_those_that_are_gone() -> None:
    with pytest.raises(UserError) as raised:
        watch.raise_for_failed_jobs(api_of({RUN: job_set_of("Failed")}, pod_of(**exited(1, TRACEBACK))), _OUTPUTS)
    lines = raised.value.lines
    assert lines[0] == f"training job {RUN} failed:"
    assert "    ValueError: boom" in lines
    assert any(line.startswith("training job other-1: its JobSet was deployed, but") for line in lines)
    assert lines[-1] == (
        "  To run it again, from its checkpoints if it has any: pulumi up --refresh --stack dev"
        " (docs/training.md#run-a-job-again)"
    )
    watch.raise_for_failed_jobs(api_of({RUN: job_set_of("Completed"), "other-1": job_set_of()}), _OUTPUTS)


_FOLLOWED = watch.Outputs("ml", "ml", RUN, "q", "d", "s", "m", {})


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Time that passes only where somebody waits: half a minute each time. The one number is what has passed."""
    now = [0.0]
    monkeypatch.setattr("tensorplane.driver.watch.time.monotonic", lambda: now[0])
    monkeypatch.setattr("tensorplane.driver.watch.time.sleep", lambda _: now.__setitem__(0, now[0] + 30))
    return now


@pytest.mark.usefixtures("clock")
def test_a_job_is_followed_for_as_long_as_it_runs() -> None:
    hours = [job_set_of()] * 1000
    api = api_of({RUN: [*hours, job_set_of("Completed")]}, pod_of(phase="Running", running={}))
    watch.wait_for_training(api, _FOLLOWED, Step("training"))


@pytest.mark.usefixtures("clock")
def test_a_gang_with_a_pod_that_no_node_takes_says_so_whatever_its_chief_has_said(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    waiting, chief, step = pod_of(phase="Pending"), pod_of(phase="Running", running={}), Step("training")
    message = "0/2 nodes are available: 2 node(s) had untolerated taint {a: b}."
    monkeypatch.setattr(watch, "_log", lambda *_: ["tensorplane: step=5 loss=1"])
    monkeypatch.setattr(JobSet, "writer", chief["metadata"]["name"])

    def said() -> str:
        api = api_of({RUN: [*[job_set_of()] * 3, job_set_of("Completed")]}, chief, waiting)
        watch.wait_for_training(api, _FOLLOWED, step)
        return step.state()[0]

    assert said() == "tensorplane: step=5 loss=1"
    waiting["status"]["conditions"] = [{"type": "PodScheduled", "status": "False", "message": message}]
    assert said() == f"1 of 2 pods running: {message.rstrip('.')}"


@pytest.mark.usefixtures("clock")
def test_one_that_waits_in_its_queue_is_left_with_what_to_look_at() -> None:
    with pytest.raises(
        UserError, match=r"waiting in queue q \(no pod of it has run for 900 s\).*make why.*to follow it again"
    ):
        watch.wait_for_training(api_of({RUN: job_set_of()}), _FOLLOWED, Step("training"))


def test_an_image_that_cannot_be_pulled_is_not_waited_for_as_long(clock: list[float]) -> None:
    with pytest.raises(UserError, match=f"training job {RUN} cannot start: {UNPULLED}. Correct `image`"):
        watch.wait_for_training(api_of({RUN: job_set_of()}, unpulled()), _FOLLOWED, Step("training"))
    assert clock[0] <= 120


@pytest.mark.parametrize("queued", [True, False])
def test_every_job_of_the_stack_is_followed_until_it_begins(clock: list[float], queued: bool) -> None:
    """Also where a server waits for none of them, and where the first is still waiting in its queue."""
    first = {**job_set_of(), "spec": {"suspend": True}} if queued else job_set_of("Completed")
    with pytest.raises(UserError) as raised:
        watch.wait_for_start(api_of({RUN: first, "other-1": job_set_of()}, unpulled()), _OUTPUTS, Step("jobs"))
    (line,) = raised.value.lines
    assert line.startswith(f"training job other-1 cannot start: {UNPULLED}. Correct `image`")
    assert line.endswith("To stop: kubectl -n ml delete jobset other-1")
    assert clock[0] <= 120


@pytest.mark.parametrize(
    "pod",
    [
        pod_of(phase="Running", running={}),
        pod_of(phase="Pending") | {"spec": {"containers": []}},
        pod_of(phase="Pending", waiting={"reason": "ContainerCreating"}),
    ],
    ids=["runs", "waits for a node", "pulls a large image"],
)
def test_jobs_that_begin_or_wait_are_no_fault(clock: list[float], pod: dict[str, Any]) -> None:
    watch.wait_for_start(api_of({RUN: job_set_of(), "other-1": job_set_of("Completed")}, pod), _OUTPUTS, Step("jobs"))
    assert clock[0] <= 120


def test_a_registry_that_comes_back_is_no_fault(clock: list[float]) -> None:
    api = api_of({RUN: [job_set_of(), job_set_of("Completed")], "other-1": job_set_of("Completed")}, unpulled())
    watch.wait_for_start(api, _OUTPUTS, Step("jobs"))


@pytest.mark.parametrize(
    ("said", "told"),
    [
        (
            '0/1 nodes are available: persistentvolumeclaim "models" is being deleted. not found',
            "claim models is being deleted, but pods still mount it; stop these pods, then deploy again",
        ),
        (
            '0/1 nodes are available: persistentvolumeclaim "models" not found. not found',
            "claim models does not exist; deploy again with pulumi up --refresh or make up",
        ),
        (
            "0/1 nodes are available: 1 Insufficient cpu, 1 Insufficient nvidia.com/gpu. no new claims to deallocate,"
            " preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling.",
            "0/1 nodes are available: 1 Insufficient cpu, 1 Insufficient nvidia.com/gpu"
            " (it requests cpu 500m + 1, nvidia.com/gpu 1)",
        ),
        (
            "0/1 nodes are available: 1 node(s) had untolerated taint {a: b}.",
            "0/1 nodes are available: 1 node(s) had untolerated taint {a: b}",
        ),
    ],
)
@pytest.mark.usefixtures("clock")
def test_a_server_that_no_node_takes_says_why_and_what_helps(said: str, told: str) -> None:
    pod = pod_of(phase="Pending")
    pod["status"]["conditions"] = [{"type": "PodScheduled", "status": "False", "message": said}]
    requests: tuple[dict[str, str], ...] = ({"cpu": "500m"}, {}, {"cpu": "1", "nvidia.com/gpu": "1"})
    pod["spec"]["containers"] = [{"resources": {"requests": each} if each else {}} for each in requests]
    with pytest.raises(UserError) as raised:
        watch.wait_for_serving(api_of({"d": {"status": {}}}, pod), _FOLLOWED, Step("serving"))
    assert raised.value.lines == (f"model server d: not Ready: {told} (after 180 s). Look at: make status",)


def test_a_server_whose_image_cannot_be_pulled_fails_as_soon(clock: list[float]) -> None:
    with pytest.raises(UserError, match=f"model server d cannot start: {UNPULLED}. Correct `image`"):
        watch.wait_for_serving(api_of({"d": {"status": {}}}, unpulled()), _FOLLOWED, Step("serving"))
    assert clock[0] <= 120
