"""Readiness of a Pod, and why it is not ready according to its status."""

from __future__ import annotations

from collections.abc import Iterable

from tensorplane.plugins.kubernetes.await_result import (
    Awaiter,
    CheckResult,
    Object,
    Related,
    condition,
    dig,
    full_name,
    is_true,
)

_STEPS = {"PodScheduled": "scheduled", "Initialized": "initialized", "Ready": "ready"}

# Reasons of containers that are starting normally.
_NORMAL_WAITS = {"ContainerCreating", "PodInitializing"}

_NOISE = (
    "rpc error: code = Unknown desc = Error response from daemon: ",
    "rpc error: code = Unknown desc = ",
    "rpc error: code = NotFound desc = ",
)


def check(pod: Object, related: Related) -> CheckResult:
    """Scheduled, initialized, then ready or succeeded. A failed pod is never restarted, so the wait fails at once."""
    phase = dig(pod, "status", "phase", default="")
    if phase == "Succeeded":
        return CheckResult(True, f"Pod {full_name(pod)!r} succeeded")
    troubles = tuple(reasons(pod))
    if phase == "Failed":
        return CheckResult(False, f"Pod {full_name(pod)!r} failed", troubles or ("the Pod failed",), failed=True)
    for kind, word in _STEPS.items():
        if not is_true(condition(pod, kind)):
            return CheckResult(False, f"Waiting for Pod {full_name(pod)!r} to be {word}", troubles)
    return CheckResult(True, f"Pod {full_name(pod)!r} is ready")


def reasons(pod: Object) -> list[str]:
    """Why this pod is not ready: unschedulable, image not pulled, container crashed."""
    scheduled = condition(pod, "PodScheduled")
    if scheduled is not None and not is_true(scheduled) and scheduled.get("message"):
        return [f"[{scheduled.get('reason') or 'Unscheduled'}] {scheduled['message']}"]
    found: list[str] = []
    if message := dig(pod, "status", "message"):
        found.append(f"[{dig(pod, 'status', 'reason', default='Failed')}] {message}")
    for part in ("initContainerStatuses", "containerStatuses"):
        for container in dig(pod, "status", part, default=()):
            found += _container_reasons(container)
    return found or _unready_message(pod)


def pods_reasons(pods: Iterable[Object]) -> list[str]:
    """The reasons of many pods, in the pods' order; pods with the same reason share a line."""
    owners: dict[str, list[str]] = {}
    for pod in pods:
        for reason in reasons(pod):
            owners.setdefault(reason, []).append(full_name(pod))
    return [f"[Pod {names[0]}{_and_more(names)}] {reason}" for reason, names in owners.items()]


def _and_more(names: list[str]) -> str:
    return f" and {len(names) - 1} more" if len(names) > 1 else ""


def _unready_message(pod: Object) -> list[str]:
    for kind in ("Initialized", "Ready"):
        found = condition(pod, kind)
        if found is not None and not is_true(found) and found.get("message"):
            return [str(found["message"])]
    return []


def _container_reasons(container: Object) -> list[str]:
    """A container's current problem, then how it last ended, which is usually the cause."""
    if container.get("ready"):
        return []
    name = container.get("name")
    found = []
    waiting = dig(container, "state", "waiting", default={})
    if waiting.get("reason") and waiting["reason"] not in _NORMAL_WAITS:
        found.append(f"container {name!r}: [{waiting['reason']}] {_tidy(waiting.get('message', ''))}".rstrip())
    for ended in (dig(container, "state", "terminated"), dig(container, "lastState", "terminated")):
        if ended and (ended.get("exitCode") or ended.get("reason") != "Completed"):
            found.append(f"container {name!r} ended with exit code {ended.get('exitCode')}{_last_words(ended)}")
    return found


def _last_words(ended: Object) -> str:
    reason = ended.get("reason")
    words = f" ({reason})" if reason and reason != "Error" else ""
    message = _tidy(str(ended.get("message") or ""))
    return f"{words}: {message}" if message else words


def _tidy(message: str) -> str:
    for noise in _NOISE:
        message = message.replace(noise, "")
    return message.strip()


AWAITER = Awaiter(check, on_read=True)
