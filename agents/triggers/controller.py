"""Reconciles the triggers of one pipeline: observes its datasets, decides, and starts runs. It may be killed at any
point: the next controller finds everything in the cluster."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from ..events import DecisionReporter
from . import runs
from .commits import Head
from .counts import BranchCounts
from .decide import (
    Observed,
    last_scheduled,
    parameters_to_compare,
    ready_requests,
    requests,
    schedule_digest,
)
from .runs import NewestOutputs, Outputs
from .spec import TriggerSpec
from .state import Run, TriggerDecision, TriggerState

STARTED, NOTHING_NEW = "RunStarted", "NothingNew"
_RECHECK_SECONDS = 30
"""Without new versions, how often a reconcile asks the cluster whether somebody has started a run."""


class Objects(Protocol):
    """The pipeline's objects in the cluster."""

    def read_state(self) -> TriggerState: ...
    def write_state(self, state: TriggerState) -> None: ...
    def find_template(self) -> Mapping[str, Any] | None: ...
    def has_run(self, run: str) -> bool: ...
    def list_unfinished(self) -> list[str]: ...
    def create(self, workflow: Mapping[str, Any]) -> None: ...
    def create_event(self, decision: TriggerDecision) -> None: ...


@dataclass(frozen=True)
class _NextRun:
    """The run on the newest versions."""

    run: Run
    exists: bool
    unfinished: Sequence[str] = ()
    """Runs that have not ended, for which it has to wait."""
    reason: str = ""
    """Why it is needed though no version is new."""
    is_recent: bool = False
    """Whether this is the answer of a recent reconcile: somebody may have started a run since."""


@dataclass(frozen=True)
class _NoRun:
    """The cluster's answer that no run on the newest versions exists, and that all runs have ended."""

    run: Run
    """The run that would exist."""
    outputs: NewestOutputs
    read_at: float


