"""Gangs that each need most of the fleet, at random times: each runs whole or not at all, and none is left waiting."""

from __future__ import annotations

import random
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest

from tensorplane.components import versions
from tensorplane.components.queues.settings import QueueArgs
from tests.queues.jobs import JOB_SET, Jobs, Object, is_so, next_second, owner, workers
from tests.support import counts
from tests.support.waiting import PATIENT_SECONDS, eventually

SEED = counts.seed()
ROUNDS = counts.of(quick=2, nightly=200)
GANGS = 20 if counts.shard() else 6
"""At most in a round, and 2 at least."""
FLEET = {"t4": 16, "a100-80gb": 16, "h100-80gb": 32}
GANG = {"t4": 2, "a100-80gb": 3, "h100-80gb": 5}
"""Pods of 4 GPUs on each card: 40 of 64, and of the newer ones so many that no two gangs fit."""
PODS = [workers(count, 4, card=card, role=f"on-{card}") for card, count in GANG.items()]
HALF = {card: gpus // 2 for card, gpus in FLEET.items()}
TWO = {side: QueueArgs(gpus=HALF, may_borrow=HALF, cohort="gangs") for side in ("left", "right")}
"""Each has half of the fleet, and every gang needs a part of the other half; nobody else lends to them."""


def _watch(queues: Jobs, names: list[str]) -> None:
    """Until all are done; fails where two hold what only one can run with, or one loses what it holds."""
    latest: dict[str, Object] = {}
    line: list[str] = []
    for event, workload in queues.history(PATIENT_SECONDS * len(names)):
        if event == "GAP":
            latest.clear()
            continue
        name = owner(workload)
        latest[name] = workload
        if is_so(workload, "Admitted") and name not in line:
            line.append(name)
        assert not is_so(workload, "Evicted"), f"seed {SEED}: {name} of {line}"
        # A gang that has quota has all of it: two at once would be a gang without nodes.
        total = sum(map(queues.held, latest.values()), Counter[str]())
        assert all(total[card] <= most for card, most in FLEET.items()), f"seed {SEED}: {total} of {line}"
        if latest.keys() == set(names) and all(is_so(each, "Finished") for each in latest.values()):
            return
    raise AssertionError(f"seed {SEED}: {line} of {names}")


def _ran_whole(queues: Jobs, name: str) -> bool:
    status = queues.api.get(JOB_SET, name, queues.stack).get("status", {})
    done = {each["name"]: each["succeeded"] for each in status.get("replicatedJobsStatus", [])}
    return done == {pods.role: 1 for pods in PODS}


def _come(queues: Jobs, names: list[str], chance: random.Random) -> None:
    for name in names:
        time.sleep(chance.choice([0, 0, 0.3, 2]))
        queues.create(name, chance.choice(list(TWO)), PODS, priority="batch", takes="1500ms")


@pytest.mark.counted
@pytest.mark.nightly("a minute for two rounds")
def test_gangs_run_whole_and_none_is_left_waiting(queues: Jobs) -> None:
    chance = random.Random(SEED)
    with queues.queues(TWO):
        for number in range(ROUNDS):
            names = [f"gang-{number}-{each}" for each in range(chance.randint(2, GANGS))]
            with ThreadPoolExecutor(1) as coming:
                arrivals = coming.submit(_come, queues, names, random.Random(chance.random()))
                _watch(queues, names)
                arrivals.result()
            eventually(lambda: all(_ran_whole(queues, name) for name in names))  # noqa: B023
            queues.clear()
            eventually(queues.are_gone)


def _line(queues: Jobs, name: str) -> list[Object]:
    """Who waits in a queue of the stack's namespace, as Kueue tells."""
    api = f"/apis/{versions.KUEUE_VISIBILITY_API}"
    return queues.kube.items(f"{api}/namespaces/{queues.stack}/localqueues/{name}/pendingworkloads")


@pytest.mark.nightly("three gangs; the order is Kueue's own")
def test_who_has_waited_longer_starts_first(queues: Jobs) -> None:
    with queues.queues(TWO):
        queues.admitted("holds", "left", PODS, priority="batch")
        for name in ("second", "third"):
            next_second()
            queues.create(name, "left", PODS, priority="batch")
        eventually(lambda: len(_line(queues, "left")) == 2)
        queues.delete("holds")
        eventually(lambda: queues.holds_quota("second") or queues.holds_quota("third"))
        assert not queues.holds_quota("third")
