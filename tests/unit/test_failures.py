"""Why a training job failed: what its pods' containers left, in `why`, `make status` and `make up`."""

from __future__ import annotations

import datetime
import io
from collections.abc import Mapping
from typing import Any, cast

import pytest
from rich.console import Console

from cli import why, why_text
from cli.queue_facts import Details, Facts
from cli.queue_room import Room
from cli.why_answer import Asked
from components.labels import NAME
from embedded import failures, watch
from embedded.cluster import status_tables
from embedded.fault import Fault
from embedded.kube import Kube
from embedded.progress import Step

_TRACEBACK = 'Traceback (most recent call last):\n  File "train.py", line 3, in <module>\nValueError: boom\n'
_NOW = datetime.datetime(2026, 11, 22, 12, 0, tzinfo=datetime.UTC)
_RUN = "digits-0901f9d5"


def _pod(name: str = "worker-0-0", *, at: str = "11:59:00", phase: str = "Failed", **state: Any) -> dict[str, Any]:
    container = {"name": "main", "state": state}
    if "terminated" in state:
        state["terminated"]["finishedAt"] = f"2026-11-22T{at}Z"
    labels = {"jobset.sigs.k8s.io/jobset-name": _RUN}
    about = {"name": f"{_RUN}-{name}", "namespace": "ml", "labels": labels, "creationTimestamp": "2026-11-22T11:00:00Z"}
    limits = {"resources": {"limits": {"memory": "2048Mi"}}}
    status = {"phase": phase, "containerStatuses": [container] if state else []}
    return {"metadata": about, "spec": {"containers": [limits]}, "status": status}


def _exited(code: int, message: str = "", reason: str = "Error") -> dict[str, Any]:
    return {"terminated": {"exitCode": code, "reason": reason, "message": message}}


@pytest.mark.parametrize(
    ("state", "how"),
    [
        (_exited(1, _TRACEBACK), "exit code 1"),
        (_exited(2, "python3: can't open file '/opt/x.py'"), "exit code 2"),
        (_exited(137, "", "OOMKilled"), "OOMKilled (exit code 137): it used more than 2048Mi of memory; raise"),
        (_exited(137), "exit code 137: killed, often for want of memory"),
        (_exited(128, "exec: not found", "StartError"), "exit code 128 (StartError)"),
        (_exited(78, _TRACEBACK), "exit code 78: it failed twice in the same way before its first step"),
    ],
)
def test_how_it_ended_and_its_last_words(state: dict[str, Any], how: str) -> None:
    first, *said = failures.first([_pod(**state)])
    assert first.startswith(f"{_RUN}-worker-0-0: {how}")
    assert [line.strip() for line in said] == [
        line.strip() for line in state["terminated"]["message"].splitlines() if line.strip()
    ]


def test_of_a_gang_the_one_that_failed_by_itself_counts() -> None:
    stopped = _pod("worker-0-1", at="11:58:00", **_exited(143))
    saved = _pod("worker-0-2", at="11:57:00", **_exited(75))
    late = _pod("worker-0-3", at="11:59:30", **_exited(1, "a peer is gone"))
    cause = _pod("worker-0-0", at="11:59:00", **_exited(1, _TRACEBACK))
    runs = _pod("worker-0-4", phase="Running", running={})
    assert failures.first([stopped, late, saved, cause, runs])[-1] == "  ValueError: boom"
    assert failures.in_short([stopped, late, cause]) == "exit code 1: ValueError: boom"


def test_a_pod_that_the_cluster_took_away_says_who_did() -> None:
    pod = _pod()
    pod["status"] |= {"reason": "Evicted", "message": "The node was low on resource: memory."}
    assert failures.first([pod]) == [f"{_RUN}-worker-0-0: Evicted: The node was low on resource: memory."]


def test_what_is_well_or_gone_tells_nothing() -> None:
    assert failures.first([]) == []
    assert failures.first([_pod(phase="Succeeded", **_exited(0, "done", "Completed"))]) == []
    assert failures.in_short([]) == ""


@pytest.mark.parametrize(
    "reason", ["ErrImagePull", "ImagePullBackOff", "InvalidImageName", "CreateContainerConfigError"]
)
def test_an_image_that_cannot_be_pulled_is_named(reason: str) -> None:
    pods = [_pod(phase="Pending", waiting={"reason": "ContainerCreating"})]
    assert failures.cannot_begin(pods) == ""
    pods.append(_pod("worker-0-1", phase="Pending", waiting={"reason": reason, "message": "no such\n image"}))
    assert failures.cannot_begin(pods) == f"{_RUN}-worker-0-1: {reason}: no such image"


def _job_set(kind: str = "", **status: Any) -> dict[str, Any]:
    about = {
        "name": _RUN,
        "namespace": "ml",
        "creationTimestamp": "2026-11-22T11:00:00Z",
        "uid": "u",
        "labels": {NAME: "digits"},
    }
    conditions = [
        {"type": kind, "status": "True", "message": "jobset failed", "lastTransitionTime": "2026-11-22T11:59:00Z"}
    ]
    return {"metadata": about, "spec": {}, "status": {"conditions": conditions if kind else [], **status}}


def test_why_tells_the_reason_and_how_to_run_it_again() -> None:
    facts = Facts("ml")
    asked = Asked(
        _job_set("Failed", restarts=3),
        None,
        (),
        facts,
        Details([_pod(**_exited(1, _TRACEBACK))]),
        Room({}, {}, ()),
        _NOW,
    )
    found = why_text.answer(asked)
    assert found.state == "failed"
    assert found.lines[0] == f"{_RUN}-worker-0-0: exit code 1"
    assert found.lines[3] == "  ValueError: boom"
    assert found.lines[4] == "It had been started again 3 times."
    assert "raise `attempt`" in found.lines[5]
    assert f"kubectl -n ml delete jobset {_RUN}" in found.lines[5]


