"""Why an object is not ready: its own status, its pods' status, warning events; without repetition, and short."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tensorplane.plugins.kubernetes.await_result import Object, dig

MOST_REASONS = 8
MOST_CHARACTERS = 400

# The kubelet's events that repeat the pod's status.
_OF_PODS = {"BackOff", "Failed"}


def gather(own: Iterable[str], pods: Sequence[str], events: Iterable[Object]) -> list[str]:
    """The reasons by importance: those of the pods, of the object, then the newest events that add something."""
    found: list[str] = []
    for reason in (*pods, *own):
        _add(found, reason, reason)
    for event in sorted(events, key=_when, reverse=True):
        if event.get("reason") in _OF_PODS and pods:
            continue
        about = dig(event, "involvedObject", "name", default="")
        message = str(event.get("message", ""))
        _add(found, message, f"[{event.get('reason', 'Warning')}] {message} ({about})")
    return found[:MOST_REASONS]


def _add(found: list[str], message: str, words: str) -> None:
    """Adds a reason unless it, or a reason that contains it, is there already."""
    core = _core(shorten(message))
    if core and not any(core in reason for reason in found):
        found.append(shorten(words))


def _core(reason: str) -> str:
    """The message without a leading `[Reason]`, which conditions and events prefix differently."""
    return reason.partition("] ")[2] if reason.startswith("[") and "] " in reason else reason


def shorten(reason: str) -> str:
    line = " ".join(reason.split())
    return line if len(line) <= MOST_CHARACTERS else f"{line[: MOST_CHARACTERS - 1]}…"


def _when(event: Object) -> str:
    series = dig(event, "series", "lastObservedTime")
    return str(series or event.get("lastTimestamp") or event.get("eventTime") or "")
