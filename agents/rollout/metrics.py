"""What a canary has answered, from TensorFlow Serving's metrics in Prometheus' text format."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable

from agents.rollout.gates import Measured

PATH = "/monitoring/prometheus/metrics"
_COUNT, _BUCKET = ":tensorflow:serving:request_count", ":tensorflow:serving:request_latency_bucket"
_SAMPLE = re.compile(r"^(?P<name>[^\s{]+)\{(?P<labels>[^}]*)\}\s+(?P<value>\S+)$", re.MULTILINE)
_LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')
_MICROS = 1000


def measured(texts: Iterable[str], model: str) -> Measured:
    """The requests for a model, over all pods."""
    counts: Counter[str] = Counter()
    buckets: Counter[float] = Counter()
    for text in texts:
        for sample in _SAMPLE.finditer(text):
            labels = dict(_LABEL.findall(sample["labels"]))
            if labels.get("model_name") != model:
                continue
            if sample["name"] == _COUNT:
                counts[labels.get("status", "")] += int(float(sample["value"]))
            elif sample["name"] == _BUCKET:
                buckets[_bound(labels["le"])] += int(float(sample["value"]))
    total = sum(counts.values())
    return Measured(total, total - counts["OK"], _quantile(buckets, 0.99))


def _bound(text: str) -> float:
    return math.inf if text == "+Inf" else float(text)


def _quantile(buckets: Counter[float], share: float) -> float | None:
    """A quantile in milliseconds, linear within its bucket as Prometheus computes it. `buckets` are cumulative."""
    bounds = sorted(buckets)
    if not bounds or not (total := buckets[bounds[-1]]):
        return None
    wanted, low, below = share * total, 0.0, 0
    for bound in bounds:
        if buckets[bound] >= wanted:
            if math.isinf(bound):
                return low / _MICROS
            inside = buckets[bound] - below
            return (low + (bound - low) * (wanted - below) / inside) / _MICROS
        low, below = bound, buckets[bound]
    return low / _MICROS
