"""Readiness of a Job: it started and completed. A failed Job fails at once.

Follows the conditions that pulumi-kubernetes documents on `batch/v1:Job`. It ignores `.spec.suspend`: a suspended
Job is awaited until the timeout, whose reason names the suspension.
"""

from __future__ import annotations

from tensorplane.plugins.kubernetes.await_result import (
    PODS,
    Awaiter,
    CheckResult,
    Object,
    Related,
    condition,
    dig,
    explain,
    full_name,
    is_true,
)


def check(job: Object, related: Related) -> CheckResult:
    name = full_name(job)
    failure = condition(job, "Failed")
    if is_true(failure):
        return CheckResult(False, f"Job {name!r} failed", explain(failure) or ("the Job failed",), failed=True)
    if not dig(job, "status", "startTime"):
        return CheckResult(False, f"Waiting for Job {name!r} to start", _suspended(job))
    if is_true(condition(job, "Complete")):
        return CheckResult(True, f"Job {name!r} completed")
    counts = ", ".join(f"{word}: {dig(job, 'status', word, default=0)}" for word in ("active", "succeeded", "failed"))
    return CheckResult(False, f"Waiting for Job {name!r} to complete ({counts})", _suspended(job))


def _suspended(job: Object) -> tuple[str, ...]:
    if not dig(job, "spec", "suspend"):
        return ()
    return (
        "the Job is suspended (.spec.suspend), by a queue perhaps; "
        'the annotation pulumi.com/skipAwait: "true" makes an update not wait for it',
    )


def _pods(job: Object, related: Related) -> list[Object]:
    return [pod for pod in related.get("Pod", ()) if dig(pod, "status", "phase") != "Succeeded"]


AWAITER = Awaiter(check, (PODS,), on_read=True, pods=_pods)
