"""Random jobs in all queues against a model of the rules: who is admitted, on which kind of machine, who is stopped."""

from __future__ import annotations

import random
import time

import pytest

from tensorplane.components.queues.capacity import PodSet
from tensorplane.core.errors import ApiError
from tensorplane.stack import StackConfig
from tests.queues.jobs import Jobs, ObservedJob, next_second
from tests.queues.model import Job, Model
from tests.queues.random_jobs import any_pods, as_rules_see, rules_of
from tests.support import counts
from tests.support.waiting import PATIENT_SECONDS

pytestmark = [pytest.mark.counted, pytest.mark.nightly("a minute for 20 jobs; test_preemption.py has one case")]
SEED = counts.seed()
JOBS = counts.of(quick=20, nightly=500)
MOST = 16
"""Jobs at a time."""
_TIDE = 6
_COMING = (("research", "research", "batch", "serving"), ("production", "production", "production", "research"))
"""Whose jobs come, by turns for so many jobs: those who borrow, then those who take back what is theirs."""
_SECONDS, _STILL = PATIENT_SECONDS, 0.6
"""How long Kueue may take, and how long it has to stay as it is. What it does later, the next step finds."""


class Trial:
    """Makes one random change after the other, in the cluster and in the model."""

    def __init__(self, jobs: Jobs, settings: StackConfig) -> None:
        self.real, self.settings = jobs, settings
        self.chance = random.Random(SEED)
        self.model = Model(rules_of(settings))
        self.spaces: dict[str, str] = {}
        self.counts: dict[str, int] = {}
        """The jobs' namespaces, and how many simulated pods each has."""
        self.history: list[str] = []
        self.made = 0

    def step(self) -> None:
        """A job comes, or one ends, and all are where the rules say."""
        there = len(self.model.jobs)
        waited = {job.name for job in self.model.jobs.values() if not job.given}
        if self.made < JOBS and (not there or (there < MOST and self.chance.random() < 0.8)):
            self._create()
        else:
            self._end()
        self.agree(waited)
        self._landed()

    def _create(self) -> None:
        queue = self.chance.choice(_COMING[self.made // _TIDE % 2])
        space = self.chance.choice([self.real.stack, *self.settings.queues[queue].teams])
        pods = any_pods(self.chance, queue)
        name = f"job-{self.made}"
        self.made += 1
        self.history.append(f"{name} in {queue} of {space}: {', '.join(map(_text, pods))}")
        next_second()
        self.real.create(name, queue, pods, namespace=space)
        self.spaces[name] = space
        self.counts[name] = sum(each.count for each in pods if each.resources.gpus)
        self.model.create(Job(name, queue, self.made, tuple(map(as_rules_see, pods))))

    def _end(self) -> None:
        name = self.chance.choice(sorted(self.model.jobs))
        count = self.counts[name]
        how = "done" if self.chance.random() < 0.5 and self.real.finish(name, count) else "deleted"
        self.history.append(f"{name} {how}")
        if how == "deleted":
            self.real.delete(name, self.spaces[name])
        self.model.end(name)

    def agree(self, waited: set[str]) -> None:
        """Waits until Kueue is where the model is, and stays there.

        Kueue puts those who wait back into their queues one after the other: one that `waited` may be admitted, and
        preempted once for a job that came back a moment later.
        """
        end, since = time.monotonic() + _SECONDS, 0.0
        while True:
            seen = self._observed()
            same = seen.keys() == self.model.jobs.keys() and all(
                each.given == self.model.jobs[name].given
                and 0 <= each.evictions - self.model.jobs[name].evictions <= (name in waited)
                for name, each in seen.items()
            )
            if not same or any(each.moving for each in seen.values()):
                since = 0
            elif not since:
                since = time.monotonic()
            elif time.monotonic() - since > _STILL:
                break
            assert time.monotonic() < end, self._divergence(seen)
            time.sleep(0.15)
        for name, each in seen.items():
            job = self.model.jobs[name]
            job.since, job.evictions = each.since, each.evictions

    def _observed(self) -> dict[str, ObservedJob]:
        try:
            return self.real.observed()
        except ApiError:
            return {}

    def _divergence(self, seen: dict[str, ObservedJob]) -> str:
        lines = [f"seed {SEED}", *self.history, "job: by the rules / in the cluster"]
        for name in sorted({*seen, *self.model.jobs}):
            job, found = self.model.jobs.get(name), seen.get(name)
            told = f"{job.given} {job.evictions}" if job else "gone"
            lines.append(f"{name}: {told} / {f'{found.given} {found.evictions} {found.moving}' if found else 'gone'}")
        return "\n".join(lines)

    def _landed(self) -> None:
        """Every pod is on a card that its queue may use, and that it asked for."""
        for name, role, kind in self.real.landed():
            if job := self.model.jobs.get(name):
                [pods] = [each for each in job.pods if each.role == role]
                allowed = pods.kinds & set(self.model.rules[job.queue].kinds)
                assert kind in allowed, f"{name}'s {role} on {kind}\n" + "\n".join(self.history)


def _text(pods: PodSet) -> str:
    asked = pods.resources
    return f"{pods.count} {pods.role} of {asked.gpus} {asked.accelerator or 'any'}"


def test_kueue_admits_and_stops_whom_the_rules_say(queues: Jobs, settings: StackConfig) -> None:
    trial = Trial(queues, settings)
    while trial.made < JOBS or trial.model.jobs:
        trial.step()
    assert trial.made == JOBS
