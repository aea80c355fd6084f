"""The gates of a canary: its measured metrics against the thresholds of the settings."""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

ERROR_RATE, LATENCY, ACCURACY = "errorRate", "latencyP99Millis", "accuracy"


class GateResult(enum.Enum):
    """The result of one gate, or of all."""

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
    """On the held-out examples; None until they are measured."""

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


def evaluate(gates: Sequence[Gate], measured: Measured) -> tuple[GateResult, str]:
    """Of all gates together, and the reason. One that fails decides, whatever the others wait for."""
    each = [_evaluate_one(gate, measured) for gate in gates]
    for wanted in (GateResult.FAILS, GateResult.WAITS):
        if reasons := [reason for found, reason in each if found is wanted]:
            return wanted, "; ".join(reasons)
    return GateResult.PASSES, "; ".join(reason for _, reason in each)


def _evaluate_one(gate: Gate, measured: Measured) -> tuple[GateResult, str]:
    requests = f"{measured.requests} of {gate.min_requests} requests"
    if gate.metric == ERROR_RATE and measured.errors > gate.threshold * max(gate.min_requests, measured.requests):
        # No answer that is still to come could make it pass.
        return GateResult.FAILS, f"{measured.errors} errors in {measured.requests} requests, above {gate.threshold:g}"
    value = measured.value(gate.metric)
    if value is None or measured.requests < gate.min_requests:
        return GateResult.WAITS, f"{gate.metric}: {requests}"
    if gate.metric == ACCURACY:
        passes, sign = value >= gate.threshold, "at least"
    else:
        passes, sign = value <= gate.threshold, "at most"
    reason = (
        f"{gate.metric} {value:.4g}, {sign} {gate.threshold:g} allowed"
        if passes
        else (f"{gate.metric} {value:.4g}, where {sign} {gate.threshold:g} is allowed")
    )
    return (GateResult.PASSES if passes else GateResult.FAILS), reason
