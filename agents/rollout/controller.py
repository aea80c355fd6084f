"""Reconciles one rollout: observes the volume and the cluster, decides, and applies the decision. It may be killed at
any point: the next controller finds everything in the cluster."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol

from ..events import DecisionReporter
from . import metrics, signatures
from .cluster import PodStatus, annotation
from .decide import Observed, Pod, Track, admits, decide, desired
from .gates import ACCURACY, Measured
from .servers import Server
from .spec import RolloutSpec
from .state import RolloutDecision, RolloutState, append_to_record, record_path
from .versions import list_versions

_FIRST_WAIT_SECONDS, _LONGEST_WAIT_SECONDS = 4.0, 300.0
"""Before an accuracy that could not be measured is tried again; each wait is twice as long as the one before."""


class Objects(Protocol):
    """The server's objects in the cluster."""

    def read_state(self) -> RolloutState: ...
    def write_state(self, state: RolloutState) -> None: ...
    def get_track(self, *, canary: bool) -> Track: ...
    def list_pods(self) -> list[PodStatus]: ...
    def has_terminating_pods(self, *, canary: bool) -> bool: ...
    def configure(self, version: int | None, *, canary: bool) -> None: ...
    def annotate(self, pod: str, version: int | None) -> None: ...
    def admit(self, pod: str) -> None: ...
    def scale(self, replicas: int, *, canary: bool) -> None: ...
    def get_weights(self) -> Mapping[str, int | None]: ...
    def set_weight(self, route: str, weight: int) -> None: ...
    def create_event(self, decision: RolloutDecision) -> None: ...


@dataclass
class Controller:
    """Reconciles one rollout."""

    spec: RolloutSpec
    cluster: Objects
    log: Callable[[RolloutDecision], object] = lambda decision: None
    """Called with each decision once the state has it."""
    warn: Callable[[str], object] = lambda line: None
    """Called with each problem that a later reconcile may not have."""
    connect: Callable[[str, str], Server] = Server
    """To a pod's address and a model."""
    clock: Callable[[], float] = time.monotonic
    """Seconds since any moment."""
    _accuracy: dict[int, float] = field(default_factory=dict)
    """Accuracy by version: the held-out examples are sent once."""
    _waits: dict[int, tuple[float, float]] = field(default_factory=dict)
    """By version whose accuracy could not be measured: when it is tried again, and after how many seconds."""
    _signature_differences: dict[tuple[int, int], str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._reporter = DecisionReporter(self.cluster.create_event, self.log)

    def reconcile(self) -> None:
        """Makes at most one decision, and applies it. Raises OSError if the cluster does not answer."""
        state = self.cluster.read_state()
        found = self.cluster.list_pods()
        observed = self._observe(state, found)
        after = decide(self.spec.rollout, state, observed)
        if after != state:
            self.cluster.write_state(after)
        # With the version that is in the file since the last reconcile: the kubelet must know the new text first.
        self._annotate(found, observed.stable.version)
        self._apply(after, observed)
        if after.canary == state.canary and admits(self.spec.rollout, after, observed):
            for pod in found:
                if pod.canary and pod.started and not pod.admitted:
                    self.cluster.admit(pod.name)
        self._report(after)

    def _observe(self, state: RolloutState, found: Sequence[PodStatus]) -> Observed:
        pods = {one.name: self._pod(one, state.canary) for one in found}
        stable, canary = self.cluster.get_track(canary=False), self.cluster.get_track(canary=True)
        observed = Observed(
            time.time(),
            list_versions(self.spec.folder),
            replace(stable, pods=[pods[one.name] for one in found if not one.canary]),
            replace(canary, pods=[pods[one.name] for one in found if one.canary]),
            weights=self.cluster.get_weights(),
        )
        if state.canary is None or state.promoting or state.stable is None:
            return observed
        servers = [self._server(one) for one in found if _tries(one, pods[one.name], state.canary)]
        if not servers:
            return observed
        others = [self._server(one) for one in found if not one.canary and pods[one.name].serves(state.stable)]
        return replace(
            observed,
            measured=self._measure(state.canary, servers),
            signature_difference=self._signature_difference(state.stable, state.canary, others, servers),
        )

    def _pod(self, found: PodStatus, version: int | None) -> Pod:
        available: frozenset[int] = frozenset()
        failed: dict[int, str] = {}
        if found.address:
            try:
                available, refused = self._server(found).versions()
                failed.update(refused)
            except OSError:
                # It starts, or it is about to be gone.
                pass
        if found.failed and found.canary and version is not None:
            failed[version] = found.failed
        return Pod(found.name, found.ready, available, failed, found.labelled)

    def _server(self, found: PodStatus) -> Server:
        return self.connect(found.address, self.spec.model)

    def _measure(self, version: int, servers: Sequence[Server]) -> Measured:
        made = metrics.measure([server.metrics() for server in servers], self.spec.model)
        if file := self.spec.examples:
            wanted = any(gate.metric == ACCURACY for gate in self.spec.rollout.gates)
            if wanted and version not in self._accuracy and self.clock() >= self._waits.get(version, (0.0, 0.0))[0]:
                self._measure_accuracy(file, servers[0], version)
            return replace(made, accuracy=self._accuracy.get(version))
        return made

    def _measure_accuracy(self, file: Path, server: Server, version: int) -> None:
        """Measures the accuracy. Without an answer, the gate waits until the deadline and tries less and less often."""
        try:
            self._accuracy[version] = metrics.accuracy(file, server, version)
        except (OSError, ValueError) as error:
            _, last = self._waits.get(version, (0.0, _FIRST_WAIT_SECONDS / 2))
            wait = min(2 * last, _LONGEST_WAIT_SECONDS)
            self._waits[version] = (self.clock() + wait, wait)
            self.warn(f"accuracy of version {version}: {error}; asks again in {wait:g} s")

    def _signature_difference(
        self, stable: int, canary: int, others: Sequence[Server], servers: Sequence[Server]
    ) -> str | None:
        key = (stable, canary)
        if key not in self._signature_differences and others:
            self._signature_differences[key] = signatures.find_difference(
                others[0].metadata(stable), servers[0].metadata(canary)
            )
        return self._signature_differences.get(key)

    def _apply(self, state: RolloutState, observed: Observed) -> None:
        wanted = desired(self.spec.rollout, state, observed)
        for route, weight in observed.weights.items():
            if wanted.weight is not None and weight != wanted.weight:
                self.cluster.set_weight(route, wanted.weight)
        for canary, is_now, should in ((False, observed.stable, wanted.stable), (True, observed.canary, wanted.canary)):
            if is_now.version != should.version and not (canary and self.cluster.has_terminating_pods(canary=True)):
                self.cluster.configure(should.version, canary=canary)
            if is_now.replicas != should.replicas:
                self.cluster.scale(should.replicas, canary=canary)

    def _annotate(self, pods: Sequence[PodStatus], version: int | None) -> None:
        for pod in pods:
            if not pod.canary and pod.annotated != annotation(version):
                self.cluster.annotate(pod.name, version)

    def _report(self, state: RolloutState) -> None:
        if self._reporter.unreported(state.decisions):
            # All of the state's decisions: a former controller may have written over them late.
            append_to_record(record_path(self.spec.folder, self.spec.server), state.decisions)
        self._reporter.report(state.decisions)


def _tries(found: PodStatus, pod: Pod, version: int) -> bool:
    """Whether a pod is one of the canary whose server answers for this version."""
    return found.canary and found.started and version in pod.available
