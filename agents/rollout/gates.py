"""The gates of a canary: what is measured of it, against what its settings allow."""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

ERROR_RATE, LATENCY, ACCURACY = "errorRate", "latencyP99Millis", "accuracy"


class Verdict(enum.Enum):
    """What a gate says."""

    PASSES = "passes"
    FAILS = "fails"
    WAITS = "waits"


@dataclass(frozen=True)
class Gate:
    """One condition."""

    metric: str
    threshold: float
    """The most that is allowed; of accuracy, the least."""
    min_requests: int
    """Requests to the canary before it decides."""


@dataclass(frozen=True)
class Measured:
    """What the canary has answered so far."""

    requests: int = 0
    errors: int = 0
    latency_p99_millis: float | None = None
    """Of the requests that succeeded; None without one."""
    accuracy: float | None = None
    """On the held-out examples; None until they are asked."""

    def value(self, metric: str) -> float | None:
        """Of a gate's metric."""
        if metric == ERROR_RATE:
            return self.errors / self.requests if self.requests else None
        return self.accuracy if metric == ACCURACY else self.latency_p99_millis

    def values(self, gates: Sequence[Gate]) -> Mapping[str, float]:
        """Of all gates' metrics, and the number of requests."""
        found = {gate.metric: self.value(gate.metric) for gate in gates}
        known = {metric: round(value, 6) for metric, value in found.items() if value is not None}
        return {**known, "requests": self.requests}


def verdict(gates: Sequence[Gate], measured: Measured) -> tuple[Verdict, str]:
    """Of all gates together, and the reason. One that fails decides, whatever the others wait for."""
    each = [_of_one(gate, measured) for gate in gates]
    for wanted in (Verdict.FAILS, Verdict.WAITS):
        if said := [reason for found, reason in each if found is wanted]:
            return wanted, "; ".join(said)
    return Verdict.PASSES, "; ".join(reason for _, reason in each)


def _of_one(gate: Gate, measured: Measured) -> tuple[Verdict, str]:
    requests = f"{measured.requests} of {gate.min_requests} requests"
    if gate.metric == ERROR_RATE and measured.errors > gate.threshold * max(gate.min_requests, measured.requests):
        # No answer that is still to come could make it pass.
        return Verdict.FAILS, f"{measured.errors} errors in {measured.requests} requests, above {gate.threshold:g}"
    value = measured.value(gate.metric)
    if value is None or measured.requests < gate.min_requests:
        return Verdict.WAITS, f"{gate.metric}: {requests}"
    if gate.metric == ACCURACY:
        passes, sign = value >= gate.threshold, "at least"
    else:
        passes, sign = value <= gate.threshold, "at most"
    said = (
        f"{gate.metric} {value:.4g}, {sign} {gate.threshold:g} allowed"
        if passes
        else (f"{gate.metric} {value:.4g}, where {sign} {gate.threshold:g} is allowed")
    )
    return (Verdict.PASSES if passes else Verdict.FAILS), said
