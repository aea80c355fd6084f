"""The metrics that gates compare: requests, errors and latency as TensorFlow Serving counts them in Prometheus' text
format, and the accuracy on held-out examples."""

from __future__ import annotations

import json
import math
import re
import urllib.error
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

from .gates import Measured
from .servers import Server

_COUNT, _BUCKET = ":tensorflow:serving:request_count", ":tensorflow:serving:request_latency_bucket"
_SAMPLE = re.compile(r"^(?P<name>[^\s{]+)\{(?P<labels>[^}]*)\}\s+(?P<value>\S+)$", re.MULTILINE)
_LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')
_MICROS = 1000


@dataclass
class Counts:
    """What a pod has counted of one model since its start."""

    statuses: Counter[str] = field(default_factory=Counter)
    """Requests by how they ended; `OK` for those that succeeded."""
    buckets: Counter[float] = field(default_factory=Counter)
    """Answered requests by the upper bound of their latency in microseconds, those below it included."""

    @property
    def requests(self) -> int:
        """All of them, refused ones included."""
        return sum(self.statuses.values())


def read_counts(text: str) -> dict[str, Counts]:
    """What one pod has counted, by model. Empty if it has no metrics of TensorFlow Serving."""
    found: defaultdict[str, Counts] = defaultdict(Counts)
    for sample in _SAMPLE.finditer(text):
        if sample["name"] not in (_COUNT, _BUCKET):
            continue
        labels = dict(_LABEL.findall(sample["labels"]))
        counts, value = found[labels.get("model_name", "")], int(float(sample["value"]))
        if sample["name"] == _COUNT:
            counts.statuses[labels.get("status", "")] += value
        else:
            counts.buckets[_bound(labels["le"])] += value
    return dict(found)


def measure(texts: Iterable[str], model: str) -> Measured:
    """The requests for a model, over all pods."""
    total = Counts()
    for text in texts:
        one = read_counts(text).get(model, Counts())
        # Not `+=`, which drops empty buckets, whose bounds a quantile needs.
        total.statuses.update(one.statuses)
        total.buckets.update(one.buckets)
    return Measured(total.requests, total.requests - total.statuses["OK"], quantile(total.buckets, 0.99))


def _bound(text: str) -> float:
    return math.inf if text == "+Inf" else float(text)


def quantile(buckets: Mapping[float, float], share: float) -> float | None:
    """A quantile in milliseconds, linear within its bucket as Prometheus computes it; None without requests. `buckets`
    are cumulative."""
    bounds = sorted(buckets)
    if not bounds or not (total := buckets[bounds[-1]]):
        return None
    wanted, low, below = share * total, 0.0, 0.0
    for bound in bounds:
        if buckets[bound] >= wanted and buckets[bound] > 0:
            if math.isinf(bound):
                return low / _MICROS
            inside = buckets[bound] - below
            return (low + (bound - low) * (wanted - below) / inside) / _MICROS
        low, below = bound, buckets[bound]
    return low / _MICROS


_BATCH, _REFUSED = 32, 400


def accuracy(file: Path, server: Server, version: int) -> float:
    """The share of examples whose label the version predicts. Raises OSError, and ValueError for a file of another
    form."""
    right = total = 0
    with file.open() as lines:
        for batch in _batches(json.loads(line) for line in lines if line.strip()):
            try:
                instances, labels = [one["instance"] for one in batch], [one["label"] for one in batch]
            except (KeyError, TypeError):
                raise ValueError(f'{file}: each line must be {{"instance": …, "label": …}}') from None
            total += len(batch)
            try:
                predicted = server.predict(version, instances)
            except urllib.error.HTTPError as error:
                if error.code == _REFUSED:
                    # Examples that the version does not take are examples that it gets wrong.
                    continue
                raise
            right += sum(_label(one) == label for one, label in zip(predicted, labels, strict=True))
    if not total:
        raise ValueError(f"{file}: has no examples")
    return right / total


def _label(prediction: Any) -> Any:
    """The class of scores, the rounded value of one score, or the prediction itself."""
    if isinstance(prediction, dict) and len(prediction) == 1:
        (prediction,) = prediction.values()
    if not isinstance(prediction, list):
        return prediction
    if len(prediction) == 1:
        return round(prediction[0])
    return max(range(len(prediction)), key=prediction.__getitem__)


def _batches(examples: Iterator[Any]) -> Iterator[Sequence[Any]]:
    while batch := list(islice(examples, _BATCH)):
        yield batch
