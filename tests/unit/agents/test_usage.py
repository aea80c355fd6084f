"""The program that records GPU-hours: each second of each job once, whenever it looks and whenever it is killed."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tensorplane.agents.api import NOT_FOUND
from tensorplane.agents.usage import controller, state, workload
from tensorplane.agents.usage.state import UsageState
from tensorplane.components import versions
from tensorplane.components.catalog import GPU_RESOURCE
from tests.unit.agents.fake_api_server import FakeApiServer

START = datetime(2026, 10, 31, 23, 0, tzinfo=UTC)
NOVEMBER = 3600
"""Seconds from the start to the first of November."""


def test_it_reads_what_the_stack_creates() -> None:
    assert f"apis/{versions.KUEUE_API}" == controller.KUEUE
    assert workload.GPU == GPU_RESOURCE


def _at(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


@dataclass(frozen=True)
class Job:
    """A job's life: when it was admitted and stopped, in seconds, one admission after another."""

    name: str
    gpus: int
    admissions: tuple[tuple[int, int], ...]
    finishes: bool

    def used(self, until: float) -> float:
        """GPU-seconds."""
        return self.gpus * sum(max(min(end, until) - begin, 0) for begin, end in self.admissions)

    def observed(self, now: float) -> dict[str, Any]:
        """Its Workload, as Kueue shows it then."""
        begun = [one for one in self.admissions if one[0] <= now]
        ended = [one for one in begun if one[1] <= now]
        finished = self.finishes and len(ended) == len(self.admissions)
        holds = len(begun) > len(ended) or finished
        conditions = []
        if begun:
            changed = begun[-1][0] if holds else begun[-1][1]
            conditions.append(_condition("Admitted", holds, changed))
        if finished:
            conditions.append(_condition("Finished", True, begun[-1][1]))
        former = ended[:-1] if finished else ended
        admission = {"podSetAssignments": [_assigned(self.gpus)]} if holds else None
        return {
            "metadata": {"uid": f"0000-{self.name}"},
            "spec": {"queueName": "research", "podSets": [_pod_set(self.gpus)]},
            "status": {
                "conditions": conditions,
                "accumulatedPastExecutionTimeSeconds": sum(end - begin for begin, end in former),
                **({"admission": admission} if admission else {}),
            },
        }


def _condition(kind: str, holds: bool, seconds: int) -> dict[str, str]:
    return {"type": kind, "status": str(holds), "lastTransitionTime": f"{_at(seconds):%Y-%m-%dT%H:%M:%SZ}"}


def _assigned(gpus: int, count: int = 1) -> dict[str, Any]:
    return {
        "name": "worker",
        "count": count,
        "flavors": {GPU_RESOURCE: "t4"},
        "resourceUsage": {GPU_RESOURCE: str(gpus * count), "cpu": "4"},
    }


def _pod_set(gpus: int) -> dict[str, Any]:
    container = {"resources": {"limits": {GPU_RESOURCE: str(gpus)}}}
    return {"name": "worker", "count": 1, "template": {"spec": {"containers": [container]}}}


@st.composite
def _jobs(draw: st.DrawFn) -> list[Job]:
    found = []
    for number in range(draw(st.integers(1, 3))):
        times = sorted(draw(st.sets(st.integers(0, 7200), min_size=2, max_size=6)))
        pairs = tuple(zip(times[::2], times[1::2], strict=False))
        found.append(Job(f"job{number}", draw(st.integers(1, 8)), pairs, draw(st.booleans())))
    return found


def _look(before: UsageState, jobs: list[Job], now: float) -> UsageState:
    held = [one for job in jobs if (one := workload.read_usage(job.observed(now), _at(now)))]
    return UsageState.from_data(state.count(before, held).to_data())


def _sum(found: UsageState) -> float:
    return sum(count for month in found.usage.values() for queue in month.values() for count in queue.values())


@given(_jobs(), st.lists(st.tuples(st.floats(0, 7200), st.booleans()), max_size=12))
def test_each_second_is_counted_once_wherever_the_program_is_killed(
    jobs: list[Job], looks: list[tuple[float, bool]]
) -> None:
    kept = UsageState()
    for now, is_killed in sorted(looks):
        found = _look(kept, jobs, now)
        # Killed before it writes; or another one wrote first, and the API server refuses this one.
        kept = kept if is_killed else found
    kept = _look(_look(kept, jobs, 7300), jobs, 7400)
    assert _sum(kept) == pytest.approx(sum(job.used(7400) for job in jobs), abs=0.1 * len(jobs) * (1 + len(looks)))
    # Those that are gone are forgotten, and what they used is not.
    assert _look(kept, [], 7500) == UsageState(kept.usage, {})


@given(st.integers(1, 7000), st.lists(st.integers(1, 7100), max_size=8))
def test_a_job_over_the_end_of_a_month_counts_in_both(end: int, looks: list[int]) -> None:
    job, kept = Job("a", 4, ((0, end),), finishes=True), UsageState()
    for now in (*sorted(looks), 7200):
        kept = _look(kept, [job], now)
    found = {month: queues["research"]["t4"] for month, queues in kept.usage.items()}
    expected = {"2026-10": 4 * min(end, NOVEMBER), "2026-11": 4 * max(end - NOVEMBER, 0)}
    assert found == pytest.approx({month: count for month, count in expected.items() if count})


