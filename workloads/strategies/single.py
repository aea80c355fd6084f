"""One process on one machine, without TF_CONFIG."""

from collections.abc import Sequence
from typing import Literal

from workloads.strategies import Strategy
from workloads.tf_config import Role


class Single(Strategy):
    """One pod. Keras 3's `fit` works in it."""

    kind: Literal["single"] = "single"

    def roles(self) -> Sequence[Role]:
        return [Role("worker", 1, in_cluster=False)]
