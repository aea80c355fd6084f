"""`tf.distribute.TPUStrategy`: the chips of a TPU slice on GKE, on one machine or several."""

import math
import re
from collections.abc import Iterator, Sequence
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from tensorplane.components import catalog
from tensorplane.components.base.location import Key
from tensorplane.components.base.model import Resources, refuse_all_but
from tensorplane.workloads.training_job.role import TENSORFLOW, TENSORFLOW_PORT, Role
from tensorplane.workloads.training_job.strategies import Strategy

_MOST_ON_ONE_MACHINE = {2: 8, 3: 4}
"""By the dimensions of the topology."""
_IN_A_SLICE = 4
"""Chips of each machine of a slice of several."""

_MOST_CHIPS = 9216
"""Chips of the largest slice on GKE: TPU7x, 16x24x24."""

_TOPOLOGY = re.compile(r"[1-9][0-9]{0,2}(x[1-9][0-9]{0,2}){1,2}")


def _chips(topology: str) -> int:
    return math.prod(map(int, topology.split("x")))


def _check_topology(value: str) -> str:
    if not _TOPOLOGY.fullmatch(value):
        refuse_all_but("the numbers of chips in two or three dimensions, such as 2x4 or 4x4x8")
    if _chips(value) > _MOST_CHIPS:
        refuse_all_but(f"a slice of at most {_MOST_CHIPS:,} chips")
    return value


class Tpu(Strategy):
    """One pod for each machine of a TPU slice on GKE; `resources.accelerator` names its chips, such as `tpu-v5e`.

    A node group of the stack must have this accelerator and topology. The job needs an `image` with TensorFlow for TPUs
    (the package `tensorflow-tpu`), and its program creates a `tf.distribute.TPUStrategy`: tensorplane's `strategy` and
    `fit` refuse TPUs. With several machines, the pods have TF_CONFIG, TPU_WORKER_ID and
    TPU_WORKER_HOSTNAMES. This project has no TPUs: it only tests the manifests against Kubernetes' API server.
    """

    kind: Literal["tpu"] = "tpu"

    topology: Annotated[str, AfterValidator(_check_topology)]
    """Arrangement of the slice's chips: `2x4` is one machine with eight, `4x4` are four machines with four each."""
    per_node: Annotated[int, Field(ge=1, le=8)] | None = None
    """Chips of each machine, as in the node group. By default all chips if one machine can have them, else 4."""

    @property
    def chips(self) -> int:
        """Chips of the slice."""
        return _chips(self.topology)

    @property
    def _of_each(self) -> int:
        most = _MOST_ON_ONE_MACHINE[self.topology.count("x") + 1]
        return self.per_node or (self.chips if self.chips <= most else _IN_A_SLICE)

    def roles(self, resources: Resources) -> Sequence[Role]:
        each = resources.model_copy(update={"gpus": self._of_each})
        machines = max(1, self.chips // self._of_each)
        several = machines > 1
        ports = {TENSORFLOW: TENSORFLOW_PORT} if several else {}
        at = ("strategy", "topology")
        return [Role("worker", machines, each, ports, together=several, topology=self.topology, count_at=at)]

    def problems(self, resources: Resources) -> Iterator[tuple[Key, str]]:
        stated = " or ".join(resources.accelerators)
        accelerator = catalog.ACCELERATORS.get(stated)
        usable = [each.name for each in catalog.ACCELERATORS.values() if each.kind == "tpu" and each.tensorflow]
        remedy = f"set one of {', '.join(usable)}"
        path = ("resources", "accelerator")
        if resources.gpus:
            reason = f"is {resources.gpus}, but strategy tpu counts chips by its topology; remove gpus"
            yield ("resources", "gpus"), reason
        if accelerator is None or accelerator.kind != "tpu":
            reason = f"is {stated}" if stated else "missing"
            yield path, f"{reason}, but strategy tpu runs on TPUs; {remedy}"
        elif not accelerator.tensorflow:
            yield path, f"TensorFlow has no build for {accelerator.name}; {remedy}"
        if self.chips % self._of_each:
            reason = f"machines with {self._of_each} chips cannot form {self.topology}, which has {self.chips}"
            yield ("strategy", "perNode"), f"{reason}; set a number that divides them"
