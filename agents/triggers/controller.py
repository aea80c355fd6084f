"""The triggers of one pipeline: looks at its datasets, decides, and starts runs. It may be killed at any point: the
next one finds everything in the cluster."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from agents.triggers import decide, runs
from agents.triggers.commits import Head
from agents.triggers.counts import Counted
from agents.triggers.decide import Seen, asked, ripe, to_compare
from agents.triggers.runs import Outputs, Standing
from agents.triggers.spec import Described
from agents.triggers.state import Decision, Kept, Run

STARTED, NOTHING_NEW = "RunStarted", "NothingNew"
_EVENT_SECONDS = 3600
_ASK_AGAIN_SECONDS = 30
"""After how long without news a look asks again whether somebody has started a run."""


class Objects(Protocol):
    """The pipeline's objects in the cluster."""

    def kept(self) -> Kept: ...
    def keep(self, kept: Kept) -> None: ...
    def template(self) -> Mapping[str, Any] | None: ...
    def has(self, run: str) -> bool: ...
    def unfinished(self) -> list[str]: ...
    def create(self, workflow: Mapping[str, Any]) -> None: ...
    def announce(self, decision: Decision) -> None: ...


@dataclass(frozen=True)
class _Wanted:
    """The run on the newest versions."""

    run: Run
    is_there: bool
    going: Sequence[str] = ()
    """Runs that have not ended, for which it has to wait."""
    reason: str = ""
    """Why it is due though no version is new."""
    is_remembered: bool = False
    """Whether the cluster was asked at a former look: somebody may have started one since."""


@dataclass(frozen=True)
class _NoRun:
    """The cluster's answer that it has no run on the newest versions, and none that has not ended."""

    run: Run
    """The one that would be there."""
    standing: Standing
    asked_at: float


