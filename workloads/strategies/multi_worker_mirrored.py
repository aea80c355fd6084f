"""`tf.distribute.MultiWorkerMirroredStrategy`: equal workers that compute every step together."""

from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import Field

from workloads.strategies import Strategy
from workloads.tf_config import Role


class MultiWorkerMirrored(Strategy):
    """Workers that average their gradients in every step; worker 0 is the chief. All restart when one is lost.

    Keras 3 cannot `fit` under it (a `PerReplica` cannot become a Tensor): write the loop with `strategy.run`, or set
    `TF_USE_LEGACY_KERAS: "1"` in `env` and use tf_keras.
    """

    kind: Literal["multiWorkerMirrored"] = "multiWorkerMirrored"

    workers: Annotated[int, Field(ge=1, le=1000)] = 2
    """Number of worker pods."""

    def roles(self) -> Sequence[Role]:
        return [Role("worker", self.workers)]
