"""Readiness of the other kinds with replicated pods: StatefulSet, DaemonSet, ReplicationController."""

from __future__ import annotations

from tensorplane.plugins.kubernetes.await_result import (
    PODS,
    Awaiter,
    CheckResult,
    Lookup,
    Object,
    Related,
    dig,
    full_name,
    is_observed,
)


def check_stateful_set(workload: Object, related: Related) -> CheckResult:
    """Documented on `apps/v1:StatefulSet`: the numbers of replicas agree, and so do the revisions.

    With the OnDelete strategy an update does not reach the new revision until a person deletes the old pods.
    """
    name = full_name(workload)
    if not is_observed(workload):
        return CheckResult(False, f"Waiting for the StatefulSet controller to see {name!r}")
    wanted = dig(workload, "spec", "replicas", default=1)
    ready = dig(workload, "status", "readyReplicas", default=0)
    updated_by_hand = dig(workload, "spec", "updateStrategy", "type") == "OnDelete" and _generation(workload) > 1
    counters = ("replicas", "readyReplicas") if updated_by_hand else ("replicas", "readyReplicas", "currentReplicas")
    enough = all(dig(workload, "status", counter, default=0) == wanted for counter in counters)
    current, target = (dig(workload, "status", key, default="") for key in ("currentRevision", "updateRevision"))
    at_target = updated_by_hand or (current != "" and current == target)
    if enough and at_target:
        return CheckResult(True, f"StatefulSet {name!r} is ready")
    reasons: tuple[str, ...] = () if enough else (f"{ready} of {wanted} replicas are ready",)
    if not at_target:
        reasons += (f"revision {current!r} has not advanced to {target!r}",)
    return CheckResult(False, f"Waiting for StatefulSet {name!r} ({ready}/{wanted} Pods ready)", reasons)


def check_daemon_set(workload: Object, related: Related) -> CheckResult:
    """As kstatus computes it, which is what pulumi-kubernetes uses: every scheduled pod is new, available and ready."""
    name = full_name(workload)
    if not is_observed(workload):
        return CheckResult(False, f"Waiting for the DaemonSet controller to see {name!r}")
    wanted = dig(workload, "status", "desiredNumberScheduled", default=0)
    steps = {
        "currentNumberScheduled": "scheduled",
        "updatedNumberScheduled": "updated",
        "numberAvailable": "available",
        "numberReady": "ready",
    }
    for counter, word in steps.items():
        have = dig(workload, "status", counter, default=0)
        if have < wanted:
            status = f"Waiting for DaemonSet {name!r} ({have}/{wanted} Pods {word})"
            return CheckResult(False, status, (f"{have} of {wanted} Pods are {word}",))
    return CheckResult(True, f"DaemonSet {name!r} is ready")


def check_replication_controller(workload: Object, related: Related) -> CheckResult:
    """As many available replicas as requested."""
    name = full_name(workload)
    wanted = dig(workload, "spec", "replicas", default=1)
    have = dig(workload, "status", "availableReplicas", default=0)
    if is_observed(workload) and have == wanted:
        return CheckResult(True, f"ReplicationController {name!r} is ready")
    status = f"Waiting for ReplicationController {name!r} ({have}/{wanted} Pods available)"
    return CheckResult(False, status, (f"{have} of {wanted} Pods are available",))


def _generation(workload: Object) -> int:
    return int(dig(workload, "metadata", "generation", default=1))


def _controller_selector(workload: Object) -> str | None:
    """A ReplicationController's selector is older than matchLabels: a plain map."""
    labels = dig(workload, "spec", "selector", default={})
    return ",".join(f"{key}={value}" for key, value in sorted(labels.items())) or None


def _pods(workload: Object, related: Related) -> list[Object]:
    return list(related.get("Pod", ()))


STATEFUL_SET = Awaiter(check_stateful_set, (PODS,), on_read=True, pods=_pods)
DAEMON_SET = Awaiter(check_daemon_set, (PODS,), on_read=True, pods=_pods)
REPLICATION_CONTROLLER = Awaiter(
    check_replication_controller, (Lookup("v1", "Pod", _controller_selector, owned=True),), pods=_pods
)
