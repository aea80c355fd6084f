"""The program that returns the quota of admitted jobs that cannot start: when it does, and when it does not."""

from __future__ import annotations

import io
import urllib.error
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from email.message import Message
from typing import Any

import pytest

from tensorplane.agents.api import ApiServer
from tensorplane.agents.quota_return import __main__ as program
from tensorplane.agents.quota_return import controller, flavors, state
from tensorplane.agents.quota_return.decide import Observed, why_stalled
from tensorplane.agents.quota_return.state import RETRY_AT, RETURN_COUNT, RETURN_REASON, Delays
from tensorplane.components import versions

Object = dict[str, Any]
NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
DELAYS = Delays()


def test_it_reads_the_api_version_that_the_stack_creates() -> None:
    assert f"apis/{versions.KUEUE_API}" == flavors.KUEUE


def at(seconds: float) -> str:
    """A moment so many seconds before now."""
    return (NOW - timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%SZ")


def condition(kind: str, status: bool, seconds: float = 100, reason: str = "") -> Object:
    return {"type": kind, "status": str(status), "reason": reason, "lastTransitionTime": at(seconds)}


def workload(*conditions: Object, active: bool | None = None, notes: Mapping[str, str] | None = None) -> Object:
    """A Workload of two pods, admitted 100 seconds ago."""
    about: Object = {"name": "sweep", "namespace": "vision", "uid": "workload", "resourceVersion": "7"}
    about |= {"creationTimestamp": at(200), "ownerReferences": [{"kind": "JobSet", "uid": "set"}]}
    if notes:
        about["annotations"] = dict(notes)
    return {
        "metadata": about,
        "spec": {} if active is None else {"active": active},
        "status": {
            "conditions": list(conditions) or [condition("Admitted", True), condition("PodsReady", False, 150)],
            "admission": {"podSetAssignments": [{"name": "worker", "count": 2}]},
        },
    }


def pod(number: int, *, node: str = "", seconds: float = 95, unschedulable: bool = True, **about: Any) -> Object:
    owner = {"kind": "Job", "uid": "job"}
    made = {"name": f"sweep-{number}", "namespace": "vision", "uid": f"pod-{number}", "creationTimestamp": at(seconds)}
    scheduled = condition("PodScheduled", False, seconds, "Unschedulable")
    status = {"phase": "Pending", "conditions": [scheduled] if unschedulable and not node else []}
    return {
        "metadata": {**made, "ownerReferences": [owner], **about},
        "spec": {"nodeName": node} if node else {},
        "status": status,
    }


def event(reason: str, of: str, seconds: float, message: str = "", component: str = "") -> Object:
    about = {"reason": reason, "involvedObject": {"uid": of}, "message": message}
    return {**about, "lastTimestamp": at(seconds), "source": {"component": component}}


JOB: Object = {
    "metadata": {"name": "sweep-0", "namespace": "vision", "uid": "job", "ownerReferences": [{"uid": "set"}]}
}
REFUSED = event("FailedCreate", "job", 90, 'Error creating: pods "sweep-0-x" is forbidden: exceeded quota: pods')
FULL = event("NotTriggerScaleUp", "pod-0", 80, "pod didn't trigger scale-up: 1 max node group size reached")
NO_GROUP = event("FailedScheduling", "pod-0", 80, "incompatible with nodepool gpus", "karpenter")
LEAVING = pod(9, node="node-1", deletionTimestamp=at(-60), ownerReferences=[])
BOTH = [pod(0), pod(1)]


def observed(*events: Object, pods: list[Object] | None = None) -> Observed:
    return Observed([JOB], BOTH if pods is None else pods, events)


REFUSAL, NO_NODE = "its pods are refused: ", "no node can hold its pods: "


@pytest.mark.parametrize(
    ("around", "reason"),
    [
        (observed(REFUSED, pods=[]), REFUSAL + "exceeded quota: pods"),
        (observed(REFUSED, pods=[pod(0, node="node-1", seconds=95)]), REFUSAL + "exceeded quota: pods"),
        (
            observed(event("FailedCreate", "job", 90, "Error creating: admission webhook denied it."), pods=[]),
            REFUSAL + "admission webhook denied it",
        ),
        (
            observed(event("JobCreationFailed", "set", 90, "exceeded quota: jobs"), pods=[]),
            REFUSAL + "exceeded quota: jobs",
        ),
        (observed(FULL), NO_NODE + "pod didn't trigger scale-up: 1 max node group size reached"),
        (observed(NO_GROUP), NO_NODE + "incompatible with nodepool gpus"),
        # The group grew, and the pod did not fit.
        (observed(event("TriggeredScaleUp", "pod-0", 95), FULL), NO_NODE + FULL["message"]),
        # A node for one pod of two is of no use.
        (observed(event("TriggeredScaleUp", "pod-1", 70), FULL), NO_NODE + FULL["message"]),
        # A pod that outstays its grace period.
        (observed(REFUSED, pods=[pod(9, node="n", deletionTimestamp=at(40))]), REFUSAL + "exceeded quota: pods"),
    ],
)
def test_quota_is_returned(around: Observed, reason: str) -> None:
    assert why_stalled(workload(), around, NOW, DELAYS.after) == reason


@pytest.mark.parametrize(
    "around",
    [
        pytest.param(observed(pods=[]), id="no pods yet, and nothing is known"),
        pytest.param(observed(), id="the scheduler alone finds no node"),
        pytest.param(
            observed(event("FailedScheduling", "pod-0", 80, "0/3 nodes", "default-scheduler")), id="scheduler"
        ),
        pytest.param(observed(REFUSED, pods=[pod(0, seconds=60), pod(1, seconds=60)]), id="created at a second try"),
        pytest.param(observed(REFUSED, pods=[pod(0, node="n", seconds=60)]), id="refused before one that was taken"),
        pytest.param(observed(event("FailedCreate", "job", 120), pods=[]), id="refused before this admission"),
        pytest.param(observed(event("FailedCreate", "other", 90), pods=[]), id="another job's pods are refused"),
        pytest.param(observed(REFUSED, pods=[LEAVING]), id="a pod that leaves frees its share of a ResourceQuota"),
        pytest.param(observed(FULL, pods=[*BOTH, LEAVING]), id="a pod that leaves makes room"),
        pytest.param(observed(FULL, event("TriggeredScaleUp", "pod-0", 70)), id="a node is being added"),
        pytest.param(
            observed(FULL, event("TriggeredScaleUp", "pod-0", 80)), id="a node is being added in the same second"
        ),
        pytest.param(observed(NO_GROUP, event("Nominated", "pod-0", 70)), id="Karpenter makes a node"),
        pytest.param(
            observed(FULL, pods=[pod(0, node="n"), pod(1, node="n")]), id="nodes came; images are being pulled"
        ),
        pytest.param(
            observed(event("NotTriggerScaleUp", "pod-0", 80, "1 in backoff after failed scale-up, 2 Insufficient cpu")),
            id="the cloud had no machine, and is asked again",
        ),
        pytest.param(
            observed(event("FailedScheduling", "pod-0", 80, "no instance type has the required offering", "karpenter")),
            id="Karpenter's cloud had no machine",
        ),
    ],
)
def test_what_may_still_start_keeps_its_quota(around: Observed) -> None:
    assert why_stalled(workload(), around, NOW, DELAYS.after) is None


@pytest.mark.parametrize(
    "held",
    [
        workload(condition("Admitted", True, 59), condition("PodsReady", False, 59)),
        workload(condition("Admitted", True), condition("PodsReady", True, 50)),
        # It ran, and lost a pod a moment ago.
        workload(condition("Admitted", True, 9000), condition("PodsReady", False, 30)),
        workload(condition("QuotaReserved", True)),
        workload(condition("Admitted", True), condition("Evicted", True, 50)),
        workload(condition("Admitted", True), condition("Finished", True, 50)),
        workload(active=False),
    ],
)
def test_what_runs_is_young_or_holds_nothing_is_left_alone(held: Object) -> None:
    assert why_stalled(held, observed(REFUSED, pods=[]), NOW, DELAYS.after) is None


def test_where_nothing_adds_nodes_the_schedulers_word_is_enough() -> None:
    said = pod(0)
    said["status"]["conditions"][0]["message"] = "0/3 nodes are available: 3 Insufficient nvidia.com/gpu."
    around = replace(observed(pods=[said, pod(1, node="n")]), nodes_are_added=False)
    reason = f"{NO_NODE}0/3 nodes are available: 3 Insufficient nvidia.com/gpu"
    assert why_stalled(workload(), around, NOW, DELAYS.after) == reason
    for keeps in ([pod(0, seconds=20)], [said, LEAVING], [pod(0, unschedulable=False)]):
        assert why_stalled(workload(), replace(around, pods=keeps), NOW, DELAYS.after) is None


def test_each_try_waits_twice_as_long_up_to_twenty_minutes() -> None:
    minutes = [DELAYS.wait(times) / timedelta(minutes=1) for times in range(1, 7)]
    assert minutes == [2, 4, 8, 16, 20, 20]


def test_the_workload_says_why_how_often_and_until_when() -> None:
    change = state.return_quota(workload(notes={RETURN_COUNT: "1"}), "because", NOW, DELAYS)
    assert change == {
        "metadata": {
            "resourceVersion": "7",
            "annotations": {RETURN_REASON: "because", RETURN_COUNT: "2", RETRY_AT: "2026-03-01T12:04:00Z"},
        },
        "spec": {"active": False},
    }


def test_after_twenty_tries_a_job_is_given_up() -> None:
    change = state.return_quota(workload(notes={RETURN_COUNT: "19"}), "because", NOW, DELAYS)
    assert change["metadata"]["annotations"] == {RETURN_REASON: "because", RETURN_COUNT: "20", RETRY_AT: None}
    given_up = workload(condition("Evicted", True), active=False, notes={RETURN_REASON: "because", RETURN_COUNT: "20"})
    assert state.next_change(given_up, NOW, DELAYS) is None


@pytest.mark.parametrize(
    ("found", "active", "annotations"),
    [
        (
            workload(condition("Evicted", True), active=False, notes={RETURN_COUNT: "1", RETRY_AT: at(1)}),
            True,
            {RETRY_AT: None},
        ),
        (
            workload(condition("Evicted", True), active=False, notes={RETURN_COUNT: "1", RETRY_AT: "soon"}),
            True,
            {RETRY_AT: None},
        ),
        # Its pods are still being stopped.
        (workload(condition("QuotaReserved", True), active=False, notes={RETRY_AT: at(1)}), None, None),
        (workload(condition("Evicted", True), active=False, notes={RETURN_COUNT: "1", RETRY_AT: at(-1)}), None, None),
        # Somebody deactivated it, before or after it was tried again.
        (workload(active=False), None, None),
        (workload(active=False, notes={RETURN_REASON: "because", RETURN_COUNT: "1"}), None, None),
        # Somebody did not wait.
        (
            workload(active=True, notes={RETURN_REASON: "because", RETURN_COUNT: "1", RETRY_AT: at(-60)}),
            None,
            {RETRY_AT: None},
        ),
        # It is being tried, and then it runs.
        (workload(active=True, notes={RETURN_REASON: "because", RETURN_COUNT: "1"}), None, None),
        (
            workload(
                condition("Admitted", True),
                condition("PodsReady", True),
                notes={RETURN_REASON: "because", RETURN_COUNT: "1"},
            ),
            None,
            {RETURN_REASON: None, RETURN_COUNT: None, RETRY_AT: None},
        ),
        # Somebody activated one that had been given up: it has all its tries again.
        (
            workload(active=True, notes={RETURN_REASON: "because", RETURN_COUNT: "20"}),
            None,
            {RETURN_REASON: None, RETURN_COUNT: None, RETRY_AT: None},
        ),
        (workload(condition("Finished", True), active=False, notes={RETRY_AT: at(1)}), None, None),
    ],
)
def test_only_what_it_deactivated_is_tried_again(
    found: Object, active: bool | None, annotations: dict[str, None] | None
) -> None:
    change = state.next_change(found, NOW, DELAYS)
    if annotations is None:
        assert change is None
        return
    assert change is not None
    assert change["metadata"] == {"resourceVersion": "7", "annotations": annotations}
    assert change.get("spec") == (None if active is None else {"active": active})


class FakeServer(ApiServer):
    """Some Workloads, and what is around them."""

    def __init__(self, *workloads: Object, refuses: int = 0, gone: str = "no namespace") -> None:
        super().__init__()
        self.__dict__.update(workloads=workloads, asked=[], patches=[], refuses=refuses, gone=gone)

    asked: list[str]
    patches: list[tuple[str, Object]]
    workloads: tuple[Object, ...]
    refuses: int
    gone: str

    def send(self, method: str, path: str, body: Any = None, *, content_type: str | None = None) -> Any:
        if method == "PATCH":
            if self.refuses:
                raise urllib.error.HTTPError(path, self.refuses, "no", Message(), io.BytesIO())
            self.patches.append((path, body))
            return {}
        self.asked.append(path)
        if f"/{self.gone}/" in path:
            raise urllib.error.HTTPError(path, 403, "no", Message(), io.BytesIO())
        if "/workloads" in path:
            return {"items": [one for one in self.workloads if f"/{one['metadata']['namespace']}/" in path]}
        if "/jobs" in path:
            return {"items": [JOB]}
        return {"items": [REFUSED] if "reason=FailedCreate" in path and "/vision/" in path else []}


def test_a_look_deactivates_what_is_refused() -> None:
    server = FakeServer(workload())
    controller.reconcile(server, ["lab", "vision"], NOW, DELAYS)
    ((path, body),) = server.patches
    assert path == "apis/kueue.x-k8s.io/v1beta2/namespaces/vision/workloads/sweep"
    assert body["spec"] == {"active": False}
    # The scheduler's events may be thousands.
    assert any("reason=FailedScheduling,source=karpenter" in asked for asked in server.asked)


def test_without_late_jobs_only_workloads_are_listed() -> None:
    running = workload(condition("Admitted", True), condition("PodsReady", True))
    server = FakeServer(running)
    controller.reconcile(server, ["lab", "vision"], NOW, DELAYS)
    assert server.patches == []
    assert all("/workloads?" in asked for asked in server.asked)


@pytest.mark.parametrize("code", [404, 409])
def test_what_somebody_else_changed_meanwhile_is_left_to_the_next_look(code: int) -> None:
    controller.reconcile(FakeServer(workload(), refuses=code), ["vision"], NOW, DELAYS)


def test_what_is_refused_is_heard_of_and_stops_nothing_else(capsys: pytest.CaptureFixture[str]) -> None:
    controller.reconcile(FakeServer(workload(), refuses=403), ["vision"], NOW, DELAYS)
    assert capsys.readouterr().err == "vision/sweep: HTTP Error 403: no\n"
    with pytest.raises(OSError, match="403"):
        controller.reconcile(FakeServer(gone="speech"), ["speech"], NOW, DELAYS)
    assert capsys.readouterr().err == "speech: HTTP Error 403: no\n"
    server = FakeServer(workload(), gone="speech")
    controller.reconcile(server, ["speech", "vision"], NOW, DELAYS)
    assert capsys.readouterr().err == "speech: HTTP Error 403: no\n"
    assert len(server.patches) == 1


def test_delays_are_for_the_deployment_to_say(monkeypatch: pytest.MonkeyPatch) -> None:
    used: list[Delays] = []

    def once(server: ApiServer, namespaces: object, now: datetime, delays: Delays, **_: bool) -> None:
        used.append(delays)
        raise KeyboardInterrupt

    monkeypatch.setattr(controller, "reconcile", once)
    for name, value in {"SECONDS_TO_START": "4", "SECONDS_TO_TRY_AGAIN": "3"}.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(KeyboardInterrupt):
        program.main(["vision"])
    assert used == [replace(DELAYS, after=timedelta(seconds=4), first=timedelta(seconds=3))]
