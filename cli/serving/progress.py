"""What the gates of a canary still wait for."""

from __future__ import annotations

from tensorplane.agents.rollout import metrics
from tensorplane.agents.rollout.gates import ACCURACY, Gate, GateResult, evaluate
from tensorplane.agents.rollout.servers import METRICS_PATH
from tensorplane.cli.serving import rest
from tensorplane.cli.serving.server import Server
from tensorplane.core.errors import UserError
from tensorplane.driver import canaries


def waits(of: Server, model: str) -> str:
    """`errorRate: 187 of 200 requests`; empty where no version is tried, and once the gates have decided."""
    if of.rollout is None or of.rollout.state.canary is None or of.rollout.state.promoting:
        return ""
    result, reason = evaluate(_gates(of), metrics.measure(_metrics(of), model))
    return reason if result is GateResult.WAITS else ""


def _gates(of: Server) -> list[Gate]:
    """Those that count requests; of the accuracy, the controller alone knows the examples' answers."""
    found = canaries.get_spec(of.api, of.namespace, of.name)
    return [gate for gate in found.rollout.gates if gate.metric != ACCURACY] if found else []


def _metrics(of: Server) -> list[str]:
    """The metrics of the canary's ready pods; of one that ends meanwhile, nothing."""
    texts = []
    for pod in of.canary_pods():
        try:
            status, text = rest.ask(of.api, pod, METRICS_PATH)
        except UserError:
            continue
        if status == 200:
            texts.append(text.decode())
    return texts
