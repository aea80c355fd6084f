"""One rollout: looks at the volume and the cluster, decides, and makes the cluster so. It may be killed at any point:
the next one finds everything in the cluster."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol

from agents.rollout import metrics, signatures, state, versions
from agents.rollout.cluster import Found
from agents.rollout.decide import Pod, Seen, Track, admits, decide, desired
from agents.rollout.gates import ACCURACY, Measured
from agents.rollout.servers import Server
from agents.rollout.spec import Described
from agents.rollout.state import Decision, Kept

_EVENT_SECONDS = 3600
_FIRST_WAIT_SECONDS, _LONGEST_WAIT_SECONDS = 4.0, 300.0
"""Before held-out examples that could not be asked are asked again; each wait is twice as long as the one before."""


class Objects(Protocol):
    """The server's objects in the cluster."""

    def kept(self) -> Kept: ...
    def keep(self, kept: Kept) -> None: ...
    def track(self, *, canary: bool) -> Track: ...
    def pods(self) -> list[Found]: ...
    def has_leaving(self, *, canary: bool) -> bool: ...
    def configure(self, version: int | None, *, canary: bool) -> None: ...
    def hasten(self, pod: str, version: int | None) -> None: ...
    def told(self, version: int | None) -> str: ...
    def admit(self, pod: str) -> None: ...
    def scale(self, replicas: int, *, canary: bool) -> None: ...
    def weights(self) -> Mapping[str, int | None]: ...
    def weigh(self, route: str, weight: int) -> None: ...
    def announce(self, decision: Decision) -> None: ...


@dataclass
class Controller:
    """Does what is due at each step."""

    described: Described
    cluster: Objects
    said: Callable[[Decision], object] = lambda decision: None
    """Called with each decision once it is kept."""
    warned: Callable[[str], object] = lambda line: None
    """Called with each problem that a later step may not have."""
    connect: Callable[[str, str], Server] = Server
    """To a pod's address and a model."""
    clock: Callable[[], float] = time.monotonic
    """Seconds since any moment."""
    _announced: int = 0
    _accuracy: dict[int, float] = field(default_factory=dict)
    """By version: the held-out examples are asked once."""
    _waits: dict[int, tuple[float, float]] = field(default_factory=dict)
    """By version whose examples could not be asked: when they are asked again, and after how many seconds."""
    _signature_faults: dict[tuple[int, int], str] = field(default_factory=dict)

    def step(self) -> None:
        """One look, at most one decision, and what follows from it. Raises OSError if the cluster does not answer."""
        kept = self.cluster.kept()
        found = self.cluster.pods()
        seen = self._look(kept, found)
        after = decide(self.described.rollout, kept, seen)
        if after != kept:
            self.cluster.keep(after)
        # Of the version in the file since the last step: the kubelet must know the new text before it is hastened.
        self._hasten(found, seen.stable.version)
        self._apply(after, seen)
        if after.candidate == kept.candidate and admits(self.described.rollout, after, seen):
            for pod in found:
                if pod.canary and pod.started and not pod.admitted:
                    self.cluster.admit(pod.name)
        self._tell(after)

    def _look(self, kept: Kept, found: Sequence[Found]) -> Seen:
        pods = {one.name: self._pod(one, kept.candidate) for one in found}
        stable, canary = self.cluster.track(canary=False), self.cluster.track(canary=True)
        seen = Seen(
            time.time(),
            versions.versions(self.described.folder),
            replace(stable, pods=[pods[one.name] for one in found if not one.canary]),
            replace(canary, pods=[pods[one.name] for one in found if one.canary]),
            weights=self.cluster.weights(),
        )
        if kept.candidate is None or kept.promoting or kept.stable is None:
            return seen
        asked = [self._server(one) for one in found if _tries(one, pods[one.name], kept.candidate)]
        if not asked:
            return seen
        others = [self._server(one) for one in found if not one.canary and pods[one.name].serves(kept.stable)]
        return replace(
            seen,
            measured=self._measure(kept.candidate, asked),
            signature_fault=self._signature_fault(kept.stable, kept.candidate, others, asked),
        )

    def _pod(self, found: Found, candidate: int | None) -> Pod:
        available: frozenset[int] = frozenset()
        failed: dict[int, str] = {}
        if found.address:
            try:
                available, refused = self._server(found).versions()
                failed.update(refused)
            except OSError:
                # It starts, or it is about to be gone.
                pass
        if found.failed and found.canary and candidate is not None:
            failed[candidate] = found.failed
        return Pod(found.name, found.ready, available, failed, found.labelled)

    def _server(self, found: Found) -> Server:
        return self.connect(found.address, self.described.model)

    def _measure(self, candidate: int, asked: Sequence[Server]) -> Measured:
        made = metrics.measured([server.metrics() for server in asked], self.described.model)
        if file := self.described.examples:
            wanted = any(gate.metric == ACCURACY for gate in self.described.rollout.gates)
            if wanted and candidate not in self._accuracy and self.clock() >= self._waits.get(candidate, (0.0, 0.0))[0]:
                self._ask_examples(file, asked[0], candidate)
            return replace(made, accuracy=self._accuracy.get(candidate))
        return made

    def _ask_examples(self, file: Path, server: Server, candidate: int) -> None:
        """Without an answer, the gate waits until the deadline, and asks less and less often."""
        try:
            self._accuracy[candidate] = metrics.accuracy(file, server, candidate)
        except (OSError, ValueError) as error:
            _, last = self._waits.get(candidate, (0.0, _FIRST_WAIT_SECONDS / 2))
            wait = min(2 * last, _LONGEST_WAIT_SECONDS)
            self._waits[candidate] = (self.clock() + wait, wait)
            self.warned(f"accuracy of version {candidate}: {error}; asks again in {wait:g} s")

    def _signature_fault(
        self, stable: int, candidate: int, others: Sequence[Server], asked: Sequence[Server]
    ) -> str | None:
        key = (stable, candidate)
        if key not in self._signature_faults and others:
            self._signature_faults[key] = signatures.fault(others[0].metadata(stable), asked[0].metadata(candidate))
        return self._signature_faults.get(key)

    def _apply(self, kept: Kept, seen: Seen) -> None:
        wanted = desired(self.described.rollout, kept, seen)
        for route, weight in seen.weights.items():
            if wanted.weight is not None and weight != wanted.weight:
                self.cluster.weigh(route, wanted.weight)
        for canary, is_now, should in ((False, seen.stable, wanted.stable), (True, seen.canary, wanted.canary)):
            if is_now.version != should.version and not (canary and self.cluster.has_leaving(canary=True)):
                self.cluster.configure(should.version, canary=canary)
            if is_now.replicas != should.replicas:
                self.cluster.scale(should.replicas, canary=canary)

    def _hasten(self, found: Sequence[Found], version: int | None) -> None:
        for pod in found:
            if not pod.canary and pod.told != self.cluster.told(version):
                self.cluster.hasten(pod.name, version)

    def _tell(self, kept: Kept) -> None:
        news = [each for each in kept.decisions if each.number > self._announced]
        if news:
            # With those before: a former controller may have written over them late.
            state.extend(state.path_of(self.described.folder, self.described.server), kept.decisions)
        for decision in news:
            # Events are kept for an hour; a later start would create them anew.
            if time.time() - decision.at < _EVENT_SECONDS:
                self.cluster.announce(decision)
            self.said(decision)
            self._announced = decision.number


def _tries(found: Found, pod: Pod, candidate: int) -> bool:
    """Whether a canary pod can be asked about the candidate."""
    return found.canary and found.started and candidate in pod.available