@dataclass
class Controller:
    """Does what is due at each step."""

    described: Described
    cluster: Objects
    said: Callable[[str], object] = lambda line: None
    """Called with each decision once it is kept, and with what a run waits for."""
    clock: Callable[[], float] = time.monotonic
    """Seconds since any moment."""
    now: Callable[[], float] = time.time
    """Seconds since 1970."""
    _heads: dict[str, Head] = field(default_factory=dict)
    _counted: dict[str, Counted] = field(default_factory=dict)
    _changed_at: float = float("-inf")
    """When a commit was last seen to come."""
    _asked_at: dict[str, float] = field(default_factory=dict)
    """When each trigger first asked for the next run."""
    _looked: dict[str, int] = field(default_factory=dict)
    """The minute up to which each schedule was looked at without being due."""
    _no_run: _NoRun | None = None
    """The last answer, if there was no run."""
    _announced: int = 0
    _waiting: str = ""

    def __post_init__(self) -> None:
        self._outputs = Outputs(self.described.outputs)

    def step(self) -> None:
        """One look, at most one run. Raises OSError if the cluster or a volume does not answer."""
        heads = self._look()
        kept = self.cluster.kept()
        template = self.cluster.template()
        if template is None or runs.parameters_of(template) != set(self.described.logs):
            # Its controller of the same update will find it.
            self._wait("the pipeline to be deployed")
            return
        if kept.starting:
            kept = self._start(kept, template)
        kept = self._begin_schedules(kept)
        if missing := [name for name in self.described.logs if name not in heads]:
            self._wait(f"a first version of {', '.join(missing)}")
        else:
            kept = self._decide(kept, template, heads)
        self._tell(kept)

    def _look(self) -> dict[str, Head]:
        found = {}
        for name, log in self.described.logs.items():
            known = self._heads.get(name)
            if head := log.head(known.number if known else 0):
                found[name] = head
        if found != self._heads:
            # At the start nobody knows when the commits came.
            self._changed_at = self.clock()
            self._heads = found
        return found

    def _decide(self, kept: Kept, template: Mapping[str, Any], heads: Mapping[str, Head]) -> Kept:
        kept = self._catch_up(kept, template, heads)
        wanted = self._wanted(kept, template, heads)
        run = wanted.run
        if wanted.is_there and kept.last != run:
            # Somebody has started it, such as `tensorplane runs start`.
            kept = replace(kept, last=run)
            self.cluster.keep(kept)
        seen = self._seen(kept, wanted)
        every = asked(self.described.triggers, seen)
        self._asked_at = {name: self._asked_at.get(name, self.clock()) for name in every}
        seen = replace(seen, waited={name: self.clock() - at for name, at in self._asked_at.items()})
        found = ripe(self.described.triggers, seen)
        if not found:
            return kept
        if wanted.is_remembered:
            self._no_run = None
            return self._decide(kept, template, heads)
        schedules = {**kept.schedules, **{name: seen.due[name] for name in found if name in seen.due}}
        why = "; ".join(f"trigger {name}: {reason}" for name, reason in sorted(found.items()))
        if wanted.is_there:
            after = kept.decided(self.now(), NOTHING_NEW, run.name, f"{why}; this run has it", schedules=schedules)
            self.cluster.keep(after)
            return after
        if wanted.going:
            self._wait(f"{' and '.join(wanted.going)} to end, and then starts a run on the newest versions")
            return kept
        after = kept.decided(self.now(), STARTED, run.name, why, schedules=schedules, last=run, starting=True)
        self.cluster.keep(after)
        return self._start(after, template)

    def _catch_up(self, kept: Kept, template: Mapping[str, Any], heads: Mapping[str, Head]) -> Kept:
        """The state with a run that somebody started, before these versions came, since the cluster was last asked."""
        known = self._no_run
        if known is None or (known.run.heads, known.run.pipeline) == (heads, runs.pipeline_of(template)):
            return kept
        self._no_run = None
        if self.cluster.has(known.run.name):
            kept = replace(kept, last=known.run)
            self.cluster.keep(kept)
        return kept

    def _wanted(self, kept: Kept, template: Mapping[str, Any], heads: Mapping[str, Head]) -> _Wanted:
        """The run on these versions."""
        commits = {name: head.commit for name, head in heads.items()}
        beginning = runs.beginning(template, commits)
        standing = self._outputs.standing(beginning)
        last = kept.last if kept.last and runs.begins(kept.last.name, beginning) else None
        if last and _is_newest(last, template, standing):
            # A branch that was deleted and made anew at the same commit has another number.
            return _Wanted(replace(last, heads=heads), is_there=True)
        is_remembered = self._is_remembered(standing)
        going: list[str] = []
        if not is_remembered:
            going = self.cluster.unfinished()
            # Once more, now: a run that ended meanwhile has made its versions.
            standing = self._outputs.standing(beginning)
        name = runs.workflow(template, commits, standing.replaces)["metadata"]["name"]
        same = [one for one in going if runs.begins(one, beginning)]
        begun = same[0] if same else standing.made_by
        run = Run(begun or name, runs.pipeline_of(template), heads)
        # Another run may still replace whatever these versions have made: nobody knows before it has ended.
        is_there = not is_remembered and len(same) == len(going) and (bool(begun) or self.cluster.has(name))
        if not is_remembered:
            self._no_run = None if going or is_there else _NoRun(run, standing, self.clock())
        reason = ""
        if kept.last and not is_there:
            if kept.last.pipeline != run.pipeline:
                reason = "the pipeline changed"
            elif last and standing.replaced:
                reason = "another run replaced its results"
        return _Wanted(run, is_there, going, reason, is_remembered)

    def _is_remembered(self, standing: Standing) -> bool:
        """Whether the cluster said not long ago that there is no run, and the outputs are as they were."""
        known = self._no_run
        return bool(known and known.standing == standing and self.clock() - known.asked_at < _ASK_AGAIN_SECONDS)

    def _start(self, kept: Kept, template: Mapping[str, Any]) -> Kept:
        """Create the run that is remembered, unless it is there, of the pipeline as it is now."""
        last = kept.last if kept.last and {*kept.last.heads} == {*self.described.logs} else None
        if last and not self.cluster.has(last.name):
            standing = self._outputs.standing(runs.beginning(template, last.commits))
            workflow = runs.workflow(template, last.commits, standing.replaces)
            last = Run(workflow["metadata"]["name"], runs.pipeline_of(template), last.heads)
            # Before it is created, as ever: the pipeline may change once more before the next look.
            self.cluster.keep(replace(kept, last=last))
            self.cluster.create(workflow)
        # Without it, the pipeline has other sources since, and everything in them is new.
        after = replace(kept, last=last, starting=False)
        self.cluster.keep(after)
        self._asked_at.clear()
        self._no_run = None
        self._waiting = ""
        return after

    def _begin_schedules(self, kept: Kept) -> Kept:
        """A schedule counts from when it is first seen, not from 1970; also one that was changed."""
        now = {one.name: decide.digest_of(one.schedule) for one in self.described.triggers if one.schedule}
        if (now, now.keys()) == (kept.calendars, kept.schedules.keys()):
            return kept
        minute = int(self.now() // 60)
        # What an older version has remembered has no calendars.
        same = [name for name in now if kept.calendars.get(name, now[name]) == now[name]]
        begun = {name: kept.schedules.get(name, minute) if name in same else minute for name in sorted(now)}
        after = replace(kept, schedules=begun, calendars=now)
        self.cluster.keep(after)
        return after

    def _seen(self, kept: Kept, wanted: _Wanted) -> Seen:
        before: Mapping[str, Head] = kept.last.heads if kept.last else {}
        counts = {}
        for name, head in wanted.run.heads.items():
            counted = self._counted.setdefault(name, Counted(self.described.logs[name]))
            counts[name] = counted.since(before.get(name), head)
        for name in to_compare(self.described.triggers, counts):
            counts[name] = self._counted[name].compared()
        return Seen(counts, wanted.reason, self.clock() - self._changed_at, due=self._due(kept))

    def _due(self, kept: Kept) -> dict[str, int]:
        minute, found = int(self.now() // 60), {}
        for one in self.described.triggers:
            if one.schedule:
                since = max(kept.schedules[one.name], self._looked.get(one.name, 0))
                if due := decide.last_due(one.schedule, since, minute):
                    found[one.name] = due
                else:
                    self._looked[one.name] = minute
        return found

    def _wait(self, what: str) -> None:
        if what != self._waiting:
            self._waiting = what
            self.said(f"waits for {what}")

    def _tell(self, kept: Kept) -> None:
        for decision in kept.decisions:
            if decision.number <= self._announced:
                continue
            # Events are kept for an hour; a later start would create them anew.
            if self.now() - decision.at < _EVENT_SECONDS:
                self.cluster.announce(decision)
            self.said(f"{decision.action}: {decision.run}: {decision.reason}")
            self._announced = decision.number


def _is_newest(last: Run, template: Mapping[str, Any], standing: Standing) -> bool:
    """Whether no run on these versions would follow the last one: it has made the newest results, or failed to."""
    again = runs.workflow(template, last.commits, standing.replaces)
    return bool(standing.made_by) or again["metadata"]["name"] == last.name
