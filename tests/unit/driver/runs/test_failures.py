"""Why a training job failed: what its pods' containers left, in `why`, `make status` and `make up`."""

from __future__ import annotations

from typing import Any

import pytest

from tensorplane.driver.runs import failures
from tests.support.failed_jobs import RUN, TRACEBACK, UNPULLED, exited, job_set_of, pod_of, unpulled


@pytest.mark.parametrize(
    ("state", "how"),
    [
        (exited(1, TRACEBACK), "exit code 1"),
        (exited(2, "python3: can't open file '/opt/x.py'"), "exit code 2"),
        (exited(137, "", "OOMKilled"), "OOMKilled (exit code 137): container main exceeded its memory limit of 2048Mi"),
        (exited(137), "exit code 137: killed, often because memory ran out"),
        (exited(128, "exec: not found", "StartError"), "exit code 128 (StartError)"),
        (
            exited(78, TRACEBACK),
            "exit code 78: it ended twice with the same last line, before its first step or within two",
        ),
        (
            exited(
                78,
                f"{TRACEBACK}\ntensorplane: after step 120 it failed 3 times in a row with the same last line; "
                "restarts would not help: ValueError: boom",
            ),
            "exit code 78: after step 120 it failed 3 times in a row with the same last line; it is not retried",
        ),
        (
            exited(78, "tensorplane: the command has succeeded, but onSuccess failed 3 times: exit code 1: refused"),
            "exit code 78: the command has succeeded, but onSuccess failed 3 times; it is not retried",
        ),
        (
            exited(78, "tensorplane: totalDeadlineSeconds, 3600, have passed since the run's first start; it is not"),
            "exit code 78: totalDeadlineSeconds, 3600, have passed since the run's first start; it is not retried",
        ),
        (
            exited(134, "tensorplane: no step for 300 s after step 1200; the stacks of its threads are above"),
            "exit code 134: no step for 300 s after step 1200; tensorplane logs shows the stacks of its threads",
        ),
        (
            exited(134, "tensorplane: no step for 300 s; it was killed, because it did not answer SIGABRT"),
            "exit code 134: no step for 300 s",
        ),
        (
            exited(134, "tensorplane: the loss has not changed for 300 s after step 9; the stacks of its threads are"),
            "exit code 134: the loss has not changed for 300 s after step 9; tensorplane logs shows the stacks",
        ),
    ],
)
def test_how_it_ended_and_its_last_words(state: dict[str, Any], how: str) -> None:
    first, *said = failures.first_failure([pod_of(**state)])
    assert first.startswith(f"{RUN}-worker-0-0: {how}")
    assert [line.strip() for line in said] == [
        line.strip() for line in state["terminated"]["message"].splitlines() if line.strip()
    ]


def test_of_a_gang_the_one_that_failed_by_itself_counts() -> None:
    stopped = pod_of("worker-0-1", at="11:58:00", **exited(143))
    saved = pod_of("worker-0-2", at="11:57:00", **exited(75))
    late = pod_of("worker-0-3", at="11:59:30", **exited(1, "a peer is gone"))
    cause = pod_of("worker-0-0", at="11:59:00", **exited(1, TRACEBACK))
    runs = pod_of("worker-0-4", phase="Running", running={})
    assert failures.first_failure([stopped, late, saved, cause, runs])[-1] == "  ValueError: boom"
    assert failures.summarize([stopped, late, cause]) == "exit code 1; last line: ValueError: boom"


def test_advice_and_the_last_log_line_are_separated() -> None:
    said = failures.summarize([pod_of(**exited(137, "250 MB\n", "OOMKilled"))])
    assert said.endswith("main exceeded its memory limit of 2048Mi; raise resources.memoryGib; last line: 250 MB")


@pytest.mark.parametrize(
    ("killed", "line"),
    [
        ("main", "container main exceeded its memory limit of 64Mi; raise resources.memoryGib"),
        ("keep", "container keep exceeded its memory limit of 128Mi; give each part fewer files"),
        (
            "wait",
            "container wait exceeded its memory limit of 256Mi; it is Argo's own, whose memory no setting changes; run "
            "the stage again",
        ),
    ],
)
def test_of_several_containers_the_one_that_was_killed_and_its_limit_are_named(killed: str, line: str) -> None:
    pod, limits = pod_of(), {"wait": "256Mi", "main": "64Mi", "keep": "128Mi"}
    pod["spec"]["containers"] = [
        {"name": name, "resources": {"limits": {"memory": each}}} for name, each in limits.items()
    ]
    pod["status"]["containerStatuses"] = [
        {"name": name, "state": exited(137, "", "OOMKilled") if name == killed else exited(0, "", "Completed")}
        for name in limits
    ]
    assert failures.first_failure([pod]) == [f"{RUN}-worker-0-0: OOMKilled (exit code 137): {line}"]


