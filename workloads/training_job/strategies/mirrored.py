"""`tf.distribute.MirroredStrategy`: the GPUs of one pod, each with a copy of the model."""

from collections.abc import Iterator, Sequence
from typing import Literal

from tensorplane.components.base.location import Key
from tensorplane.components.base.model import Resources
from tensorplane.workloads.training_job.role import Role
from tensorplane.workloads.training_job.strategies import Strategy


class Mirrored(Strategy):
    """One pod with several GPUs, `resources.gpus`, which average their gradients in every step.

    Keras' `fit` works in it, without TF_CONFIG: `tensorplane.strategy()` counts the GPUs.
    """

    kind: Literal["mirrored"] = "mirrored"

    def roles(self, resources: Resources) -> Sequence[Role]:
        return [Role("worker", 1, resources)]

    def problems(self, resources: Resources) -> Iterator[tuple[Key, str]]:
        if resources.gpus < 2:
            reason = f"is {resources.gpus}, but strategy mirrored copies the model to each of several GPUs of its pod"
            yield ("resources", "gpus"), f"{reason}; set 2 or more, or use strategy single"
