"""Batching: requests of several clients in one call of TensorFlow (session_bundle_config.proto, BatchingParameters)."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from google.protobuf import text_format

from .error import failed_precondition, invalid_argument, unavailable
from .schemas import BatchingParameters

Arrays = Mapping[str, np.ndarray]
Compute = Callable[[Arrays], Arrays]


@dataclass(frozen=True)
class Parameters:
    """How batches are formed. Defaults are those of BatchingParameters."""

    max_batch_size: int = 1000
    batch_timeout_micros: int = 0
    max_enqueued_batches: int = 10
    num_batch_threads: int = 4
    allowed_batch_sizes: tuple[int, ...] = ()

    @classmethod
    def read(cls, file: Path) -> Parameters:
        """Of a file in the text format. A ServingError if it is none, or as batching_session.cc refuses."""
        message = BatchingParameters()
        try:
            text_format.Parse(file.read_text(), message)
        except (OSError, text_format.ParseError) as error:
            raise invalid_argument(f"{file}: {error}") from error
        given = {
            name: getattr(message, name).value
            for name in ("max_batch_size", "batch_timeout_micros", "max_enqueued_batches", "num_batch_threads")
            if message.HasField(name)
        }
        made = cls(**given, allowed_batch_sizes=tuple(message.allowed_batch_sizes))
        sizes = made.allowed_batch_sizes
        if sizes and (list(sizes) != sorted(set(sizes)) or sizes[-1] != made.max_batch_size):
            raise invalid_argument("allowed_batch_sizes must be ascending, and the last one must equal max_batch_size")
        return made

    def padded(self, size: int) -> int:
        """The allowed size for so many rows."""
        return next((allowed for allowed in self.allowed_batch_sizes if allowed >= size), size)


@dataclass
class _Batch:
    """Requests that are computed together."""

    compute: Compute
    due: float
    inputs: list[Arrays] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)
    done: threading.Event = field(default_factory=threading.Event)
    outputs: Arrays = field(default_factory=dict)
    error: Exception | None = None

    @property
    def size(self) -> int:
        return sum(self.sizes)


class Batches:
    """The queues of all signatures, and the threads that compute their batches."""

    def __init__(self, parameters: Parameters) -> None:
        self._parameters = parameters
        self._open: dict[Hashable, _Batch] = {}
        self._closed: deque[tuple[Hashable, _Batch]] = deque()
        self._changed = threading.Condition()
        for number in range(parameters.num_batch_threads):
            threading.Thread(target=self._work, name=f"batch-{number}", daemon=True).start()

    def run(self, signature: Hashable, inputs: Arrays, compute: Compute) -> dict[str, np.ndarray]:
        """The outputs of one request, computed together with those of others of the same signature and shapes."""
        size = _rows(inputs)
        if size > self._parameters.max_batch_size:
            raise invalid_argument(
                f"Task size {size} is larger than maximum input batch size {self._parameters.max_batch_size}"
            )
        shapes = tuple((name, array.dtype.str, array.shape[1:]) for name, array in sorted(inputs.items()))
        batch, start = self._join((signature, shapes), size, inputs, compute)
        batch.done.wait()
        if batch.error:
            raise batch.error
        return {name: array[start : start + size] for name, array in batch.outputs.items()}

    def _join(self, key: Hashable, size: int, inputs: Arrays, compute: Compute) -> tuple[_Batch, int]:
        with self._changed:
            batch = self._open.get(key)
            if batch and batch.size + size > self._parameters.max_batch_size:
                self._close(key)
                batch = None
            if batch is None:
                if sum(of == key for of, _ in self._closed) >= self._parameters.max_enqueued_batches:
                    raise unavailable("The batch scheduling queue to which this task was submitted is full")
                due = time.monotonic() + self._parameters.batch_timeout_micros / 1e6
                batch = self._open[key] = _Batch(compute, due)
            start = batch.size
            batch.inputs.append(inputs)
            batch.sizes.append(size)
            if batch.size == self._parameters.max_batch_size:
                self._close(key)
            self._changed.notify()
            return batch, start

    def _close(self, key: Hashable) -> None:
        self._closed.append((key, self._open.pop(key)))

    def _work(self) -> None:
        while True:
            batch = self._next()
            try:
                batch.outputs = self._computed(batch)
            except Exception as error:  # each request of the batch gets it
                batch.error = error
            batch.done.set()

    def _next(self) -> _Batch:
        with self._changed:
            while True:
                now = time.monotonic()
                for key in [key for key, batch in self._open.items() if batch.due <= now]:
                    self._close(key)
                if self._closed:
                    return self._closed.popleft()[1]
                due = min((batch.due for batch in self._open.values()), default=None)
                self._changed.wait(None if due is None else due - now)

    def _computed(self, batch: _Batch) -> Arrays:
        size = self._parameters.padded(batch.size)
        together = {name: np.concatenate([one[name] for one in batch.inputs]) for name in batch.inputs[0]}
        if size > batch.size:
            together = {
                name: np.concatenate([array, np.repeat(array[:1], size - batch.size, axis=0)])
                for name, array in together.items()
            }
        outputs = batch.compute(together)
        for array in outputs.values():
            if not array.ndim or len(array) != size:
                raise failed_precondition(
                    "Batched output tensor's 0th dimension does not equal the sum of the 0th dimension sizes of the "
                    "input tensors"
                )
        return outputs


def _rows(inputs: Arrays) -> int:
    if any(not array.ndim for array in inputs.values()):
        raise invalid_argument("Batching session Run() input tensors must have at least one dimension.")
    sizes = {len(array) for array in inputs.values()}
    if len(sizes) != 1:
        raise invalid_argument("Batching session Run() input tensors must have equal 0th-dimension size.")
    return sizes.pop()
