"""Many jobs at once against one quota: it holds at every revision of the cluster."""

from __future__ import annotations

import random
from collections import Counter
from concurrent.futures import Future, ThreadPoolExecutor

import pytest

from tensorplane.components.queues.settings import QueueArgs
from tests.queues.jobs import Jobs, owner, workers
from tests.support import counts
from tests.support.waiting import PATIENT_SECONDS

pytestmark = [pytest.mark.counted, pytest.mark.nightly("dozens of jobs at once")]
SEED = counts.seed()
CREATES = counts.of(quick=40, nightly=500)
QUOTA = {"t4": 16, "a100-80gb": 16, "h100-80gb": 32}
SIZES = [(1, 1), (1, 4), (2, 2), (2, 4), (4, 2)]
"""Pods, and the GPUs of each."""
_AT_ONCE = 16
_SECONDS = CREATES * PATIENT_SECONDS


def test_never_more_than_the_quota_is_admitted_at_any_revision(queues: Jobs) -> None:
    chance = random.Random(SEED)
    sizes = {f"flood-{number}": chance.choice(SIZES) for number in range(CREATES)}

    def create(name: str) -> None:
        count, gpus = sizes[name]
        queues.create(name, "flood", [workers(count, gpus)], priority="batch")

    held: dict[str, Counter[str]] = {}
    done: set[str] = set()
    most = 0
    first, *rest = sizes
    creating: list[Future[None]] = []
    ending: list[Future[None]] = []
    holding: set[str] = set()
    ended: set[str] = set()
    with queues.queues({"flood": QueueArgs(gpus=QUOTA, cohort="none")}), ThreadPoolExecutor(_AT_ONCE) as threads:
        create(first)
        for event, workload in queues.history(_SECONDS):
            if event == "GAP":
                held.clear()
                continue
            creating = creating or [threads.submit(create, name) for name in rest]
            about = workload["metadata"]
            name, version, job = about["name"], about["resourceVersion"], owner(workload)
            over = event == "DELETED" or "deletionTimestamp" in about
            held[name] = Counter() if over else queues.held(workload)
            if over:
                done.add(name)
            total = sum(held.values(), Counter[str]())
            assert all(total[kind] <= most_of for kind, most_of in QUOTA.items()), f"seed {SEED}, {version}: {total}"
            most = max(most, total.total())
            if held[name]:
                holding.add(job)
            # However slowly they come, none ends before most of the quota is in use: until then nothing was at stake.
            if most > sum(QUOTA.values()) / 2:
                ending += [threads.submit(queues.delete, each) for each in holding - ended]
                ended |= holding
            if len(done) == CREATES:
                break
        for each in creating + ending:
            each.result()
    assert len(done) == CREATES