def test_a_pod_that_the_cluster_took_away_says_who_did() -> None:
    pod = pod_of()
    pod["status"] |= {"reason": "Evicted", "message": "The node was low on resource: memory."}
    assert failures.first_failure([pod]) == [f"{RUN}-worker-0-0: Evicted: The node was low on resource: memory."]


def test_what_is_well_or_gone_tells_nothing() -> None:
    assert failures.first_failure([]) == []
    assert failures.first_failure([pod_of(phase="Succeeded", **exited(0, "done", "Completed"))]) == []
    assert failures.summarize([]) == ""


@pytest.mark.parametrize("reason", ["ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull"])
def test_an_image_that_cannot_be_pulled_is_named(reason: str) -> None:
    pods = [pod_of(phase="Pending", waiting={"reason": "ContainerCreating"})]
    assert failures.cannot_start(pods) == ""
    pods = [*pods, unpulled(reason)]
    assert failures.cannot_start(pods) == UNPULLED.replace("ErrImagePull", reason)


def test_other_reasons_why_a_pod_cannot_start_are_named() -> None:
    pod = pod_of(phase="Pending", waiting={"reason": "CreateContainerConfigError", "message": "no such\n secret"})
    assert failures.cannot_start([pod]) == f"{RUN}-worker-0-0: CreateContainerConfigError: no such secret"


def test_an_oom_killed_job_continues_with_more_memory() -> None:
    pods = [pod_of(**exited(137, "", "OOMKilled"))]
    said = failures.how_to_rerun(job_set_of("Failed"), pods, "make up", "")
    assert said.startswith(
        "Raise resources.memoryGib of the job, then deploy with: make up. The same run restarts at step 0"
    )
    said = failures.how_to_rerun(job_set_of("Failed", "CHECKPOINT_DIR"), pods, "make up", "pulumi up --refresh")
    assert "The same run continues from its last checkpoint." in said


@pytest.mark.parametrize(
    ("last", "advice"),
    [
        (
            "tensorplane: totalDeadlineSeconds, 3600, have passed since the run's first start; it is not started again",
            "Raise totalDeadlineSeconds of the job, then deploy with: make up. The same run continues.",
        ),
        (
            "tensorplane: the command has succeeded, but onSuccess failed 3 times: exit code 1: refused",
            "Correct onSuccess of the job, then deploy with: make up. The run has finished and does not train again.",
        ),
    ],
)
def test_a_run_that_the_library_ended_is_advised_accordingly(last: str, advice: str) -> None:
    said = failures.how_to_rerun(job_set_of("Failed", "CHECKPOINT_DIR"), [pod_of(**exited(78, last))], "make up", "")
    assert said.startswith(advice)


@pytest.mark.parametrize("variables", [("STEPS", "CHECKPOINT_DIR"), ("STEPS",), ()])
def test_a_job_with_checkpoints_can_go_on_from_them(variables: tuple[str, ...]) -> None:
    said = failures.how_to_rerun(job_set_of("Failed", *variables), [], "make up", "pulumi up --refresh --stack dev")
    how = f"kubectl -n ml delete jobset {RUN} --ignore-not-found, then pulumi up --refresh --stack dev ("
    assert (how in said) == ("checkpoint" in said) == ("CHECKPOINT_DIR" in variables)


@pytest.mark.parametrize(
    "refused",
    [
        "requests.exceptions.ConnectTimeout: HTTPSConnectionPool(host='pypi.org', port=443): Max retries exceeded",
        "TimeoutError: timed out",
        'botocore.exceptions.EndpointConnectionError: Could not connect to the endpoint URL: "https://s3/"',
        "aiohttp.client_exceptions.ClientConnectorError: Cannot connect to host hub:443 ssl:default [timed out]",
        "FailedPreconditionError: Error executing an HTTP request: libcurl code 28 meaning 'Timeout was reached'",
        "curl: (28) Failed to connect to pypi.org port 443 after 130000 ms: Could not connect to server",
    ],
)
def test_a_closed_destination_is_named_as_a_possible_cause(refused: str) -> None:
    pods = [pod_of(**exited(1, f"{TRACEBACK}\n{refused}"))]
    *_, last, hint = failures.first_failure(pods)
    assert last == f"  {refused}"
    assert "`egress`" in hint
    assert failures.summarize(pods).endswith(f"last line: {refused}")
    assert "egress" not in "".join(failures.first_failure([pod_of(**exited(1, TRACEBACK))]))


def test_without_pods_a_deadline_may_be_the_reason() -> None:
    job: dict[str, Any] = {"template": {"spec": {"activeDeadlineSeconds": 600}}}
    assert "deadlineSeconds, 600" in failures.without_pods({"spec": {"replicatedJobs": [job]}})
    del job["template"]["spec"]["activeDeadlineSeconds"]
    assert failures.without_pods({"spec": {"replicatedJobs": [job]}}).endswith("so the reason is unknown.")
