"""The Lease of an agent: the pod that holds it acts, and no other.

The holder counts from before its last renewal was sent, a waiter from after it saw that renewal, each by its own clock,
and the holder's time is the shorter one. So nothing depends on clocks of two machines being alike.

A process that sleeps between asking whether it holds the Lease and sending a request sends that one late. So what an
agent changes is also refused by itself where it was changed since: by its resourceVersion, or by a folder's owner.
"""

from __future__ import annotations

import time
import urllib.error
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from .api import CONFLICT, ApiServer

RENEWED = "tensorplane.dev/renewed"
"""Annotation: when the holder renewed it last. Its `renewTime` is when the holder last did its work, so that metrics
and `kubectl` say that an agent works, and not only that it runs."""
DURATION_SECONDS = 15
"""How long no other pod takes it after it has observed a renewal."""
DEADLINE_SECONDS = 10.0
"""How long a holder acts after sending a renewal."""
_ATTEMPTS = 3


class Lost(Exception):
    """Another pod holds the Lease, or it is gone."""


def clock() -> float:
    """Seconds since any moment, also those for which the machine was suspended."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


@dataclass
class Lease:
    """One Lease, as one pod sees it. Errors of the API server are raised as OSError."""

    api: ApiServer
    namespace: str
    name: str
    pod: str
    clock: Callable[[], float] = clock
    now: Callable[[], float] = time.time
    """Seconds since 1970, for people."""
    _version: str = field(default="", init=False)
    _observed: tuple[str, float] = field(default=("", 0.0), init=False)
    """The resourceVersion that a waiting pod observed last, and when it first did."""
    _renewed: float = field(default=float("-inf"), init=False)
    """When the last renewal that succeeded was sent."""

    @property
    def is_held(self) -> bool:
        """Whether this pod may act now. Sends no request."""
        return self.clock() - self._renewed < DEADLINE_SECONDS

    @property
    def may_be_taken(self) -> bool:
        """Whether another pod may have it by now. Sends no request."""
        return self.clock() - self._renewed >= DURATION_SECONDS

    def try_take(self) -> str:
        """Takes it if it is free: released, not renewed for its duration, or this pod's, whose container has restarted.

        Returns who holds it.
        """
        found = self.api.send("GET", self._path)
        spec, version, now = found.get("spec") or {}, found["metadata"]["resourceVersion"], self.clock()
        holder = str(spec.get("holderIdentity") or "")
        if self._observed[0] != version:
            self._observed = version, now
        lasts = spec.get("leaseDurationSeconds") or DURATION_SECONDS
        if holder not in ("", self.pod) and now - self._observed[1] < lasts:
            return holder
        taken = {
            "holderIdentity": self.pod,
            "leaseDurationSeconds": DURATION_SECONDS,
            "acquireTime": text(self.now()),
            "renewTime": text(self.now()),
            "leaseTransitions": (spec.get("leaseTransitions") or 0) + (holder != self.pod),
        }
        self._version = version
        try:
            self._write(taken)
        except urllib.error.HTTPError as error:
            if error.code != CONFLICT:
                raise
            return "a pod that was faster"
        return self.pod

    def renew(self, worked: float) -> None:
        """Holds it for longer. `worked`: when this pod last did its work, in seconds since 1970. Raises Lost."""
        for _ in range(_ATTEMPTS):
            try:
                self._write({"renewTime": text(worked)})
                return
            except urllib.error.HTTPError as error:
                if error.code != CONFLICT:
                    raise
            # The platform has changed its labels, or the answer to an earlier renewal was lost: unless it was taken.
            self._version = self._still_ours()
        raise OSError(f"Lease {self.namespace}/{self.name} changes all the time")

    def release(self) -> None:
        """Lets another pod take it at once. From now on, this one does not act."""
        was_held, self._renewed = self.is_held, float("-inf")
        if was_held:
            self.api.send("PATCH", self._path, self._change({"holderIdentity": None}))

    def _still_ours(self) -> str:
        found = self.api.send("GET", self._path)
        holder = (found.get("spec") or {}).get("holderIdentity")
        if holder != self.pod:
            self._renewed = float("-inf")
            raise Lost(f"Lease {self.namespace}/{self.name} is held by {holder or 'nobody'}")
        return str(found["metadata"]["resourceVersion"])

    def _write(self, spec: dict[str, Any]) -> None:
        begun = self.clock()
        found = self.api.send("PATCH", self._path, self._change(spec))
        self._version, self._renewed = found["metadata"]["resourceVersion"], begun

    def _change(self, spec: dict[str, Any]) -> dict[str, Any]:
        # The API server refuses the change if anybody has changed the Lease since.
        about = {"resourceVersion": self._version, "annotations": {RENEWED: text(self.now())}}
        return {"metadata": about, "spec": spec}

    @property
    def _path(self) -> str:
        return f"apis/coordination.k8s.io/v1/namespaces/{self.namespace}/leases/{self.name}"


def text(at: float) -> str:
    """A time as the fields of a Lease have it."""
    seconds, micros = divmod(round(at * 1_000_000), 1_000_000)
    return f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(seconds))}.{micros:06}Z"
