"""`tf.distribute.MultiWorkerMirroredStrategy`: equal workers that compute every step together."""

from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import Field

from tensorplane.components.base.model import Resources
from tensorplane.workloads.training_job.role import TENSORFLOW, TENSORFLOW_PORT, Role
from tensorplane.workloads.training_job.strategies import Strategy


class MultiWorkerMirrored(Strategy):
    """Workers that average their gradients in every step; worker 0 is the chief. All restart when one is lost.

    Keras 3's `fit` works in it, because the library in the pods repairs it: `tensorplane.fit` also saves and resumes.
    """

    kind: Literal["multiWorkerMirrored"] = "multiWorkerMirrored"

    workers: Annotated[int, Field(ge=1, le=1000)] = 2
    """Number of worker pods."""

    def roles(self, resources: Resources) -> Sequence[Role]:
        ports = {TENSORFLOW: TENSORFLOW_PORT}
        return [Role("worker", self.workers, resources, ports, together=self.workers > 1)]
