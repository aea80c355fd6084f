"""Leader election: of an agent's pods, the one that holds the Lease reconciles, and ends once another pod may act."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
import time
import urllib.error
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from . import lease
from .api import NOT_FOUND, ApiServer
from .lease import Lease, Lost

LEASE, POD = "LEASE", "POD_NAME"
"""Variables of the pod: `NAMESPACE/NAME` of the agent's Lease, and the pod's name."""
_POLL_SECONDS = 0.02


@dataclass(frozen=True)
class Timing:
    """Periods and time limits, in seconds."""

    renew_period: float = 5.0
    retry_period: float = 1.0
    """After a renewal that failed, and between two tries of a waiting pod."""
    reconcile_timeout: float = 600.0
    """After that, a reconcile counts as hung: the process ends, and its container restarts."""
    answer_timeout: int = 4
    """For an answer about the Lease."""


class Leader:
    """A process that may act. This one has no Lease: another fence keeps it from acting twice."""

    api: ApiServer = ApiServer()
    """The API server, for what the agent does."""

    @contextlib.contextmanager
    def reconciling(self) -> Iterator[None]:
        """One reconcile of the agent's loop. It has succeeded if nothing is raised."""
        yield

    @contextlib.contextmanager
    def acting(self) -> Iterator[None]:
        """Something that another thread does while the loop goes on."""
        yield


def _end(why: str) -> None:
    print(f"{why}; this process ends, and the next one waits for the Lease", file=sys.stderr, flush=True)
    # Not an exception: no thread may go on, and nothing may be cleaned up that another pod has now.
    os._exit(1)


@dataclass(frozen=True)
class _Guarded(ApiServer):
    """Sends requests only while this process may act."""

    wait_until_held: Callable[[], None] = lambda: None

    def _answer(self, *request: Any) -> Any:
        self.wait_until_held()
        return super()._answer(*request)


@dataclass
class ElectedLeader(Leader):
    """The pod that holds the agent's Lease. A thread renews it as long as reconciles begin and end."""

    lease: Lease
    timing: Timing = Timing()
    watch: Callable[[], object] = lambda: None
    """Called between two tries to take the Lease: a waiting pod may observe what it needs once it leads."""
    end: Callable[[str], object] = _end
    """Ends the process at once, and says why."""
    _reconciled_at: float = field(default=0.0, init=False)
    """When a reconcile last began or ended, by the Lease's clock."""
    _succeeded_at: float = field(default=0.0, init=False)
    """When a reconcile last succeeded, in seconds since 1970."""
    _actions: int = field(default=0, init=False)
    """Reconciles and other actions that have begun, also those that wait for the Lease."""
    _leased_actions: int = field(default=0, init=False)
    """Those of them that held the Lease when they began."""
    _count_lock: Any = field(default_factory=threading.Lock, init=False)
    _stop_requested: threading.Event = field(default_factory=threading.Event, init=False)

    def __post_init__(self) -> None:
        given = self.lease.api
        self.api = _Guarded(given.address, given.account, wait_until_held=self._wait_until_held)
        self.lease.api = replace(given, seconds=self.timing.answer_timeout)

    def begin(self) -> None:
        """Waits until this pod holds the Lease, and keeps it until the process ends. For the main thread."""
        signal.signal(signal.SIGTERM, lambda *_: self._stop_requested.set())
        self._take()
        self._reconciled_at, self._succeeded_at = self.lease.clock(), self.lease.now()
        threading.Thread(target=self._renew_until_end, daemon=True).start()

    @contextlib.contextmanager
    def reconciling(self) -> Iterator[None]:
        self._reconciled_at = self.lease.clock()
        with self.acting():
            try:
                yield
                self._succeeded_at = self.lease.now()
            finally:
                self._reconciled_at = self.lease.clock()

    @contextlib.contextmanager
    def acting(self) -> Iterator[None]:
        self._count(1)
        try:
            if self._stop_requested.is_set():
                self._count(-1)
                # Until the thread that renews the Lease has ended the process.
                threading.Event().wait()
            self._wait_until_held()
            self._count(0, leased=1)
            try:
                yield
            finally:
                self._count(0, leased=-1)
        finally:
            self._count(-1)

    def _take(self) -> None:
        printed = ""
        while not self.lease.is_held:
            line = self._try_take()
            if line and line != printed:
                print(line, file=sys.stderr, flush=True)
                printed = line
            if line:
                self._watch()
            if self._stop_requested.wait(self.timing.retry_period if line else 0):
                os._exit(0)

    def _watch(self) -> None:
        # If the API server does not answer, the line about the Lease tells it.
        with contextlib.suppress(OSError):
            self.watch()

    def _try_take(self) -> str:
        """Why this pod does not get the Lease; empty if it does."""
        try:
            holder = self.lease.try_take()
        except urllib.error.HTTPError as error:
            what = "it does not exist; create it again with pulumi up --refresh" if error.code == NOT_FOUND else error
            return f"{self._name}: {what}"
        except OSError as error:
            return f"{type(error).__name__}: {error}"
        return "" if holder == self.lease.pod else f"waits for {self._name}, which is held by {holder}"

    def _renew_until_end(self) -> None:
        """Renews the Lease until the process has to end, and ends it."""
        wait = self.timing.renew_period
        while True:
            if self._stop_requested.wait(wait):
                self._stop()
            if self.lease.clock() - self._reconciled_at > self.timing.reconcile_timeout:
                self.end(f"no reconcile has begun or ended for {self.timing.reconcile_timeout:g} seconds")
            if self._leased_actions and self.lease.may_be_taken:
                # Paused, with its machine for instance: it would act on what it has read before.
                self.end(f"{self._name} was not renewed for {lease.DURATION_SECONDS:g} seconds of a turn")
            wait = self.timing.renew_period if self._renew() else self.timing.retry_period

    def _renew(self) -> bool:
        """Renews the Lease; whether this pod holds it then."""
        try:
            self.lease.renew(self._succeeded_at)
        except Lost as lost:
            self.end(str(lost))
        except Exception as error:  # whatever it is, the Lease is not renewed
            if self.lease.may_be_taken:
                self.end(f"{self._name} could not be renewed: {type(error).__name__}: {error}")
        return self.lease.is_held

    def _stop(self) -> None:
        """What is being done ends, and nothing else begins. Then another pod may take the Lease."""
        while self._actions and self.lease.is_held:
            time.sleep(_POLL_SECONDS)
        with contextlib.suppress(Exception):
            self.lease.release()
        os._exit(0)

    def _wait_until_held(self) -> None:
        """Of a Lease that was not renewed in time, the thread that renews it finds out whether another pod has it."""
        while not self.lease.is_held:
            time.sleep(_POLL_SECONDS)

    def _count(self, actions: int, leased: int = 0) -> None:
        with self._count_lock:
            self._actions += actions
            self._leased_actions += leased

    @property
    def _name(self) -> str:
        return f"Lease {self.lease.namespace}/{self.lease.name}"


def wait_to_lead(environment: Mapping[str, str] = os.environ, *, watch: Callable[[], object] = lambda: None) -> Leader:
    """Waits until this process leads. Without a Lease in its environment, it leads at once.

    `watch`: called between two tries to take the Lease. It may read, and change nothing.
    """
    if not environment.get(LEASE):
        return Leader()
    namespace, name = environment[LEASE].split("/")
    leader = ElectedLeader(Lease(ApiServer(), namespace, name, environment[POD]), watch=watch)
    leader.begin()
    return leader
