"""Checks of Deployment, StatefulSet, DaemonSet, ReplicationController and Job.

Source of each rule: the "waits until" comments that pulumi-kubernetes puts on the SDK's classes
(provider/pkg/gen/additionalComments.go) and the head comments of provider/pkg/await/*.go at v4.32.
"""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tensorplane.plugins.kubernetes import await_deployment, await_job, await_replicas
from tensorplane.plugins.kubernetes.await_result import is_owned

Object = dict[str, Any]


def a_template() -> Object:
    return {"metadata": {}, "spec": {"volumes": [{"persistentVolumeClaim": {"claimName": "data"}}]}}


def a_deployment(revision: str = "1") -> Object:
    """As the API server shows one whose rollout is complete."""
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {
            "name": "web",
            "uid": "d",
            "generation": int(revision),
            "annotations": {"deployment.kubernetes.io/revision": revision},
        },
        "spec": {
            "replicas": 2,
            "selector": {"matchLabels": {"app": "web"}},
            "template": a_template(),
        },
        "status": {
            "observedGeneration": int(revision),
            "conditions": [
                {"type": "Available", "status": "True", "reason": "MinimumReplicasAvailable", "message": "enough"},
                {"type": "Progressing", "status": "True", "reason": "NewReplicaSetAvailable", "message": "done"},
            ],
        },
    }


def its_related(revision: str = "1") -> dict[str, list[Object]]:
    annotations = {"deployment.kubernetes.io/revision": revision}
    current: Object = {
        "metadata": {"name": "web-1", "uid": "rs", "annotations": annotations},
        "spec": {"replicas": 2, "template": a_template() | {"metadata": {"labels": {"pod-template-hash": "5c"}}}},
        "status": {"readyReplicas": 2},
    }
    claim = {"metadata": {"name": "data"}, "status": {"phase": "Bound"}}
    return {"ReplicaSet": [current], "PersistentVolumeClaim": [claim], "Pod": []}


def without(obj: Object, *path: str) -> None:
    for key in path[:-1]:
        obj = obj[key]
    del obj[path[-1]]


def set_condition(obj: Object, kind: str, **values: str) -> None:
    next(found for found in obj["status"]["conditions"] if found["type"] == kind).update(values)


def spoil(missing: str, deployment: Object, related: dict[str, list[Object]]) -> None:
    """Makes the live objects look as they do while one of the documented conditions does not hold yet."""
    match missing:
        case "this generation was seen":
            deployment["status"]["observedGeneration"] = 0
        case "the revision is known":
            del deployment["metadata"]["annotations"]
        case "its ReplicaSet exists":
            related["ReplicaSet"] = []
        case "its ReplicaSet is ready":
            for found in related["ReplicaSet"]:
                found["status"]["readyReplicas"] = 1
        case "Available":
            set_condition(deployment, "Available", status="False")
        case "no condition is there yet":
            deployment["status"]["conditions"] = []
        case "claims are bound":
            related["PersistentVolumeClaim"][0]["status"]["phase"] = "Pending"
        case _:
            raise ValueError(missing)


# The last one takes away what others touch.
CONDITIONS = [
    "this generation was seen",
    "the revision is known",
    "its ReplicaSet exists",
    "its ReplicaSet is ready",
    "Available",
    "claims are bound",
    "no condition is there yet",
]


@pytest.mark.parametrize("revision", ["1", "2"])
def test_deployment_is_ready_when_all_documented_conditions_hold(revision: str) -> None:
    assert await_deployment.check(a_deployment(revision), its_related(revision)).ready


@given(st.sets(st.sampled_from(CONDITIONS), min_size=1), st.sampled_from(["1", "2"]))
def test_deployment_is_never_ready_while_any_condition_is_missing(missing: set[str], revision: str) -> None:
    deployment, related = a_deployment(revision), its_related(revision)
    for name in sorted(missing, key=CONDITIONS.index):
        spoil(name, deployment, related)
    verdict = await_deployment.check(deployment, related)
    assert not verdict.ready
    assert verdict.status


