"""What the gates of a canary still wait for."""

from __future__ import annotations

import json

from agents.rollout import metrics
from agents.rollout.described import Described
from agents.rollout.gates import ACCURACY, Gate, Verdict, verdict
from cli.serving import rest
from cli.serving.server import Server
from components.rollout_controller import FILE, NAME_SUFFIX
from embedded.fault import Fault


def waits(of: Server, model: str) -> str:
    """`errorRate: 187 of 200 requests`; empty where no version is tried, and once the gates have decided."""
    if of.rollout is None or of.rollout.kept.candidate is None or of.rollout.kept.promoting:
        return ""
    said, reason = verdict(_gates(of), metrics.measured(_metrics(of), model))
    return reason if said is Verdict.WAITS else ""


def _gates(of: Server) -> list[Gate]:
    """Those that count requests; of the accuracy, the controller alone knows the examples' answers."""
    inside = f"/api/v1/namespaces/{of.namespace}/configmaps"
    controller = of.api.get(f"/apis/apps/v1/namespaces/{of.namespace}/deployments/{of.name}{NAME_SUFFIX}") or {}
    mounted = controller.get("spec", {}).get("template", {}).get("spec", {}).get("volumes", ())
    for name in (one["configMap"]["name"] for one in mounted if one.get("configMap")):
        found = of.api.get(f"{inside}/{name}") or {}
        if text := (found.get("data") or {}).get(FILE):
            return [gate for gate in Described.read(json.loads(text)).rollout.gates if gate.metric != ACCURACY]
    return []


def _metrics(of: Server) -> list[str]:
    """The metrics of the canary's ready pods; of one that ends meanwhile, nothing."""
    texts = []
    for pod in of.canary_pods():
        try:
            status, text = rest.ask(of.api, pod, metrics.PATH)
        except Fault:
            continue
        if status == 200:
            texts.append(text.decode())
    return texts
