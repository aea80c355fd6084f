"""What a server serves of each model, in words that a reviewer reads in a preview."""

from collections.abc import Mapping

from tensorplane.workloads.model_server.canary.settings import CanaryArgs, GateArgs
from tensorplane.workloads.model_server.settings import ServedModel, VersionPolicy


def words(served: Mapping[str, ServedModel]) -> dict[str, str]:
    """By model."""
    return {name: _of(model) for name, model in served.items()}


def _of(model: ServedModel) -> str:
    if model.pin:
        return f"version {model.pin}, pinned"
    return _canary(model.canary) if model.canary else _policy(model.versions)


def _policy(policy: VersionPolicy) -> str:
    if policy.specific:
        numbers = ", ".join(map(str, sorted(policy.specific)))
        return f"version {numbers}" if len(policy.specific) == 1 else f"versions {numbers}"
    if policy.latest is None:
        return "all versions"
    return "the newest version" if policy.latest == 1 else f"the {policy.latest} newest versions"


def _canary(canary: CanaryArgs) -> str:
    tried = f" for version {canary.version}" if canary.version else ""
    return f"canary of {canary.percent} %{tried}; {'; '.join(map(_gate, canary.gate))}"


def _gate(gate: GateArgs) -> str:
    sign = "at least" if gate.metric == "accuracy" else "at most"
    after = f" after {gate.least_requests} requests" if gate.least_requests else ""
    return f"{gate.metric} {sign} {gate.threshold:g}{after}"
