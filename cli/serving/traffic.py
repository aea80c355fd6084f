"""Request rate and latencies of models, from TensorFlow Serving's metrics in Prometheus' format."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from tensorplane.agents.rollout import metrics


@dataclass
class Counts:
    """What a server has counted of one model since its start."""

    requests: float = 0
    """All of them, refused ones included."""
    latencies: Mapping[float, float] = field(default_factory=dict)
    """Answered requests by the upper bound of their latency in microseconds, those below it included."""

    def since(self, before: Counts) -> Counts:
        """What came after an earlier look; everything if the server has started anew."""
        if self.requests < before.requests or any(self.latencies.get(at, 0) < n for at, n in before.latencies.items()):
            return self
        less = {at: count - before.latencies.get(at, 0) for at, count in self.latencies.items()}
        return Counts(self.requests - before.requests, less)


@dataclass(frozen=True)
class Traffic:
    """The requests for one model of a server, of all its pods."""

    requests_per_second: float
    p50_ms: float | None
    """Milliseconds within which half of the requests were answered; None without requests."""
    p99_ms: float | None


def read(text: str) -> dict[str, Counts]:
    """What one pod has counted, by model. Empty if it has no metrics of TensorFlow Serving."""
    return {model: Counts(found.requests, dict(found.buckets)) for model, found in metrics.read_counts(text).items()}


def of(model: str, looks: Iterable[tuple[Mapping[str, Counts], Mapping[str, Counts]]], seconds: float) -> Traffic:
    """The traffic of a model between two looks at each pod that are `seconds` apart.

    Latencies are those of the requests in between, or without any, of all since the pods' start.
    """
    pods = [(before.get(model, Counts()), after.get(model, Counts())) for before, after in looks]
    between = [after.since(before) for before, after in pods]
    latencies = _sum(between) or _sum([after for _, after in pods])
    rate = sum(counts.requests for counts in between) / seconds
    return Traffic(rate, metrics.quantile(latencies, 0.5), metrics.quantile(latencies, 0.99))


def _sum(pods: Iterable[Counts]) -> dict[float, float]:
    """The latencies of all pods; empty without requests."""
    found: dict[float, float] = defaultdict(float)
    for counts in pods:
        for bound, count in counts.latencies.items():
            found[bound] += count
    return dict(found) if any(found.values()) else {}