def test_what_nobody_saw_is_of_an_unknown_flavor() -> None:
    kept = _look(UsageState(), [Job("a", 4, ((0, 100), (5000, 6000)), finishes=False)], 200)
    assert kept.usage == {"2026-10": {"research": {"unknown": 400}}}


def test_an_evicted_job_keeps_the_flavor_that_it_had() -> None:
    job = Job("a", 4, ((0, 100), (5000, 6000)), finishes=False)
    kept = _look(_look(UsageState(), [job], 50), [job], 200)
    assert kept.usage == {"2026-10": {"research": {"t4": 400}}}


def test_a_maximum_time_that_sets_kueues_sum_back_counts_nothing_twice() -> None:
    admitted = _condition("Admitted", True, 0)
    thing = Job("a", 1, ((0, 5000),), finishes=False).observed(100)
    thing["status"] |= {"conditions": [admitted], "accumulatedPastExecutionTimeSeconds": 50}
    before = state.count(UsageState(), filter(None, [workload.read_usage(thing, _at(100))]))
    del thing["status"]["accumulatedPastExecutionTimeSeconds"]
    after = state.count(before, filter(None, [workload.read_usage(thing, _at(110))]))
    assert (_sum(before), _sum(after)) == (150, 160)


def test_pods_that_have_ended_and_returned_their_quota_count_no_longer() -> None:
    thing = Job("a", 2, ((0, 5000),), finishes=False).observed(100)
    thing["status"]["admission"] = {"podSetAssignments": [_assigned(2, 4)]}
    thing["status"]["reclaimablePods"] = [{"name": "worker", "count": 3}]
    found = workload.read_usage(thing, _at(100))
    assert found
    assert found.gpus == {"t4": 2}


def test_thousands_of_gpus_are_read_as_kubernetes_writes_them() -> None:
    thing = Job("a", 1, ((0, 5000),), finishes=False).observed(100)
    thing["status"]["admission"]["podSetAssignments"][0]["resourceUsage"] = {GPU_RESOURCE: "2k"}
    found = workload.read_usage(thing, _at(100))
    assert found
    assert found.gpus == {"t4": 2000}


def test_jobs_without_gpus_are_not_recorded() -> None:
    assert workload.read_usage(Job("a", 0, ((0, 5000),), finishes=False).observed(100), _at(100)) is None


_HOME = "/api/v1/namespaces/tp/configmaps"
_WORKLOADS = f"/{controller.KUEUE}/namespaces/vision/workloads"


def _requests(server: FakeApiServer) -> Counter[str]:
    return Counter(method for method, _, _ in server.asked)


def test_the_first_look_creates_the_record(api_server: FakeApiServer) -> None:
    api_server.answers[("GET", f"{_HOME}/usage.vision")] = (NOT_FOUND, {})
    api_server.answers[("GET", _WORKLOADS)] = (200, {"items": [Job("a", 2, ((0, 50),), finishes=True).observed(60)]})
    controller.reconcile(api_server.client, "tp", ["vision"], _at(60))
    method, path, body = api_server.asked[-1]
    assert (method, path, body["metadata"]["name"]) == ("POST", _HOME, "usage.vision")
    assert UsageState.from_data(body["data"]).usage == {"2026-10": {"research": {"t4": 100}}}


def test_a_change_is_refused_if_another_wrote_since(api_server: FakeApiServer) -> None:
    kept = {"metadata": {"resourceVersion": "7"}, "data": UsageState().to_data()}
    api_server.answers[("GET", f"{_HOME}/usage.vision")] = (200, kept)
    api_server.answers[("GET", _WORKLOADS)] = (200, {"items": [Job("a", 2, ((0, 50),), finishes=True).observed(60)]})
    api_server.answers[("PATCH", f"{_HOME}/usage.vision")] = (409, {})
    controller.reconcile(api_server.client, "tp", ["vision"], _at(60))
    assert api_server.asked[-1][2]["metadata"] == {"resourceVersion": "7"}


def test_without_news_nothing_is_written(api_server: FakeApiServer) -> None:
    done = [Job("a", 2, ((0, 50),), finishes=True).observed(60)]
    held = [one for thing in done if (one := workload.read_usage(thing, _at(60)))]
    kept = {"metadata": {"resourceVersion": "7"}, "data": state.count(UsageState(), held).to_data()}
    api_server.answers[("GET", f"{_HOME}/usage.vision")] = (200, kept)
    api_server.answers[("GET", _WORKLOADS)] = (200, {"items": done})
    controller.reconcile(api_server.client, "tp", ["vision"], _at(90))
    assert _requests(api_server) == {"GET": 2}


def test_a_namespace_that_cannot_be_listed_loses_nothing(api_server: FakeApiServer) -> None:
    api_server.answers[("GET", _WORKLOADS)] = (403, {})
    with pytest.raises(OSError, match="403"):
        controller.reconcile(api_server.client, "tp", ["vision"], _at(60))
    assert _requests(api_server) == {"GET": 2}
