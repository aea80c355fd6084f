"""The cluster's DNS: CoreDNS as an ordinary pod, following upstream's manifest, and a query to it."""

from __future__ import annotations

import contextlib
import socket
import struct
from typing import Any

from tensorplane.embedded.cluster.nodes import NODE_NAME
from tensorplane.embedded.instance import Instance
from tensorplane.toolchain.go_module import kubernetes, required

IMAGE = f"tensorplane.local/coredns:{required(kubernetes().source, 'github.com/coredns/coredns')}"
_NAME, _NAMESPACE = "coredns", "kube-system"
_LABELS = {"k8s-app": "kube-dns"}
# Above 1024, so that the container needs no capability; the Service maps 53 to it.
_PORT = 1053

# No other zones and no `forward`: names outside the cluster are refused at once, since pods cannot leave it.
_COREFILE = f"""cluster.local:{_PORT} in-addr.arpa:{_PORT} ip6.arpa:{_PORT} {{
    errors
    health {{
        lameduck 1s
    }}
    ready
    kubernetes cluster.local in-addr.arpa ip6.arpa {{
        pods insecure
        ttl 5
    }}
    cache 30 {{
        disable success cluster.local
        disable denial cluster.local
    }}
    loadbalance
}}
"""


def manifests(instance: Instance) -> list[dict[str, Any]]:
    """Every object of the DNS, in the order in which they can be applied."""
    return [
        _object("v1", "ServiceAccount", _NAME, namespace=_NAMESPACE),
        _role(),
        _binding(),
        _object("v1", "ConfigMap", _NAME, namespace=_NAMESPACE, data={"Corefile": _COREFILE}),
        _object("apps/v1", "Deployment", _NAME, namespace=_NAMESPACE, labels=_LABELS, spec=_deployment()),
        _object("v1", "Service", "kube-dns", namespace=_NAMESPACE, labels=_LABELS, spec=_service(instance)),
    ]


def _object(api_version: str, kind: str, name: str, **rest: Any) -> dict[str, Any]:
    metadata = {"name": name} | {key: rest.pop(key) for key in ("namespace", "labels") if key in rest}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **rest}


def _role() -> dict[str, Any]:
    rules = [
        {"apiGroups": [""], "resources": ["services", "pods", "namespaces"], "verbs": ["list", "watch"]},
        {"apiGroups": ["discovery.k8s.io"], "resources": ["endpointslices"], "verbs": ["list", "watch"]},
    ]
    return _object("rbac.authorization.k8s.io/v1", "ClusterRole", "system:coredns", rules=rules)


def _binding() -> dict[str, Any]:
    return _object(
        "rbac.authorization.k8s.io/v1",
        "ClusterRoleBinding",
        "system:coredns",
        roleRef={"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "system:coredns"},
        subjects=[{"kind": "ServiceAccount", "name": _NAME, "namespace": _NAMESPACE}],
    )


def _deployment() -> dict[str, Any]:
    pod = {
        "serviceAccountName": _NAME,
        "priorityClassName": "system-cluster-critical",
        # Everything else depends on it, so it tolerates every condition of the node.
        "tolerations": [{"operator": "Exists"}],
        # On a simulated node it would not run.
        "nodeSelector": {"kubernetes.io/hostname": NODE_NAME},
        "dnsPolicy": "Default",
        "securityContext": {"runAsNonRoot": True, "runAsUser": 65532, "seccompProfile": {"type": "RuntimeDefault"}},
        "volumes": [{"name": "config", "configMap": {"name": _NAME}}],
        "containers": [_container()],
    }
    return {
        "replicas": 1,
        "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 1}},
        "selector": {"matchLabels": _LABELS},
        "template": {"metadata": {"labels": _LABELS}, "spec": pod},
    }


def _container() -> dict[str, Any]:
    return {
        "name": _NAME,
        "image": IMAGE,
        "imagePullPolicy": "IfNotPresent",
        "args": ["-conf", "/etc/coredns/Corefile"],
        "env": [{"name": "GOMEMLIMIT", "value": "32MiB"}],
        "resources": {"requests": {"cpu": "50m", "memory": "48Mi"}, "limits": {"memory": "170Mi"}},
        "ports": [
            {"name": "dns", "containerPort": _PORT, "protocol": "UDP"},
            {"name": "dns-tcp", "containerPort": _PORT, "protocol": "TCP"},
        ],
        "volumeMounts": [{"name": "config", "mountPath": "/etc/coredns", "readOnly": True}],
        "readinessProbe": {"httpGet": {"path": "/ready", "port": 8181}, "periodSeconds": 1, "failureThreshold": 5},
        "livenessProbe": {
            "httpGet": {"path": "/health", "port": 8080},
            "initialDelaySeconds": 30,
            "timeoutSeconds": 5,
            "failureThreshold": 5,
        },
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
            "readOnlyRootFilesystem": True,
        },
    }


def _service(instance: Instance) -> dict[str, Any]:
    return {
        "clusterIP": instance.dns_ip,
        "selector": _LABELS,
        "ports": [
            {"name": "dns", "port": 53, "protocol": "UDP", "targetPort": "dns"},
            {"name": "dns-tcp", "port": 53, "protocol": "TCP", "targetPort": "dns-tcp"},
        ],
    }


def answers(instance: Instance, name: str = "kubernetes.default.svc.cluster.local") -> bool:
    """Whether the cluster's DNS resolves the name, queried from the host through the Service."""
    labels = b"".join(bytes([len(label)]) + label.encode() for label in name.split("."))
    query = struct.pack(">6H", 1, 0x0100, 1, 0, 0, 0) + labels + b"\0" + struct.pack(">2H", 1, 1)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asker, contextlib.suppress(OSError):
        asker.settimeout(0.5)
        asker.connect((instance.dns_ip, 53))
        asker.send(query)
        answer = asker.recv(512)
        number, flags, _, count = struct.unpack(">4H", answer[:8])
        return bool(number == 1 and flags & 0x000F == 0 and count > 0)
    return False
