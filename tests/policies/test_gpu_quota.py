"""The rule gpu-quota: what it lets pass, what it refuses, and that it refuses what it cannot know."""

from __future__ import annotations

import pytest

from tests.policies.conftest import Judge, Violations
from tests.policies.stacks import UNKNOWN_NUMBER, UNKNOWN_OBJECT, Resource, pod, raw, template, workload

DEPLOYMENT = "apps/v1:Deployment"


def test_workloads_within_the_quota_pass(violations: Violations) -> None:
    stack = [workload("TrainingJob", "digits", gpus=4.0), workload("ModelServer", "server", gpus=4.0)]
    assert violations(*stack, maxGpus=8) == []


def test_workloads_beyond_the_quota_are_named_with_what_each_asks_for(violations: Violations) -> None:
    stack = [
        workload("TrainingJob", "digits", gpus=8.0),
        workload("ModelServer", "server", gpus=4.0),
        workload("ModelServer", "small", gpus=0.0),
    ]
    assert violations(*stack, maxGpus=8) == [
        "The workloads request 12 GPUs; the quota is 8. digits (TrainingJob): 8, server (ModelServer): 4. "
        "Request fewer in their settings, or raise gpu-quota.maxGpus in policies/config.dev.json"
    ]


def test_of_a_thousand_workloads_the_five_largest_are_named(violations: Violations) -> None:
    stack = [workload("TrainingJob", f"job-{number:04}", gpus=1.0) for number in range(1000)]
    stack[500]["props"]["gpus"] = 8.0
    (message,) = violations(*stack, maxGpus=8)
    assert message == (
        "The workloads request 1007 GPUs; the quota is 8. job-0500 (TrainingJob): 8, job-0000 (TrainingJob): 1, "
        "job-0001 (TrainingJob): 1, job-0002 (TrainingJob): 1, job-0003 (TrainingJob): 1, and 995 more with 995. "
        "Request fewer in their settings, or raise gpu-quota.maxGpus in policies/config.dev.json"
    )


def test_of_a_thousand_unknown_numbers_five_are_named(violations: Violations) -> None:
    stack = [workload("TrainingJob", f"job-{number:04}", gpus=UNKNOWN_NUMBER) for number in range(1000)]
    *named, rest = violations(*stack)
    assert [message.partition(":")[0] for message in named] == [f"job-{number:04} (TrainingJob)" for number in range(5)]
    assert rest == "and 995 more; repair the same in all, of which 5 are named here"


def test_six_are_all_named(violations: Violations) -> None:
    stack = [workload("TrainingJob", f"job-{number}", gpus=UNKNOWN_NUMBER) for number in range(6)]
    assert len(violations(*stack)) == 6


def test_tpu_chips_of_trials_count_although_they_are_no_gpus(violations: Violations) -> None:
    """No object of the stack requests them: the sweep's controller makes the trials."""
    requests = [{"gpus": 24.0, "priority": "", "accelerators": ["tpu-v5e"]}]
    (message,) = violations(workload("Sweep", "search", gpus=0.0, requests=requests), maxGpus=23)
    assert "request 24 GPUs; the quota is 23. search (Sweep): 24" in message


def test_a_canary_counts_with_the_pods_that_its_controller_may_start(violations: Violations) -> None:
    """Its Deployment has none until a version is tried; the server registers the most of both."""
    stack = [
        workload("ModelServer", "server", gpus=5.0),
        raw(DEPLOYMENT, "server", {"replicas": 4, **template(pod(1))}, parent="server"),
        raw(DEPLOYMENT, "server-canary", {"replicas": 0, **template(pod(1))}, parent="server"),
    ]
    assert violations(*stack, maxGpus=5) == []
    (message,) = violations(*stack, maxGpus=4)
    assert "server (ModelServer): 5" in message


def test_without_configuration_no_gpu_is_allowed(violations: Violations) -> None:
    assert violations(workload("TrainingJob", "digits", gpus=0.0)) == []
    (message,) = violations(workload("TrainingJob", "digits", gpus=1.0))
    assert "request 1 GPUs; the quota is 0" in message


def test_a_stack_without_workloads_passes(violations: Violations) -> None:
    assert violations(raw("core/v1:ConfigMap", "settings", None)) == []


@pytest.mark.parametrize("cluster", [workload("Cluster", "cluster"), workload("Cluster", "cluster", factsVersion=1.0)])
def test_facts_of_the_packs_version_are_read(violations: Violations, cluster: Resource) -> None:
    assert violations(cluster, workload("TrainingJob", "digits", gpus=4.0), maxGpus=4) == []


def test_facts_of_a_newer_version_are_refused_in_one_line(judge: Judge) -> None:
    cluster = workload("Cluster", "cluster", factsVersion=2.0)
    stack = [cluster, workload("TrainingJob", "digits", gpus="another")]
    told = {rule: messages for rule, messages in judge("*", stack, {}).items() if messages}
    assert told == {
        "facts-version": [
            "cluster (Cluster): the stack's components register facts of version 2, and these policies read 1; "
            "use the policies of the stack's tensorplane"
        ]
    }


def test_an_unknown_number_fails_closed(violations: Violations) -> None:
    (message,) = violations(workload("TrainingJob", "digits", gpus=UNKNOWN_NUMBER), maxGpus=64)
    assert message == (
        "digits (TrainingJob): `gpus` is not known before the update; "
        "give `gpus` as a plain number in the workload's settings"
    )


def test_an_unknown_pod_fails_closed(violations: Violations) -> None:
    (message,) = violations(raw(DEPLOYMENT, "app", UNKNOWN_OBJECT), maxGpus=64)
    assert "app (Deployment)" in message
    assert "`spec`" in message


@pytest.mark.parametrize("gpus", [-1.0, 0.5, "many", True, None])
def test_a_number_that_is_none_fails_closed(violations: Violations, gpus: object) -> None:
    (message,) = violations(workload("Sweep", "search", gpus=gpus), maxGpus=64)
    assert "search (Sweep): `gpus` is not a count; give `gpus` as a plain number" in message


def test_a_workload_that_registers_nothing_fails_closed(violations: Violations) -> None:
    (message,) = violations(workload("Pipeline", "nightly"), maxGpus=64)
    assert "nightly (Pipeline): it registers no `gpus`" in message


def test_a_workload_that_registers_nothing_is_counted_by_its_pods(violations: Violations) -> None:
    stack = [workload("Pipeline", "nightly"), raw("core/v1:Pod", "step", pod(2), parent="nightly")]
    assert violations(*stack, maxGpus=2) == []
    (message,) = violations(*stack, maxGpus=1)
    assert "step (Pod): 2" in message


def test_what_a_workload_made_is_not_counted_again(violations: Violations) -> None:
    stack = [
        workload("Sweep", "search", gpus=4.0),
        workload("TrainingJob", "trial", gpus=2.0, parent="search"),
        raw("batch/v1:Job", "job", {"parallelism": 2, **template(pod(1))}, parent="trial"),
    ]
    assert violations(*stack, maxGpus=4) == []
    (message,) = violations(*stack, maxGpus=3)
    assert "request 4 GPUs" in message


def test_capacity_that_other_components_register_is_no_request(violations: Violations) -> None:
    assert violations(workload("Queue", "research", gpus=32.0)) == []
