"""What a rollout decides from what it sees, and what the cluster should be like then. Pure functions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from agents.rollout.gates import ACCURACY, Gate, Measured, Verdict, verdict
from agents.rollout.state import Kept

VANISHED = "is no longer on the volume"


@dataclass(frozen=True)
class Rollout:
    """The settings."""

    replicas: int
    canary_replicas: int
    """How many of the replicas are canary pods while a version is tried; at least one, and fewer than `replicas` unless
    that is 1."""
    gates: Sequence[Gate]
    deadline_seconds: float
    """A candidate without a verdict after that is rolled back."""
    version: int | None = None
    """The only version that is tried; None: each new one."""
    pin: int | None = None
    """The version that is served, whatever else is on the volume."""
    percent: int | None = None
    """The canary's part of the requests that the routes of a Gateway divide; None: without one, they are divided by
    pods."""
    digest: str = ""
    """Of the settings; versions that other settings refused are tried again."""

    @property
    def stable_beside_canary(self) -> int:
        # Routes leave the stable pods a part of the requests that does not depend on how many they are.
        return self.replicas if self.percent else max(1, self.replicas - self.canary_replicas)


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
class Seen:
    """One look at the volume and the cluster."""

    now: float
    versions: Mapping[int, str]
    """What is wrong with each version's folder; empty if nothing is."""
    stable: Track
    canary: Track
    measured: Measured = field(default_factory=Measured)
    signature_fault: str | None = None
    """How the candidate's signatures differ from those of the stable version; empty if clients notice nothing, None
    before they were compared."""
    weights: Mapping[str, int | None] = field(default_factory=dict)
    """The canary's part of the requests of each route, in percent, by the route's kind; None: not divided yet."""

    @property
    def routed(self) -> bool:
        """Whether a route sends requests to the canary."""
        return any(self.weights.values())


@dataclass(frozen=True)
class Desired:
    """What the two Deployments and the routes should be like."""

    stable: Track
    canary: Track
    weight: int | None = None
    """The canary's part of each route's requests, in percent; None leaves the routes as they are."""


def decide(rollout: Rollout, kept: Kept, seen: Seen) -> Kept:
    """The next state: at most one decision after `kept`, so that a loss between two decisions loses neither."""
    if kept.settings != rollout.digest:
        kept = replace(kept, settings=rollout.digest, refused={})
    kept = _without_returned(kept, seen)
    after = _decided(rollout, kept, seen)
    return _with_reports(kept, seen) if after is kept else after


def _decided(rollout: Rollout, kept: Kept, seen: Seen) -> Kept:
    if rollout.pin is not None:
        return _pinned(rollout.pin, kept, seen)
    if kept.stable is None:
        return _first(kept, seen)
    if kept.candidate is None:
        return _next_candidate(rollout, kept, seen)
    return _tried(rollout, kept.candidate, kept, seen)


def _without_returned(kept: Kept, seen: Seen) -> Kept:
    """Versions that are back on the volume are reported again if they vanish again."""
    reported = {
        version: why for version, why in kept.reported.items() if why != VANISHED or _problem(version, seen) == VANISHED
    }
    return kept if reported == kept.reported else replace(kept, reported=reported)


def _pinned(pin: int, kept: Kept, seen: Seen) -> Kept:
    if kept.candidate is not None:
        reason = f"version {pin} is pinned"
        return kept.decided(seen.now, "RolledBack", kept.candidate, reason, candidate=None, promoting=False)
    if pin not in seen.versions:
        # A stable version that is gone is reported whether or not it is pinned.
        return kept if pin == kept.stable else _report(pin, "is pinned, but it is not on the volume", kept, seen)
    if problem := seen.versions[pin]:
        return _report(pin, problem, kept, seen)
    if pin == kept.stable:
        failed = next((pod.failed[pin] for pod in seen.stable.pods if pin in pod.failed), "")
        return _report(pin, failed, kept, seen) if failed else kept
    return kept.decided(seen.now, "Pinned", pin, _instead_of(kept.stable), stable=pin)


def _first(kept: Kept, seen: Seen) -> Kept:
    """Without a stable version nothing can be compared: the first one that the pods serve is stable."""
    served = [max(pod.available) for pod in seen.stable.pods if pod.ready and pod.available]
    if served:
        first = min(served)
        return kept.decided(seen.now, "Promoted", first, "the first version has no gate", stable=first)
    return kept


def _next_candidate(rollout: Rollout, kept: Kept, seen: Seen) -> Kept:
    newer = [version for version in seen.versions if _is_wanted(version, rollout, kept)]
    for version in sorted(newer, reverse=True):
        if not seen.versions[version] and version not in kept.refused:
            reason = f"tried beside version {kept.stable}"
            return kept.decided(
                seen.now, "CanaryStarted", version, reason, candidate=version, promoting=False, since=seen.now
            )
    return kept


def _is_wanted(version: int, rollout: Rollout, kept: Kept) -> bool:
    if version == kept.stable:
        return False
    return version == rollout.version if rollout.version is not None else version > (kept.stable or 0)


