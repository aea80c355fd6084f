"""Checks of a Pod and of what it says about its trouble.

Source: additionalComments.go (Pod) and checker/pod/check.go of pulumi-kubernetes v4.32; the statuses have the form that
kubelet 1.36 writes.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tensorplane.plugins.kubernetes import await_pod, await_reasons

Object = dict[str, Any]

STEPS = ["PodScheduled", "Initialized", "Ready"]


def a_pod(
    *, name: str = "web", phase: str = "Pending", true: tuple[str, ...] = ("PodScheduled",), **status: Any
) -> Object:
    conditions = [{"type": step, "status": str(step in true)} for step in STEPS]
    return {"metadata": {"name": name}, "status": {"phase": phase, "conditions": conditions} | status}


def a_container(state: Object, last: Object | None = None, name: str = "main") -> Object:
    return {"name": name, "ready": False, "state": state, "lastState": last or {}}


@given(st.sets(st.sampled_from(STEPS)), st.sampled_from(["Pending", "Running"]))
def test_pod_is_ready_exactly_when_scheduled_initialized_and_ready(true: set[str], phase: str) -> None:
    assert await_pod.check(a_pod(phase=phase, true=tuple(true)), {}).ready == (true == set(STEPS))


def test_succeeded_pod_is_ready_without_the_ready_condition() -> None:
    assert await_pod.check(a_pod(phase="Succeeded", true=("PodScheduled", "Initialized")), {}).ready


def test_failed_pod_fails_at_once_with_its_exit_code() -> None:
    ended = a_container({"terminated": {"exitCode": 3, "reason": "Error", "message": "no such file"}})
    verdict = await_pod.check(a_pod(phase="Failed", containerStatuses=[ended]), {})
    assert verdict.failed
    assert verdict.reasons == ("container 'main' ended with exit code 3: no such file",)


def test_evicted_pod_says_so() -> None:
    verdict = await_pod.check(a_pod(phase="Failed", reason="Evicted", message="The node was low on memory."), {})
    assert verdict.reasons == ("[Evicted] The node was low on memory.",)


@pytest.mark.parametrize("waiting", ["ContainerCreating", "PodInitializing"])
def test_starting_container_is_no_trouble(waiting: str) -> None:
    assert await_pod.reasons(a_pod(containerStatuses=[a_container({"waiting": {"reason": waiting}})])) == []


def test_image_pull_message_is_carried_without_the_runtimes_prefix() -> None:
    message = 'Back-off pulling image "web:9": rpc error: code = NotFound desc = web:9: not found'
    container = a_container({"waiting": {"reason": "ImagePullBackOff", "message": message}})
    assert await_pod.reasons(a_pod(containerStatuses=[container])) == [
        "container 'main': [ImagePullBackOff] Back-off pulling image \"web:9\": web:9: not found"
    ]


def test_crash_loop_tells_the_last_exit_code_and_message() -> None:
    """check.go: containerLastTerminationState reports the exit code and the termination message."""
    container = a_container(
        {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 10s restarting failed container"}},
        {"terminated": {"exitCode": 1, "reason": "Error", "message": "see ya!\n"}},
    )
    reasons = await_pod.reasons(a_pod(containerStatuses=[container]))
    assert reasons == [
        "container 'main': [CrashLoopBackOff] back-off 10s restarting failed container",
        "container 'main' ended with exit code 1: see ya!",
    ]


def test_killed_for_memory_is_named() -> None:
    container = a_container({"waiting": {}}, {"terminated": {"exitCode": 137, "reason": "OOMKilled"}})
    assert await_pod.reasons(a_pod(containerStatuses=[container])) == [
        "container 'main' ended with exit code 137 (OOMKilled)"
    ]


def test_unschedulable_pod_carries_the_schedulers_message() -> None:
    pod = a_pod(true=())
    pod["status"]["conditions"][0] |= {"reason": "Unschedulable", "message": "0/1 nodes: Insufficient nvidia.com/gpu."}
    assert await_pod.check(pod, {}).reasons == ("[Unschedulable] 0/1 nodes: Insufficient nvidia.com/gpu.",)


def test_init_container_trouble_is_found() -> None:
    container = a_container({"waiting": {"reason": "CreateContainerConfigError", "message": "no secret"}}, name="init")
    pod = a_pod(initContainerStatuses=[container])
    assert await_pod.reasons(pod) == ["container 'init': [CreateContainerConfigError] no secret"]


def test_same_trouble_of_many_pods_is_said_once() -> None:
    container = a_container({"waiting": {"reason": "ErrImagePull", "message": "not found"}})
    pods = [a_pod(name=f"web-{n}", containerStatuses=[container]) for n in range(3)]
    assert await_pod.pods_reasons(pods) == ["[Pod web-0 and 2 more] container 'main': [ErrImagePull] not found"]


def an_event(reason: str, message: str, when: str = "2026-01-01T00:00:00Z") -> Object:
    return {"reason": reason, "message": message, "lastTimestamp": when, "involvedObject": {"name": "web"}}


def test_events_only_add_new_reasons() -> None:
    pods = ["[Pod web] container 'main': [ImagePullBackOff] web:9: not found"]
    events = [
        an_event("Failed", "Error: ImagePullBackOff"),
        an_event("FailedMount", 'configmap "code" not found', "2026-01-01T00:00:05Z"),
        an_event("FailedMount", 'configmap "code" not found', "2026-01-01T00:00:09Z"),
        an_event("Unhealthy", "Readiness probe failed", "2026-01-01T00:00:07Z"),
    ]
    assert await_reasons.gather(["[X] web:9: not found"], pods, events) == [
        pods[0],
        '[FailedMount] configmap "code" not found (web)',
        "[Unhealthy] Readiness probe failed (web)",
    ]


@given(st.lists(st.text(max_size=900), max_size=30), st.lists(st.text(max_size=900), max_size=30))
def test_reasons_stay_short_few_and_distinct(own: list[str], pods: list[str]) -> None:
    found = await_reasons.gather(own, pods, [])
    assert len(found) <= await_reasons.MOST_REASONS
    assert len(set(found)) == len(found)
    assert all(len(line) <= await_reasons.MOST_CHARACTERS and "\n" not in line and line for line in found)
