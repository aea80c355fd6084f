"""How a training job is distributed over processes: each strategy states its roles, and one builder creates the job."""

from collections.abc import Iterator, Sequence
from typing import Any

from tensorplane.components.base.family import Variant, load_family
from tensorplane.components.base.location import Key
from tensorplane.components.base.model import Resources
from tensorplane.workloads.training_job.auxiliary import DataService, Evaluator
from tensorplane.workloads.training_job.role import Role


class Strategy(Variant, family=True):
    """A strategy of `tf.distribute`, as the pods that it requires."""

    kind: str
    evaluator: Evaluator | None = None
    """A pod that evaluates checkpoints while the job trains. It requires `checkpoints`."""
    data_service: DataService | None = None
    """Pods that run the input pipeline for the training pods. They require a Python command."""

    def roles(self, resources: Resources) -> Sequence[Role]:
        """The pods of the job, by role. `resources` are those of the training pods."""
        raise NotImplementedError

    def problems(self, resources: Resources) -> Iterator[tuple[Key, str]]:
        """What cannot work with these resources of the training pods: the path below the job's, and why."""
        yield from ()

    def decisive(self) -> dict[str, Any]:
        """Settings other than `kind` that decide the result, and so identify the run. Those that are not set must not
        change the name of a deployed run: their values are empty."""
        return {}


load_family(__name__, __path__)
