"""The API of the cluster that a question is about, or one line that says why it cannot be asked."""

from __future__ import annotations

from embedded import cluster
from embedded.fault import Fault
from embedded.kube import Kube
from embedded.target import Target


def reached(target: Target) -> Kube:
    """An API that answers."""
    if target.embedded and not cluster.is_running(target.instance):
        raise Fault("The embedded cluster is stopped. Start it with: make up")
    api = target.api()
    try:
        api.get("/version")
    except Fault as fault:
        if target.embedded:
            raise
        where = f"context {target.context}" if target.context else "the kubeconfig's current context"
        reason = " ".join(fault.lines).removesuffix(" Start it with: make up")
        raise Fault(f"{where}: {reason}", "Look with: kubectl cluster-info") from None
    return api
