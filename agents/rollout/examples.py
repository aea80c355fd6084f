"""Accuracy on held-out examples: a file of JSON lines, `{"instance": …, "label": 3}`."""

from __future__ import annotations

import json
import urllib.error
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from agents.rollout.servers import Server

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