def _tried(rollout: Rollout, candidate: int, kept: Kept, seen: Seen) -> Kept:
    values = seen.measured.values(rollout.gates)
    if reason := _against(rollout, candidate, kept, seen):
        refused = {**kept.refused, candidate: reason}
        return kept.decided(
            seen.now, "RolledBack", candidate, reason, values, candidate=None, promoting=False, refused=refused
        )
    if kept.promoting:
        if seen.stable.serving(candidate) >= rollout.replicas:
            return replace(kept, stable=candidate, candidate=None, promoting=False)
        return kept
    said, reason = verdict(rollout.gates, seen.measured)
    if said is Verdict.PASSES and _is_ready(rollout, candidate, seen):
        return kept.decided(seen.now, "Promoted", candidate, reason, values, promoting=True)
    return kept


def _against(rollout: Rollout, candidate: int, kept: Kept, seen: Seen) -> str:
    """Why a candidate is rolled back; empty if it is not, or not yet."""
    if rollout.version is not None and candidate != rollout.version:
        return f"the settings try version {rollout.version}"
    if problem := seen.versions.get(candidate, VANISHED):
        return problem
    pods = [*seen.canary.pods, *(seen.stable.pods if kept.promoting else ())]
    if failed := next((pod.failed[candidate] for pod in pods if candidate in pod.failed), ""):
        return failed
    if kept.promoting:
        return ""
    if seen.signature_fault:
        return seen.signature_fault
    said, reason = verdict(rollout.gates, seen.measured)
    if said is Verdict.FAILS:
        return reason
    if seen.now - kept.since <= rollout.deadline_seconds:
        return ""
    within = f"within {rollout.deadline_seconds:g} s"
    if not _is_ready(rollout, candidate, seen):
        return f"{seen.canary.serving(candidate)} of {rollout.canary_replicas} canary pods were Ready {within}"
    return f"no verdict {within}: {reason}"


def _is_ready(rollout: Rollout, candidate: int, seen: Seen) -> bool:
    return seen.canary.version == candidate and seen.canary.serving(candidate) >= rollout.canary_replicas


def _problem(version: int, seen: Seen) -> str:
    return seen.versions.get(version, VANISHED)


def _with_reports(kept: Kept, seen: Seen) -> Kept:
    """One report for each folder that cannot be served, and for a stable version that is gone."""
    for version, problem in sorted(seen.versions.items()):
        if problem and version > (kept.stable or 0) and version not in kept.refused:
            reported = _report(version, problem, kept, seen)
            if reported is not kept:
                return reported
    if kept.stable is not None and kept.stable not in seen.versions:
        return _report(kept.stable, VANISHED, kept, seen)
    return kept


def _report(version: int, problem: str, kept: Kept, seen: Seen) -> Kept:
    if kept.reported.get(version) == problem:
        return kept
    return kept.decided(seen.now, "NotServed", version, problem, reported={**kept.reported, version: problem})


def _instead_of(stable: int | None) -> str:
    return "no version was served" if stable is None else f"instead of version {stable}"


def admits(rollout: Rollout, kept: Kept, seen: Seen) -> bool:
    """Whether the candidate may answer clients: it has their signatures, and passes what can be asked without them."""
    alone = [gate for gate in rollout.gates if gate.metric == ACCURACY]
    passes = all(verdict([replace(gate, min_requests=0)], seen.measured)[0] is Verdict.PASSES for gate in alone)
    return kept.candidate is not None and (kept.promoting or (seen.signature_fault == "" and passes))


def desired(rollout: Rollout, kept: Kept, seen: Seen) -> Desired:
    """The cluster as this state wants it; canary pods change their version only by starting anew, and end only once no
    route sends them requests."""
    replicas = rollout.replicas
    ended, weight = Track(seen.canary.replicas if seen.routed else 0, seen.canary.version), _weight(rollout, kept, seen)
    if kept.candidate is None or kept.stable is None:
        # A version that was promoted is answered for by all stable pods, and one that was refused must not answer.
        return Desired(Track(replicas, kept.stable), ended, weight)
    if seen.canary.version != kept.candidate:
        free = not seen.canary.pods and not seen.canary.replicas
        return Desired(Track(replicas, kept.stable), replace(ended, version=kept.candidate) if free else ended, weight)
    canary = Track(rollout.canary_replicas, kept.candidate)
    if kept.promoting:
        return Desired(Track(replicas, kept.candidate), canary, weight)
    is_ready = _is_ready(rollout, kept.candidate, seen)
    return Desired(Track(rollout.stable_beside_canary if is_ready else replicas, kept.stable), canary, weight)


def _weight(rollout: Rollout, kept: Kept, seen: Seen) -> int | None:
    """The canary's part: none before it is Ready, and then its percent while one of its pods is. The stable pods get
    the rest, so nothing is divided before they can be told apart."""
    if None in seen.weights.values() and not any(pod.ready and pod.labelled for pod in seen.stable.pods):
        return None
    if kept.candidate is None or seen.canary.version != kept.candidate:
        return 0
    keeps = seen.routed and any(pod.ready for pod in seen.canary.pods)
    return rollout.percent if keeps or _is_ready(rollout, kept.candidate, seen) else 0
