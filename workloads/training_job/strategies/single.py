"""One process on one machine, without TF_CONFIG."""

from collections.abc import Sequence
from typing import Literal

from tensorplane.components.base.model import Resources
from tensorplane.workloads.training_job.role import Role
from tensorplane.workloads.training_job.strategies import Strategy


class Single(Strategy):
    """One pod, without TF_CONFIG. Keras 3's `fit` works in it."""

    kind: Literal["single"] = "single"

    def roles(self, resources: Resources) -> Sequence[Role]:
        return [Role("worker", 1, resources)]
