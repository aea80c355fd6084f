"""Gangs that each need most of the fleet, at random times: each runs whole or not at all, in turn.

`make test` has a few rounds. The nightly run has TENSORPLANE_ROUNDS, with up to TENSORPLANE_GANGS gangs.
"""

from __future__ import annotations

import os
import random
import time
from concurrent.futures import ThreadPoolExecutor

from components.queues import QueueArgs
from tests.queues.jobs import Jobs, is_so, workers
from tests.support.waiting import eventually

SEED = int(os.environ.get("TENSORPLANE_SEED", "0"))
ROUNDS = int(os.environ.get("TENSORPLANE_ROUNDS", "2"))
GANGS = int(os.environ.get("TENSORPLANE_GANGS", "6"))
"""At most in a round, and 2 at least."""
GANG = {"t4": 2, "a100-80gb": 3, "h100-80gb": 5}
"""Pods of 4 GPUs on each card: 40 of 64, and of no card so few that two gangs would fit."""
HALF = {"t4": 8, "a100-80gb": 8, "h100-80gb": 16}
TWO = {side: QueueArgs(gpus=HALF, may_borrow=HALF) for side in ("left", "right")}
"""Each has half of the fleet, and every gang needs a part of the other half."""
PODS = sum(GANG.values())
_PARTLY_SECONDS, _SECONDS = 120, 60


class Round:
    """What is seen of the gangs of one round."""

    def __init__(self, jobs: Jobs, names: list[str]) -> None:
        self.jobs, self.names = jobs, names
        self.line: list[str] = []
        """Who came and who started, in the order in which they did."""
        self._partly: dict[str, float] = {}

    def watch(self) -> None:
        """Until all are done; fails where a gang runs in part for long, or none of them moves on."""
        started: set[str] = set()
        done: set[str] = set()
        for event, workload in self.jobs.history(_SECONDS * len(self.names)):
            name = workload["metadata"]["ownerReferences"][0]["name"]
            if f"+{name}" not in self.line:
                self.line.append(f"+{name}")
            if is_so(workload, "Admitted") and name not in started:
                started.add(name)
                self.line.append(name)
            assert not is_so(workload, "Evicted"), name
            if event != "DELETED" and is_so(workload, "Finished"):
                done.add(name)
            self._check_whole()
            if done == set(self.names):
                return
        raise AssertionError(f"seed {SEED}: {self.line}, done {sorted(done)}")

    def _check_whole(self) -> None:
        running = self.jobs.running()
        for name in self.names:
            if running.get(name, 0) in (0, PODS):
                self._partly.pop(name, None)
            since = self._partly.setdefault(name, time.monotonic()) if 0 < running.get(name, 0) < PODS else None
            assert since is None or time.monotonic() - since < _PARTLY_SECONDS, f"seed {SEED}: {name} runs in part"

    def turns(self, name: str) -> tuple[int, int]:
        """The most that were in line while this one was, each of which may have one turn, and how many turns it took.

        Kueue knows the second in which a job came, no more, and who comes just as one ends may be taken before the rest
        is asked: so the line has no exact order.
        """
        came, began = self.line.index(f"+{name}"), self.line.index(name)
        in_line = [
            sum(1 if each.startswith("+") else -1 for each in self.line[: upto + 1]) for upto in range(came, began)
        ]
        return max(in_line), sum(not each.startswith("+") for each in self.line[came : began + 1])


def test_gangs_run_whole_and_in_turn(queues: Jobs) -> None:
    chance = random.Random(SEED)
    with queues.queues(TWO):
        for number in range(ROUNDS):
            names = [f"gang-{number}-{each}" for each in range(chance.randint(2, GANGS))]
            seen = Round(queues, names)
            with ThreadPoolExecutor(1) as coming:
                arrivals = coming.submit(_come, queues, names, random.Random(chance.random()))
                seen.watch()
                arrivals.result()
            for name in names:
                in_line, turns = seen.turns(name)
                assert turns <= 2 * in_line, f"seed {SEED}: {name} took {turns} turns of {in_line}: {seen.line}"
            queues.clear()
            eventually(queues.are_gone)


def _come(queues: Jobs, names: list[str], chance: random.Random) -> None:
    pods = [workers(count, 4, card=card, role=f"on-{card}") for card, count in GANG.items()]
    for name in names:
        time.sleep(chance.choice([0, 0, 0.3, 2]))
        queues.create(name, chance.choice(list(TWO)), pods, priority="batch", takes="1500ms")
