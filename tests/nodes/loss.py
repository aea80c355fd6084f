"""One loss of the second node, at the drawn moment, and what others see of the runs while the former gangs go on.

The first node has the control plane, and is never lost.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from dataclasses import dataclass, field

from tests.nodes import busy
from tests.nodes.busy import GANG, SPREAD, Busy
from tests.nodes.drawn import Drawn
from tests.nodes.run import Run, go_on, pause, uids
from tests.nodes.ways import WAYS
from tests.support.nodes import RealNode
from tests.support.waiting import PATIENT_SECONDS, eventually

_ALONE_SECONDS = 5.0
"""How long a former gang goes on alone, unless it ends before. It passes no test: a longer time shows more."""


@dataclass
class Loss:
    """A loss, from the start of its runs to their end."""

    made: Busy
    drawn: Drawn
    number: int
    told: list[str] = field(default_factory=list)
    runs: dict[str, Run] = field(default_factory=dict)
    _began: float = field(default_factory=time.monotonic)
    _held: set[str] = field(default_factory=set)
    """Jobs whose chiefs are held."""
    _undo: Callable[[], None] | None = None

    def __post_init__(self) -> None:
        self.first, self.second = (RealNode(self.made.instance, number) for number in (1, 2))

    def __str__(self) -> str:
        return f"loss {self.number}: {self.drawn}: {'; '.join(self.told)}"

    def tell(self, words: str) -> None:
        """Note when something has happened."""
        self.told.append(f"{time.monotonic() - self._began:.0f} s {words}")

    def begin(self) -> None:
        """Start both runs, and wait until their chiefs are held: the drawn job's at the moment, the other's early."""
        for job in (GANG, SPREAD):
            at = f"{self.drawn.moment} {self._least()}" if job == self.drawn.job else "step 1"
            node = self.second.name
            on = {role: node if role in self.drawn.taken else self.first.name for role in busy.ROLES}
            if job == GANG:
                on["worker"] = node
            apart = job == GANG and self.drawn.apart
            self.runs[job] = self.made.begin(job, self.number, at, on, apart=apart)
        for run in self.runs.values():
            eventually(run.is_held, 2 * PATIENT_SECONDS, about=lambda run=run: (str(self), run.pods(), run.log()))  # type: ignore[misc]
        self._held = set(self.runs)
        self.tell(f"both are there, {self.drawn.job} at step {self.runs[self.drawn.job].step()}")

    def happen(self) -> None:
        """Lose the node, and wait for the ends of the runs, between which it may come back."""
        former = {job: uids(run.pods()) for job, run in self.runs.items()}
        there = {job: run.on(self.second) for job, run in self.runs.items()}
        writers = {job: run.writer for job, run in self.runs.items()}
        way, late = WAYS[self.drawn.way], self._late(there)
        self._undo = way.strike(self.second)
        self.tell(f"lost, with { ({job: len(pods) for job, pods in there.items()}) } pods")
        for job in self._held - late:
            self._go(job)
        if way.answers and not self.drawn.away:
            self.second.until(self.made.kube, ready=False)
            self.come_back()
        taken: list[str] = []
        waiting = {job for job in self.runs if there[job]}
        while waiting:
            for job in sorted(waiting):
                run = self.runs[job]
                if run.writer != writers[job]:
                    self.tell(f"{job} is taken over")
                    self._alone([job], former, lambda job=job: self._go(job))  # type: ignore[misc]
                    taken.append(job)
                    waiting.discard(job)
                elif run.ended():
                    self.tell(f"{job} ends")
                    waiting.discard(job)
            self._patient()
        if not self.drawn.away:
            self._alone(taken, former, self.come_back)
        for run in self.runs.values():
            eventually(run.ended, 2 * PATIENT_SECONDS, about=lambda run=run: (str(self), run.pods(), run.log()))  # type: ignore[misc]
        restarts = {job: run.job_set()["status"].get("restarts", 0) for job, run in self.runs.items()}
        self.tell(f"all have ended, with {restarts} restarts")
        # One that finds the run finished does not train.
        again = [job for job, count in restarts.items() if count and self.runs[job].step()]
        unfenced = [job for job in again if self.runs[job].writer == writers[job]]
        assert not unfenced, f"{self}: another gang has written where the former one did: {unfenced}"
        self._alone(taken, former, self.come_back)
        eventually(lambda: not self._processes(there), about=lambda: (str(self), self._processes(there)))
        self.second.until(self.made.kube, ready=True)
        self.tell("as before")

    def come_back(self) -> None:
        """Undo all that was done to the node, unless it is back."""
        for job in list(self._held):
            self._go(job)
        if self._undo:
            undo, self._undo = self._undo, None
            undo()
            self.tell("back")

    def end(self) -> None:
        """Leave nothing but what the runs have written."""
        self.come_back()
        for run in self.runs.values():
            run.go()
            run.delete()

    def _least(self) -> int:
        """The step from which on the moment may be. There are ten saves, of which the last is that of the end."""
        return int(0.9 * self.drawn.part * busy.STEPS[self.drawn.job]) if self.drawn.moment in ("step", "save") else 0

    def _late(self, there: dict[str, set[str]]) -> set[str]:
        """Jobs whose chief is on the node, and goes on late."""
        if not self.drawn.late:
            return set()
        chiefs = {job: run.chief() for job, run in self.runs.items()}
        return {job for job, chief in chiefs.items() if chief and chief["metadata"]["uid"] in there[job]}

    def _alone(self, jobs: Collection[str], former: dict[str, set[str]], act: Callable[[], None]) -> None:
        """What the former gangs do after an act, with the new ones paused, changes nothing that others see."""
        runs = [self.runs[job] for job in jobs]
        new = {run.job: uids(run.pods()) - former[run.job] for run in runs}
        paused = {pid for run in runs for pid in run.processes(new[run.job])}
        pause(paused)
        try:
            before = {run.job: run.observed() for run in runs}
            act()
            end = time.monotonic() + _ALONE_SECONDS
            while self._processes({job: former[job] for job in jobs}) and time.monotonic() < end:
                time.sleep(0.1)
            for run in runs:
                changed = _changed(before[run.job], run.observed())
                assert not changed, f"{self}: {run.name}: changed after its fence: {changed}"
        finally:
            go_on(paused)

    def _processes(self, of: dict[str, set[str]]) -> set[int]:
        return {pid for job, pods in of.items() for pid in self.runs[job].processes(pods)}

    def _go(self, job: str) -> None:
        self._held.discard(job)
        self.runs[job].go()

    def _patient(self) -> None:
        time.sleep(0.1)
        late = time.monotonic() - self._began > 4 * PATIENT_SECONDS
        assert not late, f"{self}: {[(run.pods(), run.log()) for run in self.runs.values()]}"


def _changed(before: dict[str, tuple[object, ...]], after: dict[str, tuple[object, ...]]) -> list[str]:
    return sorted(path for path in {**before, **after} if before.get(path) != after.get(path))
