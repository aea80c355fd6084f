"""The roles of an evaluator and of tf.data service, for any strategy."""

from collections.abc import Iterator

from tensorplane.components.base.model import Resources
from tensorplane.workloads.training_job.auxiliary import DataService, Evaluator
from tensorplane.workloads.training_job.role import Program, Role

EVALUATOR = "evaluator"
"""The task type in TF_CONFIG."""
DATA_SERVICE = "data-service"
"""Name of the port of tf.data service."""
_DISPATCHER_PORT, _DATA_PORT = 5050, 5051


def of(evaluator: Evaluator | None, data_service: DataService | None, *, resumes: bool) -> Iterator[Role]:
    """The roles that the settings add. `resumes`: whether the job has checkpoints, and so a folder of its run."""
    if evaluator:
        yield Role(
            EVALUATOR,
            1,
            evaluator.resources,
            restart="pod",
            required_for_success=False,
            command=evaluator.command,
            at=("strategy", "evaluator", "resources"),
        )
    if data_service:
        at, each = ("strategy", "dataService", "resources"), data_service.resources
        yield Role(
            "dispatcher",
            1,
            Resources(cpus=0.5, memory_gib=1, node_group=each.node_group),
            {DATA_SERVICE: _DISPATCHER_PORT},
            # Without its journal, a new dispatcher does not know what its clients read.
            restart="pod" if resumes else "gang",
            required_for_success=False,
            program=Program.DISPATCHER,
            at=at,
        )
        yield Role(
            "data-worker",
            data_service.workers,
            each,
            {DATA_SERVICE: _DATA_PORT},
            restart="pod",
            required_for_success=False,
            program=Program.DATA_WORKER,
            at=at,
            count_at=("strategy", "dataService", "workers"),
        )
