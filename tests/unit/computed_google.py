"""What Google Cloud adds to a resource that the stack goes on to read: the least of it, by type."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

State = Mapping[str, Any]
_AGENT = "service-123456789012@container-engine-robot.iam.gserviceaccount.com"


def _named(name: str, inputs: State) -> dict[str, Any]:
    return {"name": name}


def _account(name: str, inputs: State) -> dict[str, Any]:
    email = f"{inputs['accountId']}@demo.iam.gserviceaccount.com"
    return {"email": email, "member": f"serviceAccount:{email}"}


def _cluster(name: str, inputs: State) -> dict[str, Any]:
    dns = {**inputs["controlPlaneEndpointsConfig"]["dnsEndpointConfig"], "endpoint": "gke-demo.example"}
    return {
        "endpoint": "203.0.113.1",
        "masterAuth": {"clusterCaCertificate": "Y2E=", "clientCertificateConfig": {"issueClientCertificate": False}},
        "controlPlaneEndpointsConfig": {"dnsEndpointConfig": dns},
    }


ADDED: dict[str, Callable[[str, State], dict[str, Any]]] = {
    "gcp:compute/resourcePolicy:ResourcePolicy": _named,
    "gcp:container/cluster:Cluster": _cluster,
    "gcp:projects/serviceIdentity:ServiceIdentity": lambda name, inputs: {
        "email": _AGENT,
        "member": f"serviceAccount:{_AGENT}",
    },
    "gcp:serviceaccount/account:Account": _account,
}