def test_why_needs_no_kueue() -> None:
    class Bare(_Cluster):
        def items(self, path: str, **_: str) -> list[dict[str, Any]]:
            return [_job_set("Failed")] if path.endswith("jobsets") else [failed] if path.endswith("pods") else []

    failed = _pod(**_exited(1, _TRACEBACK))
    found = why.ask(cast(Kube, Bare({}, [])), "ml", "digits", {})
    assert (found.state, found.lines[3]) == ("failed", "  ValueError: boom")


def _drawn(facts: status_tables.Facts) -> str:
    drawn = io.StringIO()
    Console(width=200, file=drawn).print(status_tables.render(facts, _NOW, routed=True))
    return drawn.getvalue()


@pytest.mark.parametrize(
    ("job_set", "pods", "row"),
    [
        (
            _job_set("Failed", restarts=3),
            [_pod(**_exited(1, _TRACEBACK))],
            "Failed 3 1 h exit code 1: ValueError: boom",
        ),
        (_job_set("Completed"), [_pod(phase="Succeeded", **_exited(0))], "Completed 0 1 h"),
        (_job_set(), [_pod(phase="Running", running={})], "Running 0 1 h"),
        (
            _job_set(),
            [_pod(phase="Pending", waiting={"reason": "ErrImagePull", "message": "no such image"})],
            f"Starting 0 1 h {_RUN}-worker-0-0: ErrImagePull: no such image",
        ),
        ({**_job_set(), "spec": {"suspend": True}}, [], "Waiting 0 1 h"),
    ],
)
def test_status_has_a_line_for_each_run(job_set: dict[str, Any], pods: list[dict[str, Any]], row: str) -> None:
    facts = status_tables.Facts([], pods, [], [], [], job_sets=[job_set])
    training = _drawn(facts).partition("Training")[2].partition("\n\n")[0]
    assert " ".join(training.splitlines()[2].split()) == f"ml {_RUN} {row}"


class _Cluster:
    """A cluster's answers by path; a list of a JobSet's answers is told one after the other."""

    def __init__(self, job_sets: Mapping[str, Any], pods: list[dict[str, Any]]) -> None:
        self._job_sets = {name: list(each) if isinstance(each, list) else [each] for name, each in job_sets.items()}
        self._pods = pods

    def get(self, path: str, **_: str) -> Any:
        found = self._job_sets.get(path.rpartition("/")[2], [None])
        return found.pop(0) if len(found) > 1 else found[0]

    def items(self, path: str, **_: str) -> list[dict[str, Any]]:
        return self._pods

    def text(self, path: str, **_: str) -> str:
        return ""


def _api(job_sets: Mapping[str, Any], *pods: dict[str, Any]) -> Kube:
    return cast(Kube, _Cluster(job_sets, list(pods)))


_OUTPUTS = {
    "namespace": "ml",
    "workloads": {
        "digits": {"kind": "trainingJob", "jobSet": _RUN},
        "other": {"kind": "trainingJob", "jobSet": "other-1"},
        "server": {"kind": "modelServer"},
    },
}


def test_an_update_that_changes_nothing_still_tells_of_failed_jobs_and_of_those_that_are_gone() -> None:
    with pytest.raises(Fault) as raised:
        watch.jobs(_api({_RUN: _job_set("Failed")}, _pod(**_exited(1, _TRACEBACK))), _OUTPUTS)
    lines = raised.value.lines
    assert lines[0] == f"training job {_RUN} failed:"
    assert "    ValueError: boom" in lines
    assert any(line.startswith("training job other-1: it is not in the cluster") for line in lines)
    assert lines[-1].startswith("  To begin anew, raise `attempt` of the job.")
    watch.jobs(_api({_RUN: _job_set("Completed"), "other-1": _job_set()}), _OUTPUTS)


_FOLLOWED = watch.Outputs("ml", _RUN, "q", "d", "s", "m", {})


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Time that passes only where somebody waits: a minute each time."""
    now = [0.0]
    monkeypatch.setattr("embedded.watch.time.monotonic", lambda: now[0])
    monkeypatch.setattr("embedded.watch.time.sleep", lambda _: now.__setitem__(0, now[0] + 60))


@pytest.mark.usefixtures("clock")
def test_a_job_is_followed_for_as_long_as_it_runs() -> None:
    hours = [_job_set()] * 1000
    api = _api({_RUN: [*hours, _job_set("Completed")]}, _pod(phase="Running", running={}))
    watch.training(api, _FOLLOWED, Step("training"))


@pytest.mark.usefixtures("clock")
def test_one_that_waits_in_its_queue_is_left_with_what_to_look_at() -> None:
    with pytest.raises(
        Fault, match=r"waiting in queue q \(no pod of it has run for 900 s\).*make why.*follows it again"
    ):
        watch.training(_api({_RUN: _job_set()}), _FOLLOWED, Step("training"))


@pytest.mark.usefixtures("clock")
def test_an_image_that_cannot_be_pulled_is_not_waited_for_as_long() -> None:
    pod = _pod(phase="Pending", waiting={"reason": "ImagePullBackOff", "message": "no such image"})
    with pytest.raises(Fault, match=r"cannot begin: .*ImagePullBackOff: no such image; correct the image"):
        watch.training(_api({_RUN: _job_set()}, pod), _FOLLOWED, Step("training"))