@dataclass
class Controller:
    """Reconciles the triggers of one pipeline."""

    spec: TriggerSpec
    cluster: Objects
    log: Callable[[str], object] = lambda line: None
    """Called with a line for each decision once the state has it, and for what a run waits for."""
    clock: Callable[[], float] = time.monotonic
    """Seconds since any moment."""
    now: Callable[[], float] = time.time
    """Seconds since 1970."""
    _heads: dict[str, Head] = field(default_factory=dict)
    _branch_counts: dict[str, BranchCounts] = field(default_factory=dict)
    _changed_at: float = float("-inf")
    """When a new commit was last observed."""
    _requested_at: dict[str, float] = field(default_factory=dict)
    """When each trigger first requested the next run."""
    _checked_until: dict[str, int] = field(default_factory=dict)
    """The minute up to which each schedule was checked and had no time."""
    _no_run: _NoRun | None = None
    """The last such answer; None if there was a run."""
    _waiting: str = ""

    def __post_init__(self) -> None:
        self._outputs = Outputs(self.spec.outputs)
        self._reporter = DecisionReporter(self.cluster.create_event, self._log_decision, self.now)

    def reconcile(self) -> None:
        """Starts at most one run. Raises OSError if the cluster or a volume does not answer."""
        heads = self._read_heads()
        state = self.cluster.read_state()
        template = self.cluster.find_template()
        if template is None or runs.parameters_of(template) != set(self.spec.logs):
            # The update that changed the template brings a new controller.
            self._wait("the pipeline to be deployed")
            return
        if state.starting:
            state = self._start(state, template)
        state = self._begin_schedules(state)
        if missing := [name for name in self.spec.logs if name not in heads]:
            self._wait(f"a first version of {', '.join(missing)}")
        else:
            state = self._decide(state, template, heads)
        self._reporter.report(state.decisions)

    def _read_heads(self) -> dict[str, Head]:
        found = {}
        for name, log in self.spec.logs.items():
            known = self._heads.get(name)
            if head := log.head(known.number if known else 0):
                found[name] = head
        if found != self._heads:
            # Also at the start, since the time of these commits is unknown.
            self._changed_at = self.clock()
            self._heads = found
        return found

    def _decide(self, state: TriggerState, template: Mapping[str, Any], heads: Mapping[str, Head]) -> TriggerState:
        state = self._catch_up(state, template, heads)
        next_run = self._next_run(state, template, heads)
        run = next_run.run
        if next_run.exists and state.last != run:
            # Somebody has started it, such as `tensorplane runs start`.
            state = replace(state, last=run)
            self.cluster.write_state(state)
        observed = self._observe(state, next_run)
        requested = requests(self.spec.triggers, observed)
        self._requested_at = {name: self._requested_at.get(name, self.clock()) for name in requested}
        observed = replace(
            observed, waited_seconds={name: self.clock() - at for name, at in self._requested_at.items()}
        )
        found = ready_requests(self.spec.triggers, observed)
        if not found:
            return state
        if next_run.is_recent:
            self._no_run = None
            return self._decide(state, template, heads)
        scheduled = {name: at for name, at in observed.scheduled.items() if name in found}
        schedules = {**state.schedules, **scheduled}
        why = "; ".join(f"trigger {name}: {reason}" for name, reason in sorted(found.items()))
        if next_run.exists:
            why = f"{why}; this run has it"
            after = state.with_decision(self.now(), NOTHING_NEW, run.name, why, schedules=schedules)
            self.cluster.write_state(after)
            return after
        if next_run.unfinished:
            self._wait(f"{' and '.join(next_run.unfinished)} to end, and then starts a run on the newest versions")
            return state
        after = state.with_decision(self.now(), STARTED, run.name, why, schedules=schedules, last=run, starting=True)
        self.cluster.write_state(after)
        return self._start(after, template)

    def _catch_up(self, state: TriggerState, template: Mapping[str, Any], heads: Mapping[str, Head]) -> TriggerState:
        """The state with a run that somebody has started before these versions came, and after the last answer."""
        known = self._no_run
        if known is None or (known.run.heads, known.run.pipeline) == (heads, runs.pipeline_of(template)):
            return state
        self._no_run = None
        if self.cluster.has_run(known.run.name):
            state = replace(state, last=known.run)
            self.cluster.write_state(state)
        return state

    def _next_run(self, state: TriggerState, template: Mapping[str, Any], heads: Mapping[str, Head]) -> _NextRun:
        """The run on these versions, and whether it exists."""
        commits = {name: head.commit for name, head in heads.items()}
        beginning = runs.beginning(template, commits)
        outputs = self._outputs.observe(beginning)
        last = state.last if state.last and runs.begins(state.last.name, beginning) else None
        if last and _is_newest(last, template, outputs):
            # A branch that was deleted and created again at the same commit has another number.
            return _NextRun(replace(last, heads=heads), exists=True)
        is_recent = self._is_recent(outputs)
        unfinished: list[str] = []
        if not is_recent:
            unfinished = self.cluster.list_unfinished()
            # Once more, now: a run that ended meanwhile has made its versions.
            outputs = self._outputs.observe(beginning)
        name = runs.workflow(template, commits, outputs.replaces)["metadata"]["name"]
        same = [one for one in unfinished if runs.begins(one, beginning)]
        begun = same[0] if same else outputs.made_by
        run = Run(begun or name, runs.pipeline_of(template), heads)
        # Another run may still replace whatever these versions have made: nobody knows before it has ended.
        exists = not is_recent and len(same) == len(unfinished) and (bool(begun) or self.cluster.has_run(name))
        if not is_recent:
            self._no_run = None if unfinished or exists else _NoRun(run, outputs, self.clock())
        reason = ""
        if state.last and not exists:
            if state.last.pipeline != run.pipeline:
                reason = "the pipeline changed"
            elif last and outputs.replaced:
                reason = "another run replaced its results"
        return _NextRun(run, exists, unfinished, reason, is_recent)

    def _is_recent(self, outputs: NewestOutputs) -> bool:
        """Whether the cluster has answered recently that there is no run, and the outputs are the same."""
        known = self._no_run
        return bool(known and known.outputs == outputs and self.clock() - known.read_at < _RECHECK_SECONDS)

    def _start(self, state: TriggerState, template: Mapping[str, Any]) -> TriggerState:
        """Creates the state's run of the pipeline as it is now, unless the run exists."""
        last = state.last if state.last and {*state.last.heads} == {*self.spec.logs} else None
        if last and not self.cluster.has_run(last.name):
            outputs = self._outputs.observe(runs.beginning(template, last.commits))
            workflow = runs.workflow(template, last.commits, outputs.replaces)
            last = Run(workflow["metadata"]["name"], runs.pipeline_of(template), last.heads)
            # Before it is created, as ever: the pipeline may change once more before the next reconcile.
            self.cluster.write_state(replace(state, last=last))
            self.cluster.create(workflow)
        # Without it, the pipeline has other sources since, and everything in them is new.
        after = replace(state, last=last, starting=False)
        self.cluster.write_state(after)
        self._requested_at.clear()
        self._no_run = None
        self._waiting = ""
        return after

    def _begin_schedules(self, state: TriggerState) -> TriggerState:
        """A new or changed schedule counts from now, not from 1970."""
        now = {one.name: schedule_digest(one.schedule) for one in self.spec.triggers if one.schedule}
        if (now, now.keys()) == (state.calendars, state.schedules.keys()):
            return state
        minute = int(self.now() // 60)
        # The state of an earlier version has no calendars.
        same = [name for name in now if state.calendars.get(name, now[name]) == now[name]]
        begun = {name: state.schedules.get(name, minute) if name in same else minute for name in sorted(now)}
        after = replace(state, schedules=begun, calendars=now)
        self.cluster.write_state(after)
        return after

    def _observe(self, state: TriggerState, next_run: _NextRun) -> Observed:
        before: Mapping[str, Head] = state.last.heads if state.last else {}
        counts = {}
        for name, head in next_run.run.heads.items():
            branch_counts = self._branch_counts.setdefault(name, BranchCounts(self.spec.logs[name]))
            counts[name] = branch_counts.since(before.get(name), head)
        for name in parameters_to_compare(self.spec.triggers, counts):
            counts[name] = self._branch_counts[name].compared()
        return Observed(counts, next_run.reason, self.clock() - self._changed_at, scheduled=self._scheduled(state))

    def _scheduled(self, state: TriggerState) -> dict[str, int]:
        minute, found = int(self.now() // 60), {}
        for one in self.spec.triggers:
            if one.schedule:
                since = max(state.schedules[one.name], self._checked_until.get(one.name, 0))
                if due := last_scheduled(one.schedule, since, minute):
                    found[one.name] = due
                else:
                    self._checked_until[one.name] = minute
        return found

    def _log_decision(self, decision: TriggerDecision) -> None:
        self.log(f"{decision.action}: {decision.run}: {decision.reason}")

    def _wait(self, what: str) -> None:
        if what != self._waiting:
            self._waiting = what
            self.log(f"waits for {what}")


def _is_newest(last: Run, template: Mapping[str, Any], outputs: NewestOutputs) -> bool:
    """Whether no run on these versions would follow the last one: it has made the newest results, or failed to."""
    again = runs.workflow(template, last.commits, outputs.replaces)
    return bool(outputs.made_by) or again["metadata"]["name"] == last.name
