"""How a model server computes requests of several clients together."""

from typing import Annotated

from pydantic import Field

from components.base.model import Model


class BatchingArgs(Model):
    """Batches of requests. The names and meanings are those of TensorFlow Serving's batching parameters.

    A request waits at most `batchTimeoutMicros` for others. Signatures need a first dimension of any size, for the rows
    of a batch.
    """

    max_batch_size: Annotated[int, Field(ge=1, le=1_000_000)] = 32
    """Most rows of a batch. A request with more rows is refused."""
    batch_timeout_micros: Annotated[int, Field(ge=0, le=3_600_000_000)] = 1000
    """Microseconds that the first request of a batch waits for more."""
    max_enqueued_batches: Annotated[int, Field(ge=1, le=1_000_000)] = 100
    """Batches of a signature that may wait; further requests are answered with UNAVAILABLE (503)."""
    num_batch_threads: Annotated[int, Field(ge=1, le=4096)] | None = None
    """Batches that are computed at a time; by default as many as the pod has CPUs."""
    allowed_batch_sizes: Annotated[list[Annotated[int, Field(ge=1)]], Field(default_factory=list)]
    """Sizes to which batches are filled up, ascending, the last one being `maxBatchSize`; by default any size. With a
    GPU or XLA, few sizes save compilations."""
