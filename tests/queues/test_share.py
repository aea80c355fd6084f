"""Guaranteed GPUs that another queue holds come back to a job within the cores that come with them."""

from __future__ import annotations

from tensorplane.cli.commands.why import command as why
from tensorplane.components.base.model import Resources
from tensorplane.components.queues.capacity import PodSet
from tensorplane.components.queues.settings import QueueArgs
from tests.queues.jobs import Jobs
from tests.queues.placed import T4
from tests.support.waiting import eventually

# Of the fleet's sixteen, in a cohort of their own. Its nodes have four T4 and sixteen cores.
_QUEUES = {name: QueueArgs(gpus={T4: 2}, may_borrow={T4: 2}, cohort="pair") for name in ("first", "other")}
_CLASS = "batch"
"""The queue whose priority class these queues' jobs have."""


def _two(cpus: float) -> list[PodSet]:
    """A pod with two T4."""
    resources = Resources(cpus=cpus, memory_gib=2, gpus=2, accelerator=T4)
    return [PodSet("worker", 1, resources, together=False, interruptible=True)]


def test_a_job_gets_its_guaranteed_gpus_back_with_the_cores_that_come_with_them(queues: Jobs) -> None:
    with queues.queues(_QUEUES):
        for number in range(2):
            queues.admitted(f"held-{number}", "other", _two(8), priority=_CLASS)
        # The checks refuse it in settings and in `run`; a JobSet is taken.
        queues.create("large", "first", _two(12), priority=_CLASS)
        excess = "with this job it would hold 12 CPUs, 8 of them guaranteed: Kueue preempts no jobs for it"
        eventually(lambda: excess in " ".join(why.ask(queues.kube, queues.stack, "large", {}).after))
        queues.admitted("within", "first", _two(8), priority=_CLASS)
        assert not queues.holds_quota("large")
        assert sorted(queues.holds_quota(f"held-{number}") for number in range(2)) == [False, True]


# LOOK
