"""The rules of the queues in Python: who is admitted to which kind of machine, who waits, and who has to give back.

What users are promised, and no more: quotas of whole cards (or of processor time where there are none), one cohort.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from tensorplane.components.queues.settings import ALONE, PRIORITIES, QueueArgs

CPU = "cpu"
"""The kind of machine without GPUs; its amounts are thousandths of a core."""
_FITS, _TAKES_BACK, _MIGHT, _NEVER = 3, 2, 1, 0
"""How well a kind of machine does: at once, with victims, some day, not in this queue."""


@dataclass(frozen=True)
class Rules:
    """What one queue may do."""

    name: str
    priority: int
    kinds: tuple[str, ...]
    """In the order in which it takes them."""
    own: Mapping[str, int]
    borrows: Mapping[str, int]
    lends: Mapping[str, int]
    """At most; all of its own where nothing is said."""
    alone: bool
    strict: bool
    looks_on: bool
    """Whether it looks at every kind for one that is free, and its own, before it borrows or takes back."""

    @classmethod
    def of(cls, name: str, args: QueueArgs, oldest_first: Sequence[str]) -> Rules:
        """The rules that settings come to."""
        own = {**args.gpus, CPU: round(args.cpus * 1000)}
        cards = [kind for kind in oldest_first if own.get(kind) or args.may_borrow.get(kind)]
        return cls(
            name,
            PRIORITIES[args.priority],
            (*([CPU] if own[CPU] else []), *(reversed(cards) if args.priority == "high" else cards)),
            own,
            args.may_borrow,
            args.lends,
            alone=args.cohort == ALONE,
            strict=args.order == "strict",
            looks_on=args.priority != "high",
        )


@dataclass(frozen=True)
class Pods:
    """Equal pods of a job, which run on one kind of machine together."""

    role: str
    amount: int
    """All of them together."""
    kinds: frozenset[str]
    """Those that would take one of them."""


@dataclass
class Job:
    """A job, and what became of it."""

    name: str
    queue: str
    created: int
    pods: tuple[Pods, ...]
    given: dict[str, str] = field(default_factory=dict)
    """The kind of machine of each role; empty while it waits."""
    evictions: int = 0
    since: tuple[float, str] = (math.inf, "")
    """When it was last admitted, and what decides between such as were admitted in the same second."""

    def holds(self, kind: str) -> int:
        """How much it holds of a kind."""
        return sum(pods.amount for pods in self.pods if self.given.get(pods.role) == kind)


@dataclass(frozen=True)
class _Plan:
    job: Job
    given: dict[str, str]
    amounts: Counter[str]
    borrows: bool
    victims: tuple[Job, ...]


class Model:
    """The jobs of all queues. Each change ends with nobody left who could be admitted."""

    def __init__(self, rules: Iterable[Rules]) -> None:
        self.rules = {each.name: each for each in rules}
        self.jobs: dict[str, Job] = {}
        self._leaving: list[Job] = []
        """Those that are being stopped, and still hold what they have."""
        self._without: list[Job] = []
        """Those that are thought away."""
        self._promised: list[tuple[str, Counter[str]]] = []
        """What those will get in whose favour others are being stopped, by their queues."""

    def create(self, job: Job) -> None:
        """A job comes."""
        self.jobs[job.name] = job
        # Who waits in a strict queue stays at its head; elsewhere, who was asked in vain is asked when something ends.
        self._settle([each for each in self._waiting() if each is job or self.rules[each.queue].strict])

    def end(self, name: str) -> None:
        """A job is done, or taken away."""
        del self.jobs[name]
        self._settle(self._waiting())

    def _waiting(self) -> list[Job]:
        return [job for job in self.jobs.values() if not job.given]

    def _settle(self, coming: Iterable[Job]) -> None:
        line = list(coming)
        stuck: set[str] = set()
        freed = False
        while True:
            before = len(line), len(self._leaving), len(stuck)
            self._round(line, stuck)
            if (len(line), len(self._leaving), len(stuck)) != before:
                continue
            if self._leaving:
                # The stopped ones line up again at once; who waited before is asked a little later.
                for job in self._leaving:
                    job.given = {}
                line += self._leaving
                self._leaving, freed = [], True
            elif freed:
                line, freed = self._waiting(), False
                stuck.clear()
            else:
                return

    def _round(self, line: list[Job], stuck: set[str]) -> None:
        """The first of each queue, together: who borrows nothing comes before who does, then priority, then age."""
        plans = []
        for queue, rules in self.rules.items():
            ours = [job for job in line if job.queue == queue]
            if not ours:
                continue
            head = min(ours, key=lambda job: job.created)
            plan = None if head.name in stuck else self._plan(head)
            if plan:
                plans.append(plan)
            elif rules.strict:
                stuck.add(head.name)
            else:
                line.remove(head)
        plans.sort(key=lambda plan: (plan.borrows, -self.rules[plan.job.queue].priority, plan.job.created))
        self._carry_out(plans, line)

    def _carry_out(self, plans: Sequence[_Plan], line: list[Job]) -> None:
        """One after the other, unless an earlier one has taken what it needs."""
        taken: list[Job] = []
        for plan in plans:
            if any(victim in taken for victim in plan.victims):
                continue
            with_victims = [*taken, *plan.victims]
            if not self._fits(plan.job.queue, plan.amounts, with_victims):
                continue
            taken += plan.victims
            if plan.victims:
                self._promised.append((plan.job.queue, plan.amounts))
                self._stop(plan.victims)
            else:
                plan.job.given, plan.job.since = plan.given, (math.inf, "")
                line.remove(plan.job)
        self._promised.clear()

    def _stop(self, victims: Iterable[Job]) -> None:
        for job in victims:
            if job not in self._leaving:
                self._leaving.append(job)
                job.evictions += 1

    def _plan(self, job: Job) -> _Plan | None:
        """The kind of machine for each role, and who has to go for it; None where the job has to wait."""
        amounts: Counter[str] = Counter()
        given: dict[str, str] = {}
        scarce: set[str] = set()
        borrows = False
        for pods in job.pods:
            found = self._choose(job.queue, pods, amounts)
            if found is None:
                return None
            how_well, borrowing, kind = found
            given[pods.role] = kind
            amounts[kind] += pods.amount
            borrows |= borrowing
            if how_well != _FITS:
                scarce.add(kind)
        victims = self._victims(job.queue, amounts, scarce) if scarce else ()
        if scarce and not victims:
            return None
        return _Plan(job, given, amounts, borrows, victims)

    def _choose(self, queue: str, pods: Pods, before: Mapping[str, int]) -> tuple[int, bool, str] | None:
        rules = self.rules[queue]
        best: tuple[int, bool, str] | None = None
        for kind in rules.kinds:
            if kind not in pods.kinds:
                continue
            how_well, borrows = self._how_well(queue, kind, before.get(kind, 0) + pods.amount)
            if how_well == _NEVER:
                continue
            if how_well == _FITS and not borrows:
                return how_well, borrows, kind
            if how_well != _MIGHT and not rules.looks_on:
                return how_well, borrows, kind
            if best is None or (how_well, not borrows) > (best[0], not best[1]):
                best = how_well, borrows, kind
        return best

    def _how_well(self, queue: str, kind: str, amount: int) -> tuple[int, bool]:
        rules = self.rules[queue]
        own = rules.own.get(kind, 0)
        borrows = not rules.alone and self._held(queue, kind) + amount > own
        if amount > self._most(queue, kind):
            return _NEVER, borrows
        if amount <= self._free(queue, kind):
            return _FITS, borrows
        if amount > own:
            return _NEVER, borrows
        return (_TAKES_BACK, False) if self._victims(queue, {kind: amount}, {kind}) else (_MIGHT, borrows)

    # -- quotas

    def _held(self, queue: str, kind: str) -> int:
        jobs = sum(job.holds(kind) for job in self.jobs.values() if job.queue == queue and job not in self._without)
        return jobs + sum(amounts[kind] for owner, amounts in self._promised if owner == queue)

    def _kept(self, rules: Rules, kind: str) -> int:
        """What it never lends."""
        own = rules.own.get(kind, 0)
        return max(0, own - rules.lends.get(kind, own))

    def _cohort(self) -> Iterator[Rules]:
        yield from (each for each in self.rules.values() if not each.alone)

    def _most(self, queue: str, kind: str) -> int:
        """What it could hold if nobody else held anything."""
        rules = self.rules[queue]
        own = rules.own.get(kind, 0)
        if rules.alone:
            return own
        shared = sum(each.own.get(kind, 0) - self._kept(each, kind) for each in self._cohort())
        return min(own + rules.borrows.get(kind, 0), self._kept(rules, kind) + shared)

    def _free(self, queue: str, kind: str) -> int:
        """What it could get now."""
        rules, held = self.rules[queue], self._held(queue, kind)
        own = rules.own.get(kind, 0)
        if rules.alone:
            return own - held
        shared = sum(
            each.own.get(kind, 0)
            - self._kept(each, kind)
            - max(0, self._held(each.name, kind) - self._kept(each, kind))
            for each in self._cohort()
        )
        kept = self._kept(rules, kind)
        allowed = own - kept - max(0, held - kept) + rules.borrows.get(kind, 0)
        return max(0, kept - held) + min(allowed, shared)

    def _fits(self, queue: str, amounts: Mapping[str, int], without: Sequence[Job]) -> bool:
        self._without = list(without)
        fits = all(amount <= self._free(queue, kind) for kind, amount in amounts.items())
        self._without = []
        return fits

    # -- taking back

    def _victims(self, queue: str, amounts: Mapping[str, int], scarce: set[str]) -> tuple[Job, ...]:
        """Who has to go so that a queue gets what is its own: of those who borrowed the lowest priority first, then who
        began last; nobody whose going would not help."""
        rules = self.rules[queue]
        if rules.alone or any(
            self._held(queue, kind) + amount > rules.own.get(kind, 0) for kind, amount in amounts.items()
        ):
            return ()
        gone: list[Job] = []
        for job in sorted(self._borrowers(queue, scarce), key=self._first_to_go):
            self._without = gone
            above = self._is_above(job.queue, scarce)
            self._without = []
            if not above:
                continue
            gone.append(job)
            if self._fits(queue, amounts, gone):
                return tuple(self._needed(queue, amounts, gone))
        return ()

    def _needed(self, queue: str, amounts: Mapping[str, int], gone: Sequence[Job]) -> list[Job]:
        needed = list(gone)
        for job in reversed(gone[:-1]):
            fewer = [other for other in needed if other is not job]
            if self._fits(queue, amounts, fewer):
                needed = fewer
        return needed

    def _borrowers(self, queue: str, kinds: set[str]) -> list[Job]:
        others = {each.name for each in self._cohort() if each.name != queue and self._is_above(each.name, kinds)}
        return [job for job in self.jobs.values() if job.queue in others and any(job.holds(kind) for kind in kinds)]

    def _is_above(self, queue: str, kinds: Iterable[str]) -> bool:
        return any(self._held(queue, kind) > self.rules[queue].own.get(kind, 0) for kind in kinds)

    def _first_to_go(self, job: Job) -> tuple[bool, int, float, str]:
        when, mark = job.since
        return job not in self._leaving, self.rules[job.queue].priority, -when, mark