@pytest.mark.parametrize(
    "progressing",
    [
        {"status": "True", "reason": "ReplicaSetUpdated"},
        {"status": "False", "reason": "ProgressDeadlineExceeded"},
        {"status": "Unknown", "reason": "DeploymentPaused"},
    ],
)
def test_deployment_rollout_needs_new_replica_set_available_from_the_second_revision_on(
    progressing: dict[str, str],
) -> None:
    first, later = a_deployment("1"), a_deployment("2")
    set_condition(first, "Progressing", **progressing)
    set_condition(later, "Progressing", **progressing)
    assert await_deployment.check(first, its_related("1")).ready
    assert not await_deployment.check(later, its_related("2")).ready


def test_deployment_old_replica_set_does_not_count_for_a_new_revision() -> None:
    assert not await_deployment.check(a_deployment("2"), its_related("1")).ready


def test_deployment_old_replica_set_of_the_newest_revision_does_not_count() -> None:
    """With the Recreate strategy the new generation is reported as seen before the new ReplicaSet exists."""
    deployment = a_deployment()
    deployment["spec"]["template"]["spec"]["containers"] = [{"image": "new"}]
    assert not await_deployment.check(deployment, its_related()).ready


def test_deployment_ready_replicas_are_compared_with_the_live_replica_set() -> None:
    """deployment.go: "protects against (e.g.) a user running `kubectl scale`"."""
    related = its_related()
    related["ReplicaSet"][0]["spec"]["replicas"] = 1
    related["ReplicaSet"][0]["status"]["readyReplicas"] = 1
    assert await_deployment.check(a_deployment(), related).ready
    related["ReplicaSet"][0]["spec"]["replicas"] = related["ReplicaSet"][0]["status"]["readyReplicas"] = 0
    assert await_deployment.check(a_deployment(), related).ready


def test_deployment_says_what_the_controller_says() -> None:
    deployment = a_deployment("2")
    set_condition(deployment, "Progressing", status="False", reason="ProgressDeadlineExceeded", message="too slow")
    deployment["status"]["conditions"].append(
        {"type": "ReplicaFailure", "status": "True", "reason": "FailedCreate", "message": "quota exceeded"}
    )
    reasons = await_deployment.check(deployment, its_related("2")).reasons
    assert reasons == ("[FailedCreate] quota exceeded", "[ProgressDeadlineExceeded] too slow")


def test_deployment_names_a_pause_and_unbound_claims() -> None:
    deployment, related = a_deployment(), its_related()
    deployment["spec"]["paused"] = True
    spoil("claims are bound", deployment, related)
    text = " ".join(await_deployment.check(deployment, related).reasons)
    assert "paused" in text
    assert "data" in text


def test_deployment_claims_of_others_do_not_matter() -> None:
    related = its_related()
    related["PersistentVolumeClaim"].append({"metadata": {"name": "other"}, "status": {"phase": "Pending"}})
    assert await_deployment.check(a_deployment(), related).ready


def test_deployment_blames_only_pods_of_its_newest_replica_set() -> None:
    related = its_related()
    new = {"metadata": {"name": "new", "ownerReferences": [{"uid": "rs"}]}}
    related["Pod"] = [new, {"metadata": {"name": "old", "ownerReferences": [{"uid": "gone"}]}}]
    assert await_deployment.pods(a_deployment(), related) == [new]
    assert is_owned(new, related["ReplicaSet"][0])


def a_stateful_set(**status: Any) -> Object:
    full: Object = {"observedGeneration": 1, "replicas": 3, "readyReplicas": 3, "currentReplicas": 3}
    full |= {"currentRevision": "a", "updateRevision": "a"}
    return {
        "metadata": {"name": "db", "generation": 1},
        "spec": {"replicas": 3, "updateStrategy": {"type": "RollingUpdate"}},
        "status": full | status,
    }


def test_stateful_set_is_ready_when_counts_and_revisions_agree() -> None:
    assert await_replicas.check_stateful_set(a_stateful_set(), {}).ready


@pytest.mark.parametrize(
    "status",
    [
        {"observedGeneration": 0},
        {"replicas": 4},
        {"readyReplicas": 2},
        {"currentReplicas": 2},
        {"updateRevision": "b"},
        {"currentRevision": "", "updateRevision": ""},
    ],
)
def test_stateful_set_is_not_ready_while_one_disagrees(status: Object) -> None:
    verdict = await_replicas.check_stateful_set(a_stateful_set(**status), {})
    assert not verdict.ready


