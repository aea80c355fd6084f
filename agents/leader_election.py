"""The turns of an agent that acts alone: it waits for its Lease, works, and ends where another pod may act."""

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

from agents import lease
from agents.api import NOT_FOUND, ApiServer
from agents.lease import Lease, Lost

LEASE, POD = "LEASE", "POD_NAME"
"""Variables of the pod: `NAMESPACE/NAME` of the agent's Lease, and the pod's name."""
_POLL_SECONDS = 0.02


@dataclass(frozen=True)
class Pace:
    """How often, in seconds."""

    renew: float = 5.0
    retry: float = 1.0
    """After a renewal that failed, and between two looks of a waiter."""
    longest_turn: float = 600.0
    """Of a longer one nobody knows whether it will end: the process does, and its container starts again."""
    answer: int = 4
    """For an answer about the Lease."""


class Turns:
    """Those of an agent without a Lease, which another fence keeps from acting twice."""

    server: ApiServer = ApiServer()
    """The API server, for what the agent does."""

    @contextlib.contextmanager
    def turn(self) -> Iterator[None]:
        """One turn of the agent's loop. It has done its work if nothing is raised."""
        yield

    @contextlib.contextmanager
    def work(self) -> Iterator[None]:
        """What another thread does beside the loop."""
        yield


def _end(why: str) -> None:
    print(f"{why}; this process ends, and the next one waits for the Lease", file=sys.stderr, flush=True)
    # Not an exception: no thread may go on, and nothing may be cleaned up that another pod has now.
    os._exit(1)


@dataclass(frozen=True)
class _Guarded(ApiServer):
    """Sends nothing before this process may act."""

    wait_until_held: Callable[[], None] = lambda: None

    def _answer(self, *request: Any) -> Any:
        self.wait_until_held()
        return super()._answer(*request)


@dataclass
class LeasedTurns(Turns):
    """Those of an agent that holds its Lease. A thread renews it as long as the loop turns."""

    lease: Lease
    pace: Pace = Pace()
    watch: Callable[[], object] = lambda: None
    """What a waiter does between two looks at the Lease: what it sees it knows once it acts."""
    end: Callable[[str], object] = _end
    """Ends the process at once, and says why."""
    _turned: float = field(default=0.0, init=False)
    """When the loop last began or ended a turn, by the Lease's clock."""
    _worked: float = field(default=0.0, init=False)
    """When the loop last ended one without an error, in seconds since 1970."""
    _busy: int = field(default=0, init=False)
    """Turns and other work that have begun, also those that wait for the Lease."""
    _acting: int = field(default=0, init=False)
    """Those of them that had it when they began."""
    _counting: Any = field(default_factory=threading.Lock, init=False)
    _stops: threading.Event = field(default_factory=threading.Event, init=False)

    def __post_init__(self) -> None:
        given = self.lease.server
        self.server = _Guarded(given.address, given.account, wait_until_held=self._wait_until_held)
        self.lease.server = replace(given, seconds=self.pace.answer)

    def begin(self) -> None:
        """Wait until this pod holds the Lease, and keep it until the process ends. For the main thread."""
        signal.signal(signal.SIGTERM, lambda *_: self._stops.set())
        self._take()
        self._turned, self._worked = self.lease.clock(), self.lease.now()
        threading.Thread(target=self._keep, daemon=True).start()

    @contextlib.contextmanager
    def turn(self) -> Iterator[None]:
        self._turned = self.lease.clock()
        with self.work():
            try:
                yield
                self._worked = self.lease.now()
            finally:
                self._turned = self.lease.clock()

    @contextlib.contextmanager
    def work(self) -> Iterator[None]:
        self._count(1)
        try:
            if self._stops.is_set():
                self._count(-1)
                # Until the thread that renews the Lease has ended the process.
                threading.Event().wait()
            self._wait_until_held()
            self._count(0, acting=1)
            try:
                yield
            finally:
                self._count(0, acting=-1)
        finally:
            self._count(-1)

    def _take(self) -> None:
        said = ""
        while not self.lease.is_held:
            line = self._try_take()
            if line and line != said:
                print(line, file=sys.stderr, flush=True)
                said = line
            if line:
                self._watch()
            if self._stops.wait(self.pace.retry if line else 0):
                os._exit(0)

    def _watch(self) -> None:
        # What the API server does not answer, the line about the Lease says.
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

    def _keep(self) -> None:
        wait = self.pace.renew
        while True:
            if self._stops.wait(wait):
                self._stop()
            if self.lease.clock() - self._turned > self.pace.longest_turn:
                self.end(f"the agent has not turned for {self.pace.longest_turn:g} seconds")
            if self._acting and self.lease.may_be_taken:
                # Paused, with its machine for instance: it would act on what it has read before.
                self.end(f"{self._name} was not renewed for {lease.DURATION_SECONDS:g} seconds of a turn")
            wait = self.pace.renew if self._is_renewed() else self.pace.retry

    def _is_renewed(self) -> bool:
        try:
            self.lease.renew(self._worked)
        except Lost as lost:
            self.end(str(lost))
        except Exception as error:  # whatever it is, the Lease is not renewed
            if self.lease.may_be_taken:
                self.end(f"{self._name} could not be renewed: {type(error).__name__}: {error}")
        return self.lease.is_held

    def _stop(self) -> None:
        """What is being done ends, and nothing else begins. Then another pod may take the Lease."""
        while self._busy and self.lease.is_held:
            time.sleep(_POLL_SECONDS)
        with contextlib.suppress(Exception):
            self.lease.release()
        os._exit(0)

    def _wait_until_held(self) -> None:
        """Of a Lease that was not renewed in time, the thread that renews it finds out whether another pod has it."""
        while not self.lease.is_held:
            time.sleep(_POLL_SECONDS)

    def _count(self, busy: int, acting: int = 0) -> None:
        with self._counting:
            self._busy += busy
            self._acting += acting

    @property
    def _name(self) -> str:
        return f"Lease {self.lease.namespace}/{self.lease.name}"


def begin(environment: Mapping[str, str] = os.environ, *, watch: Callable[[], object] = lambda: None) -> Turns:
    """Wait until this process may act, which it may at once without a Lease in its environment.

    `watch`: called between two looks at the Lease meanwhile. It may read, and change nothing.
    """
    if not environment.get(LEASE):
        return Turns()
    namespace, name = environment[LEASE].split("/")
    made = LeasedTurns(Lease(ApiServer(), namespace, name, environment[POD]), watch=watch)
    made.begin()
    return made
