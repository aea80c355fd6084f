"""Many jobs at once against one quota: it holds at every revision of the cluster.

`make test` creates a few. The nightly run creates TENSORPLANE_CREATES.
"""

from __future__ import annotations

import os
import random
from collections import Counter
from concurrent.futures import Future, ThreadPoolExecutor

from components.queue import QueueArgs
from tests.queues.jobs import Jobs, is_so, workers

SEED = int(os.environ.get("TENSORPLANE_SEED", "0"))
CREATES = int(os.environ.get("TENSORPLANE_CREATES", "40"))
QUOTA = {"t4": 16, "a100-80gb": 16, "h100-80gb": 32}
SIZES = [(1, 1), (1, 4), (2, 2), (2, 4), (4, 2)]
"""Pods, and the GPUs of each."""
_AT_ONCE = 16
_SECONDS = 120 + 3 * CREATES


def test_never_more_than_the_quota_is_admitted_at_any_revision(queues: Jobs) -> None:
    chance = random.Random(SEED)
    sizes = {f"flood-{number}": chance.choice(SIZES) for number in range(CREATES)}

    def create(name: str) -> None:
        count, gpus = sizes[name]
        queues.create(name, "flood", [workers(count, gpus)], priority="batch", takes="3s")

    held: dict[str, Counter[str]] = {}
    done: set[str] = set()
    most = 0
    first, *rest = sizes
    creating: list[Future[None]] = []
    with queues.queues({"flood": QueueArgs(gpus=QUOTA, cohort="none")}), ThreadPoolExecutor(_AT_ONCE) as threads:
        create(first)
        for event, workload in queues.history(_SECONDS):
            creating = creating or [threads.submit(create, name) for name in rest]
            name, version = (workload["metadata"][key] for key in ("name", "resourceVersion"))
            over = event == "DELETED" or is_so(workload, "Finished")
            held[name] = Counter() if over else queues.held(workload)
            if over:
                done.add(name)
            total = sum(held.values(), Counter[str]())
            assert all(total[kind] <= most_of for kind, most_of in QUOTA.items()), f"seed {SEED}, {version}: {total}"
            most = max(most, total.total())
            if len(done) == CREATES:
                break
        for each in creating:
            each.result()
    assert len(done) == CREATES
    # It was worth watching: nearly all was in use at once.
    assert most > sum(QUOTA.values()) - 8
