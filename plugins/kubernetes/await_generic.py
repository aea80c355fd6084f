"""Readiness of kinds without specific rules: kstatus' conventions, and a few kinds with one field."""

from __future__ import annotations

from tensorplane.plugins.kubernetes.await_result import (
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


def check(obj: Object, related: Related) -> CheckResult:
    """What `PULUMI_K8S_AWAIT_ALL=true` applies to every kind, as kstatus does.

    Terminating, an unseen generation, `Reconciling` and a `Ready` that is not True mean "not yet"; `Stalled` means
    never; any other object is ready.
    """
    name = full_name(obj)
    if dig(obj, "metadata", "deletionTimestamp"):
        return CheckResult(False, f"{name!r} is being deleted", ("the object is being deleted",))
    observed = dig(obj, "status", "observedGeneration")
    if observed is not None and observed != dig(obj, "metadata", "generation", default=observed):
        return CheckResult(False, f"Waiting for the controller of {name!r} to see its newest spec")
    stalled, reconciling, ready = (condition(obj, kind) for kind in ("Stalled", "Reconciling", "Ready"))
    if is_true(reconciling):
        return CheckResult(False, f"Waiting for {name!r} to be reconciled", explain(reconciling))
    if is_true(stalled):
        return CheckResult(False, f"{name!r} is stalled", explain(stalled) or ("the object is stalled",), failed=True)
    if ready is not None and not is_true(ready):
        return CheckResult(False, f"Waiting for {name!r} to be Ready", explain(ready))
    return CheckResult(True, f"{name!r} is ready")


def check_crd(crd: Object, related: Related) -> CheckResult:
    """Established, so that its objects can be created next; refused names never become established.

    pulumi-kubernetes does not wait here but repeats an object's create until its kind is served. Such retries are still
    needed, though seldom, because the server serves the kind a moment later.
    """
    name = full_name(crd)
    names = condition(crd, "NamesAccepted")
    if names is not None and names.get("status") == "False":
        return CheckResult(False, f"CustomResourceDefinition {name!r} was refused", explain(names), failed=True)
    if is_true(condition(crd, "Established")):
        return CheckResult(True, f"CustomResourceDefinition {name!r} is established")
    return CheckResult(False, f"Waiting for CustomResourceDefinition {name!r} to be established")


def check_namespace(namespace: Object, related: Related) -> CheckResult:
    """Active: a terminating namespace accepts no objects."""
    phase = dig(namespace, "status", "phase", default="")
    ready = phase == "Active" and not dig(namespace, "metadata", "deletionTimestamp")
    name = full_name(namespace)
    reasons = () if ready else (f"the namespace is {phase or 'new'}",)
    return CheckResult(ready, f"Namespace {name!r} is {phase or 'new'}", reasons)


def check_quota(quota: Object, related: Related) -> CheckResult:
    """The controller has copied the hard limits into the status."""
    ready = dig(quota, "spec", "hard", default={}) == dig(quota, "status", "hard", default={})
    reasons = () if ready else ("the quota controller has not taken over .spec.hard",)
    return CheckResult(ready, f"ResourceQuota {full_name(quota)!r} {'is ready' if ready else 'is new'}", reasons)


def check_secret(secret: Object, related: Related) -> CheckResult:
    """A controller fills in a service account's token; every other secret is ready at once."""
    filled = secret.get("type") != "kubernetes.io/service-account-token" or bool(secret.get("data"))
    reasons = () if filled else ("the token controller has not filled the secret",)
    return CheckResult(
        filled, f"Secret {full_name(secret)!r} {'is ready' if filled else 'waits for its token'}", reasons
    )


AWAITER = Awaiter(check)
CRD = Awaiter(check_crd)
NAMESPACE = Awaiter(check_namespace)
QUOTA = Awaiter(check_quota, timeout_seconds=60)
SECRET = Awaiter(check_secret, timeout_seconds=5)
