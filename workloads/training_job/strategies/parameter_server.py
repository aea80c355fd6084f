"""`tf.distribute.ParameterServerStrategy`: servers hold the variables, workers compute steps independently."""

from collections.abc import Iterator, Sequence
from typing import Annotated, Any, Literal

from pydantic import Field

from tensorplane.components.base.location import Key
from tensorplane.components.base.model import Resources
from tensorplane.workloads.training_job.role import TENSORFLOW, TENSORFLOW_PORT, Program, Role
from tensorplane.workloads.training_job.strategies import Strategy


class ParameterServer(Strategy):
    """Workers that compute steps without waiting for each other, on variables that parameter servers hold.

    Use it if workers are slow or lost at different times, or if the variables exceed the memory of one machine. With
    mode `coordinator`, the command runs in the chief; workers and servers run a program of tensorplane's library. A
    lost worker is replaced while the others continue; the loss of the chief or of a server restarts the job from its
    last checkpoint.
    """

    kind: Literal["parameterServer"] = "parameterServer"

    workers: Annotated[int, Field(ge=1, le=1000)] = 2
    """Number of worker pods, with the job's `resources`."""

    servers: Annotated[int, Field(ge=1, le=1000)] = 1
    """Number of parameter servers. Variables are divided among them."""

    mode: Literal["coordinator", "betweenGraph"] = "coordinator"
    """`coordinator`: TensorFlow 2's `ClusterCoordinator`, as in `tensorplane.parameter_server`. `betweenGraph`: the
    command runs in each worker and server, as older programs expect that start a `tf.distribute.Server` themselves;
    the job ends when all workers have succeeded."""

    chief: Resources = Resources()
    """Resources of the pod that runs the command, with mode `coordinator`. It computes no steps."""

    server_resources: Resources = Resources()
    """Resources of each parameter server. Together, their memory holds the variables and those of the optimizer: with
    Adam, three times the model's."""

    def roles(self, resources: Resources) -> Sequence[Role]:
        ports, program = {TENSORFLOW: TENSORFLOW_PORT}, Program.SERVER if self.mode == "coordinator" else None
        worker = Role(
            "worker",
            self.workers,
            resources,
            ports,
            restart="pod",
            required_for_success=program is None,
            program=program,
        )
        server = Role(
            "ps",
            self.servers,
            self.server_resources,
            ports,
            required_for_success=False,
            program=program,
            at=("strategy", "serverResources"),
            count_at=("strategy", "servers"),
        )
        if program is None:
            return [worker, server]
        chief = Role("chief", 1, self.chief, ports, at=("strategy", "chief"), count_at=("strategy",))
        return [chief, worker, server]

    def problems(self, resources: Resources) -> Iterator[tuple[Key, str]]:
        if resources.gpus > 1:
            reason = f"is {resources.gpus}, but a worker of strategy parameterServer uses one GPU"
            yield ("resources", "gpus"), f"{reason}; set gpus: 1 and more strategy.workers"
        if self.server_resources.gpus:
            reason = f"is {self.server_resources.gpus}, but parameter servers compute on CPUs"
            yield ("strategy", "serverResources", "gpus"), f"{reason}; remove it"
        if self.chief.gpus:
            yield ("strategy", "chief", "gpus"), f"is {self.chief.gpus}, but the chief computes no steps; remove it"
        if self.mode == "betweenGraph" and "chief" in self.model_fields_set:
            yield ("strategy", "chief"), "mode betweenGraph has no chief pod, its first worker is the chief; remove it"

    def decisive(self) -> dict[str, Any]:
        return {"mode": self.mode} if self.mode != "coordinator" else {}
