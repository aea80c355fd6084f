"""What a queue could ever admit: the checks before anything is touched, and the rules that are tried on real Kueue."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence

import pytest

from tensorplane.components.queues.capacity import PodSet
from tensorplane.components.queues.settings import Priority, QueueArgs
from tensorplane.stack import ResolvedStack, StackConfig
from tensorplane.workloads.training_job import queueing
from tensorplane.workloads.training_job.settings import Checkpoints
from tests.queues.jobs import workers
from tests.queues.model import Job, Model
from tests.queues.random_jobs import any_pods, as_rules_see, rules_of, settings_of_fleet
from tests.support import counts

_JOBS = counts.of(quick=60, nightly=5000)


def _agree(config: StackConfig, queue: str, pods: Sequence[PodSet]) -> bool:
    """Whether the job is admitted where nothing else is; what is checked beforehand says the same."""
    model = Model(rules_of(config))
    model.create(Job("alone", queue, 0, tuple(map(as_rules_see, pods))))
    admitted = bool(model.jobs["alone"].given)
    checkpoints = Checkpoints(volume="models", every_steps=100, save_seconds=20)
    capacities = ResolvedStack.of(config).capacities
    refused = list(queueing.check(("workloads", "alone"), capacities[queue], pods, checkpoints, 60))
    assert admitted is not bool(refused), f"{queue}, {pods}, {model.jobs}, {refused}"
    return admitted


@pytest.mark.counted
def test_what_is_refused_is_what_an_idle_cluster_would_never_admit() -> None:
    config = settings_of_fleet()
    chance, seen = random.Random(counts.seed()), Counter[bool]()
    for _ in range(_JOBS):
        queue = chance.choice(list(config.queues))
        seen[_agree(config, queue, any_pods(chance, queue))] += 1
    assert min(seen.values()) > _JOBS / 10


@pytest.mark.parametrize(("priority", "admitted"), [("high", False), ("normal", True)])
def test_pods_that_may_run_anywhere_take_the_place_of_those_that_may_not(priority: Priority, admitted: bool) -> None:
    """High priority takes the newest card, borrowed or not; the rest begins with what is its own."""
    queues = {
        "owner": QueueArgs(gpus={"h100-80gb": 8}),
        "other": QueueArgs(priority=priority, gpus={"t4": 8}, may_borrow={"h100-80gb": 8}),
    }
    config = settings_of_fleet().model_copy(update={"queues": queues})
    pods = [workers(2, 4), workers(1, 4, card="h100-80gb", role="evaluator")]
    assert _agree(config, "other", pods) is admitted
