"""A stack with two model servers on each kind of cluster, one of them as a test exposes it."""

from __future__ import annotations

from typing import Any

from tests.support.problems import EKS
from tests.support.rendered_files import rendered_tree
from tests.support.serving_schema import find_problems

_AKS = {
    "kind": "aks",
    "region": "westeurope",
    "admins": {"platform": "3f2504e0-4f89-41d3-9a0c-0305e82c3301"},
    "endpoint": {"deployFromInside": True},
}
_GKE = {"kind": "gke", "project": "acme-ml", "region": "europe-west4"}
_CLUSTERS: dict[str, tuple[dict[str, Any], str | None]] = {
    "existing": ({"kind": "existing", "context": "team"}, None),
    "eks": (EKS, "m7i.2xlarge"),
    "gke": (_GKE, "n2-standard-8"),
    "aks": (_AKS, "Standard_D8s_v5"),
    "embedded": ({"kind": "embedded"}, None),
}
GATEWAY: dict[str, Any] = {"kind": "gateway", "name": "public", "hosts": ["digits.example.org"]}


def tree(cluster: str = "existing", controllers: dict[str, Any] | None = None, **server: Any) -> dict[str, Any]:
    kind, machine = _CLUSTERS[cluster]
    volume = {"sizeGib": 10} if cluster == "embedded" else {"sizeGib": 10, "backend": _NFS}
    return {
        "cluster": kind,
        "namespace": "vision",
        **({"nodeGroups": {"cpu": {"machine": machine, "min": 1, "max": 3}}} if machine else {}),
        **({"controllers": controllers} if controllers else {}),
        "volumes": {"models": volume},
        "workloads": {
            "server": {"kind": "modelServer", "model": {"volume": "models", "path": "digits"}, **server},
            "web": {"kind": "modelServer", "model": {"volume": "models", "path": "web"}},
        },
    }


_NFS = {"kind": "nfs", "server": "10.0.0.2", "folder": "/models"}


def custom(**expose: Any) -> dict[str, Any]:
    made = rendered_tree(tree(expose={**GATEWAY, **expose}))
    kinds = ("Gateway", "HTTPRoute", "GRPCRoute", "SecurityPolicy", "ClientTrafficPolicy")
    found = {one.type.rpartition(":")[2]: one for one in made.resources if one.type.endswith(kinds)}
    assert [line for one in found.values() for line in find_problems(one.inputs)] == []
    return found
