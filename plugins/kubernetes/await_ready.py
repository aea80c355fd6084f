"""Waits until an object is ready, or deleted, with the semantics that pulumi-kubernetes documents."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from tensorplane.core.errors import ApiError
from tensorplane.core.kube_objects import Objects
from tensorplane.plugins.kubernetes import await_deletion, await_kinds, await_pod, await_reasons, await_related
from tensorplane.plugins.kubernetes.await_annotations import timeout_seconds
from tensorplane.plugins.kubernetes.await_feed import Feed, GoneError
from tensorplane.plugins.kubernetes.await_result import Awaiter, CheckResult, Object, Related, dig, full_name, is_owned

__all__ = ["AwaitError", "check_annotations", "unready_reasons", "wait_deleted", "wait_ready"]

_TICK_SECONDS = 0.5  # between two looks at the clock and the cancellation
_LOOK_SECONDS = 1.0  # between two looks at related objects while the object itself says nothing new
_DELETE_SECONDS = 600.0


class AwaitError(Exception):
    """An object that is not ready (or not deleted): a headline, the reasons, and its last state."""

    def __init__(self, message: str, obj: Object, reasons: list[str] | None = None) -> None:
        self.reasons = reasons or []
        self.message = message
        self.obj = obj
        super().__init__("\n".join([message, *(f"  {reason}" for reason in self.reasons)]))


def check_annotations(obj: Object) -> str:
    """The problem in the waiting annotations of an object that may not exist yet; empty without one."""
    try:
        await_kinds.awaiter(obj)
    except ValueError as error:
        return str(error)
    return ""


def wait_ready(
    api: Objects, obj: Object, *, timeout: float | None, cancelled: threading.Event, log: Callable[[str], None]
) -> Object:
    """Returns the live object once it is ready; at once if it is not awaited.

    `timeout`: the resource's `customTimeouts`, None or 0 without one. Raises AwaitError on timeout, on cancellation, on
    deletion, and as soon as the object can never become ready.
    """
    try:
        awaiter = await_kinds.awaiter(obj)
    except ValueError as error:
        raise AwaitError(str(error), obj) from None
    if awaiter is None:
        return obj
    return _Wait(api, obj, awaiter, timeout_seconds(obj, timeout, awaiter.timeout_seconds), log).run(cancelled)


def unready_reasons(api: Objects, obj: Object) -> list[str]:
    """For a refresh: why a live object of an awaited kind is not ready; empty if it is."""
    awaiter = await_kinds.read_awaiter(obj)
    if awaiter is None:
        return []
    wait = _Wait(api, obj, awaiter, 0.0, lambda line: None)
    result = wait.look()
    return [] if result.ready else wait.reasons(result)


class _Wait:
    """An awaited object: its last state, and since when its evidence has not changed."""

    def __init__(self, api: Objects, obj: Object, awaiter: Awaiter, seconds: float, log: Callable[[str], None]) -> None:
        self._api = api
        self._live = obj
        self._generation = dig(obj, "metadata", "generation", default=0)
        self._awaiter = awaiter
        self._seconds = seconds
        self._log = log
        self._shown = ""
        self._related: Related = {}
        self._evidence = ""
        self._settled_at = 0.0

    def run(self, cancelled: threading.Event) -> Object:
        end = time.monotonic() + self._seconds
        with Feed(self._api, self._live) as feed:
            looked = 0.0
            result = CheckResult(False, f"Waiting for {full_name(self._live)!r}")
            while True:
                if self._news(feed) or time.monotonic() - looked >= _LOOK_SECONDS:
                    result = self.look()
                    looked = time.monotonic()
                    self._tell(result)
                over = time.monotonic() >= end or cancelled.is_set()
                if self._has_settled(result) or (result.ready and over):
                    return self._live
                if result.failed or over:
                    raise AwaitError(self._headline(result, cancelled), self._live, self.reasons(result))

    def _news(self, feed: Feed) -> bool:
        """Waits a moment for a new state. A state older than the write is ignored."""
        try:
            live = feed.latest(_TICK_SECONDS)
        except GoneError:
            kind = self._live["kind"]
            raise AwaitError(f"{kind} {full_name(self._live)!r} was deleted while waiting for it", self._live) from None
        except ApiError as error:
            raise AwaitError(f"waiting for {full_name(self._live)!r}: {error.message}", self._live) from None
        if live is None or dig(live, "metadata", "generation", default=0) < self._generation:
            return False
        self._live = live
        return True

    def look(self) -> CheckResult:
        self._related = await_related.related(self._api, self._live, self._awaiter)
        try:
            return self._awaiter.check(self._live, self._related)
        except ValueError as error:
            raise AwaitError(str(error), self._live) from None

    def reasons(self, result: CheckResult) -> list[str]:
        """All known reasons why it is not ready."""
        pods = self._awaiter.pods(self._live, self._related)
        owned = [other for others in self._related.values() for other in others if is_owned(other, self._live)]
        events = await_related.warnings(self._api, [self._live, *owned, *pods])
        return await_reasons.gather(result.reasons, await_pod.pods_reasons(pods), events) or [result.status]

    def _tell(self, result: CheckResult) -> None:
        """After a change, a line for the progress display: the status, and the first problem of its pods."""
        troubles = await_pod.pods_reasons(self._awaiter.pods(self._live, self._related)) or list(result.reasons)
        line = result.status
        if not result.ready and troubles and troubles[0] not in line:
            line = f"{line}: {await_reasons.shorten(troubles[0])}"
        if line != self._shown:
            self._shown = line
            self._log(line)

    def _has_settled(self, result: CheckResult) -> bool:
        now = time.monotonic()
        if not result.ready:
            self._settled_at = 0.0
            return False
        if result.evidence != self._evidence or not self._settled_at:
            self._evidence, self._settled_at = result.evidence, now
        return now - self._settled_at >= result.settle_seconds

    def _headline(self, result: CheckResult, cancelled: threading.Event) -> str:
        name = f"{self._live['kind']} {full_name(self._live)!r}"
        if result.failed:
            return f"{name} was created but failed to initialize"
        if cancelled.is_set():
            return f"waiting for {name} was cancelled"
        return f"{name} timed out waiting to be Ready (after {self._seconds:g} s)"


def wait_deleted(
    api: Objects, obj: Object, *, timeout: float | None, cancelled: threading.Event, log: Callable[[str], None]
) -> None:
    """Returns once the object does not exist. Raises AwaitError when time is up or on cancellation."""
    if not await_kinds.deletion_is_awaited(obj):
        return
    seconds = timeout_seconds(obj, timeout, _DELETE_SECONDS)
    end = time.monotonic() + seconds
    live, shown = obj, ""
    with Feed(api, obj) as feed:
        try:
            live = feed.look() or live
            while not cancelled.is_set() and time.monotonic() < end:
                line = await_deletion.status(live)
                if line != shown:
                    shown = line
                    log(line)
                live = feed.latest(_TICK_SECONDS) or live
        except GoneError:
            return
        except ApiError as error:
            raise AwaitError(f"waiting for the end of {full_name(obj)!r}: {error.message}", live) from None
    name = f"{live['kind']} {full_name(live)!r}"
    headline = f"{name} is still there after {seconds:g} s"
    if cancelled.is_set():
        headline = f"waiting for the end of {name} was cancelled"
    raise AwaitError(headline, live, await_deletion.reasons(live))
