"""Warm-up: a version answers the requests that its folder contains before it answers those of clients
(g3doc/saved_model_warmup.md)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import tensorflow as tf
from tensorflow_serving.apis import prediction_log_pb2

from . import inference
from .model import Version

_FILE = "assets.extra/tf_serving_warmup_requests"
_MOST_RECORDS = 1000


def run(version: Version, folder: Path) -> int:
    """Answers them all; returns how many. Raises what a request raises, so that the version is not served."""
    count = 0
    for record in _records(folder / _FILE):
        log = prediction_log_pb2.PredictionLog.FromString(record)
        match log.WhichOneof("log_type"):
            case "predict_log":
                request = log.predict_log.request
                inputs = {name: tf.make_ndarray(tensor) for name, tensor in request.inputs.items()}
                version.predict(inputs, request.model_spec.signature_name, request.output_filter)
            case "classify_log":
                request = log.classify_log.request
                inference.classify(version, request.input, request.model_spec.signature_name)
            case "regress_log":
                request = log.regress_log.request
                inference.regress(version, request.input, request.model_spec.signature_name)
            case other:
                raise ValueError(f"{_FILE}: the stand-in does not replay {other or 'an empty record'}")
        count += 1
    return count


def _records(file: Path) -> Iterator[bytes]:
    if not file.exists():
        return
    for index, record in enumerate(tf.data.TFRecordDataset(str(file))):
        if index == _MOST_RECORDS:
            raise ValueError(f"{_FILE}: more than {_MOST_RECORDS} records")
        yield record.numpy()