def test_stateful_set_on_delete_update_waits_for_no_revision() -> None:
    """statefulset.go: "If `.metadata.generation` > 1, `.status.replicas`, and `.status.readyReplicas` match"."""
    workload = a_stateful_set(observedGeneration=2, updateRevision="b", currentReplicas=0)
    workload["spec"]["updateStrategy"]["type"] = "OnDelete"
    workload["metadata"]["generation"] = 2
    assert await_replicas.check_stateful_set(workload, {}).ready
    workload["metadata"]["generation"] = workload["status"]["observedGeneration"] = 1
    assert not await_replicas.check_stateful_set(workload, {}).ready


DAEMON_COUNTERS = ["currentNumberScheduled", "updatedNumberScheduled", "numberAvailable", "numberReady"]


@given(st.dictionaries(st.sampled_from(DAEMON_COUNTERS), st.integers(0, 3)), st.integers(0, 2))
def test_daemon_set_is_ready_exactly_when_every_counter_reaches_the_desired_one(
    counters: dict[str, int], observed: int
) -> None:
    """daemonset.go: "success conditions … are determined by … kstatus", which compares these four."""
    status = {"observedGeneration": observed, "desiredNumberScheduled": 2, **counters}
    workload = {"metadata": {"name": "agent", "generation": 2}, "status": status}
    ready = observed == 2 and all(counters.get(name, 0) >= 2 for name in DAEMON_COUNTERS)
    assert await_replicas.check_daemon_set(workload, {}).ready == ready


def test_replication_controller_waits_for_available_replicas() -> None:
    workload = {"metadata": {"name": "old"}, "spec": {"replicas": 2}, "status": {"observedGeneration": 1}}
    assert not await_replicas.check_replication_controller(workload, {}).ready
    workload["status"] = {"observedGeneration": 1, "availableReplicas": 2}
    assert await_replicas.check_replication_controller(workload, {}).ready


def a_job(*conditions: Object, started: bool = True, **spec: Any) -> Object:
    status: Object = {"conditions": list(conditions)} | ({"startTime": "2026-01-01T00:00:00Z"} if started else {})
    return {"metadata": {"name": "train", "namespace": "ml"}, "spec": spec, "status": status}


COMPLETE = {"type": "Complete", "status": "True"}
FAILED = {"type": "Failed", "status": "True", "reason": "BackoffLimitExceeded", "message": "reached the limit"}


def test_job_is_ready_when_started_and_complete() -> None:
    assert await_job.check(a_job(COMPLETE), {}).ready
    assert not await_job.check(a_job(COMPLETE, started=False), {}).ready
    assert not await_job.check(a_job(), {}).ready
    assert not await_job.check(a_job({"type": "Complete", "status": "False"}), {}).ready


@given(st.permutations([COMPLETE, FAILED, {"type": "SuccessCriteriaMet", "status": "True"}]))
def test_job_failure_fails_at_once_whatever_else_is_said(conditions: list[Object]) -> None:
    """additionalComments.go: "If this condition is set, we should fail the Job immediately"."""
    verdict = await_job.check(a_job(*conditions), {})
    assert verdict.failed
    assert not verdict.ready
    assert verdict.reasons == ("[BackoffLimitExceeded] reached the limit",)


def test_suspended_job_is_not_ready_and_says_why() -> None:
    """job.go knows no `.spec.suspend`: `.status.startTime` never comes, so it waits until the time is up."""
    verdict = await_job.check(a_job({"type": "Suspended", "status": "True"}, started=False, suspend=True), {})
    assert not verdict.ready
    assert not verdict.failed
    assert "suspended" in verdict.reasons[0]
    assert "skipAwait" in verdict.reasons[0]


def test_checks_change_nothing() -> None:
    deployment, related = a_deployment(), its_related()
    before = copy.deepcopy((deployment, related))
    await_deployment.check(deployment, related)
    assert (deployment, related) == before
