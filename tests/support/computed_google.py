"""What Google Cloud adds to a resource that the stack goes on to read: the least of it, by type."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

State = Mapping[str, Any]
_AGENT = "service-123456789012@container-engine-robot.iam.gserviceaccount.com"


def _with_name(name: str, inputs: State) -> dict[str, Any]:
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


def _filestore(name: str, inputs: State) -> dict[str, Any]:
    (network,) = inputs["networks"]
    return {"networks": [{**network, "ipAddresses": ["10.9.0.2"]}]}


ANSWERED: dict[str, dict[str, Any]] = {
    # The one question that a stack asks: whoever asks for Storage Transfer's agent makes it.
    "gcp:storage/getTransferProjectServiceAccount:getTransferProjectServiceAccount": {
        "member": "serviceAccount:project-123456789012@storage-transfer-service.iam.gserviceaccount.com"
    }
}

ADDED: dict[str, Callable[[str, State], dict[str, Any]]] = {
    "gcp:compute/globalAddress:GlobalAddress": lambda name, inputs: {"name": name, "address": "10.200.0.0"},
    "gcp:compute/resourcePolicy:ResourcePolicy": _with_name,
    "gcp:container/cluster:Cluster": _cluster,
    "gcp:dns/managedZone:ManagedZone": _with_name,
    "gcp:filestore/instance:Instance": _filestore,
    "gcp:lustre/instance:Instance": lambda name, inputs: {"mountPoint": f"10.200.0.2@tcp:/{inputs['filesystem']}"},
    "gcp:projects/serviceIdentity:ServiceIdentity": lambda name, inputs: {
        "email": _AGENT,
        "member": f"serviceAccount:{_AGENT}",
    },
    "gcp:serviceaccount/account:Account": _account,
    "gcp:storage/bucket:Bucket": lambda name, inputs: {"name": f"{name}-1234567"},
}
