"""What a rollout's controller decides from spec, state and observed, and the desired Deployments and routes. No I/O."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from .gates import ACCURACY, GateResult, Measured, evaluate
from .spec import Rollout
from .state import RolloutState

VANISHED = "is no longer on the volume"


@dataclass(frozen=True)
class Pod:
    """One server pod."""

    name: str
    ready: bool
    available: frozenset[int] = frozenset()
    """The versions that it answers for."""
    failed: Mapping[int, str] = field(default_factory=dict)
    """Versions that it cannot load, and why."""
    labelled: bool = True
    """Whether the Service of its track finds it: pods from before the canary's settings have no such label."""

    def serves(self, version: int | None) -> bool:
        return self.ready and version in self.available


@dataclass(frozen=True)
class Track:
    """A Deployment of the server: the stable one or the canary."""

    replicas: int
    version: int | None
    """What its model config file names; None: the newest version."""
    pods: Sequence[Pod] = ()

    def serving(self, version: int | None) -> int:
        """How many Ready pods answer for a version."""
        return sum(pod.serves(version) for pod in self.pods)


@dataclass(frozen=True)
class Observed:
    """What one reconcile has read from the volume and the cluster."""

    now: float
    versions: Mapping[int, str]
    """The problem with each version's folder; empty if there is none."""
    stable: Track
    canary: Track
    measured: Measured = field(default_factory=Measured)
    signature_difference: str | None = None
    """How the canary's signatures differ from those of the stable version; empty if clients notice nothing, None
    before they were compared."""
    weights: Mapping[str, int | None] = field(default_factory=dict)
    """The canary's part of the requests of each route, in percent, by the route's kind; None: not divided yet."""

    @property
    def routed(self) -> bool:
        """Whether a route sends requests to the canary."""
        return any(self.weights.values())


@dataclass(frozen=True)
class Desired:
    """The two Deployments and the routes as they should be."""

    stable: Track
    canary: Track
    weight: int | None = None
    """The canary's part of each route's requests, in percent; None leaves the routes as they are."""


def decide(rollout: Rollout, state: RolloutState, observed: Observed) -> RolloutState:
    """The next state. It has at most one new decision, so that a kill between two decisions loses neither."""
    if state.settings != rollout.digest:
        state = replace(state, settings=rollout.digest, refused={})
    state = _without_returned(state, observed)
    after = _decide(rollout, state, observed)
    return _with_reports(state, observed) if after is state else after


def _decide(rollout: Rollout, state: RolloutState, observed: Observed) -> RolloutState:
    if rollout.pin is not None:
        return _decide_pinned(rollout.pin, state, observed)
    if state.stable is None:
        return _decide_first(state, observed)
    if state.canary is None:
        return _next_canary(rollout, state, observed)
    return _decide_canary(rollout, state.canary, state, observed)


def _without_returned(state: RolloutState, observed: Observed) -> RolloutState:
    """Forgets reports of versions that are back on the volume: if one vanishes again, it is reported again."""
    reported = {
        version: why
        for version, why in state.reported.items()
        if why != VANISHED or _problem(version, observed) == VANISHED
    }
    return state if reported == state.reported else replace(state, reported=reported)


def _decide_pinned(pin: int, state: RolloutState, observed: Observed) -> RolloutState:
    if state.canary is not None:
        reason = f"version {pin} is pinned"
        return state.with_decision(observed.now, "RolledBack", state.canary, reason, canary=None, promoting=False)
    if pin not in observed.versions:
        # A stable version that is gone is reported whether or not it is pinned.
        return state if pin == state.stable else _report(pin, "is pinned, but it is not on the volume", state, observed)
    if problem := observed.versions[pin]:
        return _report(pin, problem, state, observed)
    if pin == state.stable:
        failed = next((pod.failed[pin] for pod in observed.stable.pods if pin in pod.failed), "")
        return _report(pin, failed, state, observed) if failed else state
    return state.with_decision(observed.now, "Pinned", pin, _instead_of(state.stable), stable=pin)


def _decide_first(state: RolloutState, observed: Observed) -> RolloutState:
    """Without a stable version nothing can be compared: the first one that the pods serve is stable."""
    served = [max(pod.available) for pod in observed.stable.pods if pod.ready and pod.available]
    if served:
        first = min(served)
        return state.with_decision(observed.now, "Promoted", first, "the first version has no gate", stable=first)
    return state


def _next_canary(rollout: Rollout, state: RolloutState, observed: Observed) -> RolloutState:
    newer = [version for version in observed.versions if _is_wanted(version, rollout, state)]
    for version in sorted(newer, reverse=True):
        if not observed.versions[version] and version not in state.refused:
            reason = f"tried beside version {state.stable}"
            return state.with_decision(
                observed.now,
                "CanaryStarted",
                version,
                reason,
                canary=version,
                promoting=False,
                canary_started_at=observed.now,
            )
    return state


def _is_wanted(version: int, rollout: Rollout, state: RolloutState) -> bool:
    if version == state.stable:
        return False
    return version == rollout.version if rollout.version is not None else version > (state.stable or 0)


def _decide_canary(rollout: Rollout, version: int, state: RolloutState, observed: Observed) -> RolloutState:
    values = observed.measured.values(rollout.gates)
    if reason := _rollback_reason(rollout, version, state, observed):
        refused = {**state.refused, version: reason}
        return state.with_decision(
            observed.now, "RolledBack", version, reason, values, canary=None, promoting=False, refused=refused
        )
    if state.promoting:
        if observed.stable.serving(version) >= rollout.replicas:
            return replace(state, stable=version, canary=None, promoting=False)
        return state
    result, reason = evaluate(rollout.gates, observed.measured)
    if result is GateResult.PASSES and _is_ready(rollout, version, observed):
        return state.with_decision(observed.now, "Promoted", version, reason, values, promoting=True)
    return state


def _rollback_reason(rollout: Rollout, version: int, state: RolloutState, observed: Observed) -> str:
    """Why a canary is rolled back; empty if it is not, or not yet."""
    if rollout.version is not None and version != rollout.version:
        return f"the settings try version {rollout.version}"
    if problem := observed.versions.get(version, VANISHED):
        return problem
    pods = [*observed.canary.pods, *(observed.stable.pods if state.promoting else ())]
    if failed := next((pod.failed[version] for pod in pods if version in pod.failed), ""):
        return failed
    return "" if state.promoting else _against_promotion(rollout, version, state, observed)


def _against_promotion(rollout: Rollout, version: int, state: RolloutState, observed: Observed) -> str:
    """Why a canary that answers is not promoted: its signatures, a gate, or the deadline."""
    if observed.signature_difference:
        return observed.signature_difference
    result, reason = evaluate(rollout.gates, observed.measured)
    if result is GateResult.FAILS:
        return reason
    if observed.now - state.canary_started_at <= rollout.deadline_seconds:
        return ""
    within = f"within {rollout.deadline_seconds:g} s"
    if not _is_ready(rollout, version, observed):
        return f"{observed.canary.serving(version)} of {rollout.canary_replicas} canary pods were Ready {within}"
    return f"no verdict {within}: {reason}"


def _is_ready(rollout: Rollout, version: int, observed: Observed) -> bool:
    return observed.canary.version == version and observed.canary.serving(version) >= rollout.canary_replicas


def _problem(version: int, observed: Observed) -> str:
    return observed.versions.get(version, VANISHED)


def _with_reports(state: RolloutState, observed: Observed) -> RolloutState:
    """One report for each folder that cannot be served, and for a stable version that is gone."""
    for version, problem in sorted(observed.versions.items()):
        if problem and version > (state.stable or 0) and version not in state.refused:
            reported = _report(version, problem, state, observed)
            if reported is not state:
                return reported
    if state.stable is not None and state.stable not in observed.versions:
        return _report(state.stable, VANISHED, state, observed)
    return state


def _report(version: int, problem: str, state: RolloutState, observed: Observed) -> RolloutState:
    if state.reported.get(version) == problem:
        return state
    return state.with_decision(
        observed.now, "NotServed", version, problem, reported={**state.reported, version: problem}
    )


def _instead_of(stable: int | None) -> str:
    return "no version was served" if stable is None else f"instead of version {stable}"


def admits(rollout: Rollout, state: RolloutState, observed: Observed) -> bool:
    """Whether the canary may answer clients: it has their signatures, and passes the gates that need no clients."""
    alone = [gate for gate in rollout.gates if gate.metric == ACCURACY]
    passes = all(evaluate([replace(gate, min_requests=0)], observed.measured)[0] is GateResult.PASSES for gate in alone)
    return state.canary is not None and (state.promoting or (observed.signature_difference == "" and passes))


def desired(rollout: Rollout, state: RolloutState, observed: Observed) -> Desired:
    """The Deployments and routes for this state. Canary pods change their version only by a restart, and end only once
    no route sends them requests."""
    replicas = rollout.replicas
    ended = Track(observed.canary.replicas if observed.routed else 0, observed.canary.version)
    weight = _weight(rollout, state, observed)
    if state.canary is None or state.stable is None:
        # All stable pods serve a promoted version, and a refused version must not answer.
        return Desired(Track(replicas, state.stable), ended, weight)
    if observed.canary.version != state.canary:
        if not observed.canary.pods and not observed.canary.replicas:
            ended = replace(ended, version=state.canary)
        return Desired(Track(replicas, state.stable), ended, weight)
    canary = Track(rollout.canary_replicas, state.canary)
    if state.promoting:
        return Desired(Track(replicas, state.canary), canary, weight)
    is_ready = _is_ready(rollout, state.canary, observed)
    return Desired(Track(rollout.stable_beside_canary if is_ready else replicas, state.stable), canary, weight)


def _weight(rollout: Rollout, state: RolloutState, observed: Observed) -> int | None:
    """The canary's weight: 0 before the canary is Ready, and then its percent while one of its pods is Ready. The
    stable pods get the rest, so routes are not divided before the stable pods have the label of their track."""
    if None in observed.weights.values() and not any(pod.ready and pod.labelled for pod in observed.stable.pods):
        return None
    if state.canary is None or observed.canary.version != state.canary:
        return 0
    keeps = observed.routed and any(pod.ready for pod in observed.canary.pods)
    return rollout.percent if keeps or _is_ready(rollout, state.canary, observed) else 0
