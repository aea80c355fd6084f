"""Configuration files of the API server (encryption at rest, the audit log's policy, admission) and the scheduler."""

from __future__ import annotations

import base64
import json
import secrets
from pathlib import Path

import yaml

from tensorplane.core import whole_file
from tensorplane.embedded.cluster.node_paths import NodePaths


def encryption(path: Path) -> None:
    """Creates the key that encrypts secrets in etcd, once: without it, they can never be read again."""
    if path.exists():
        return
    key = {"name": "key1", "secret": base64.b64encode(secrets.token_bytes(32)).decode()}
    config = {
        "apiVersion": "apiserver.config.k8s.io/v1",
        "kind": "EncryptionConfiguration",
        "resources": [{"resources": ["secrets"], "providers": [{"secretbox": {"keys": [key]}}, {"identity": {}}]}],
    }
    whole_file.write(path, json.dumps(config), mode=whole_file.PRIVATE)


def audit() -> str:
    """Audits changes, reads of secrets and access to pods; never request bodies, so never a secret's value."""
    quiet = [
        {"group": "", "resources": ["events"]},
        {"group": "events.k8s.io", "resources": ["events"]},
        {"group": "coordination.k8s.io", "resources": ["leases"]},
    ]
    # Through a WebSocket, as kubectl uses it, all of these are a GET; `nodes/proxy` runs commands, too.
    reaching_in = ["attach", "exec", "portforward", "proxy"]
    inside = [f"pods/{way}" for way in reaching_in] + ["nodes/proxy", "services/proxy"]
    config = {
        "apiVersion": "audit.k8s.io/v1",
        "kind": "Policy",
        "omitStages": ["RequestReceived"],
        "omitManagedFields": True,
        "rules": [
            {"level": "None", "resources": quiet},
            {"level": "None", "nonResourceURLs": ["/*"]},
            {"level": "Metadata", "resources": [{"group": "", "resources": ["secrets", *inside]}]},
            {"level": "None", "verbs": ["get", "list", "watch"]},
            {"level": "None", "userGroups": ["system:nodes"]},
            {"level": "Metadata"},
        ],
    }
    return yaml.safe_dump(config, sort_keys=False)


def admission() -> str:
    """Pod Security for namespaces without a level of their own: no privileged pods, no host paths."""
    pod_security = {
        "apiVersion": "pod-security.admission.config.k8s.io/v1",
        "kind": "PodSecurityConfiguration",
        "defaults": {"enforce": "baseline", "enforce-version": "latest"},
        "exemptions": {"usernames": [], "runtimeClasses": [], "namespaces": ["kube-system"]},
    }
    config = {
        "apiVersion": "apiserver.config.k8s.io/v1",
        "kind": "AdmissionConfiguration",
        "plugins": [{"name": "PodSecurity", "configuration": pod_security}],
    }
    return yaml.safe_dump(config, sort_keys=False)


def scheduler(paths: NodePaths) -> str:
    """KubeSchedulerConfiguration. With the client's default of 50 requests a second, simulated fleets would be slow.

    It scores 5 % of the nodes, and at least a hundred, which is its own choice in the largest clusters. Of a thousand
    nodes, it would score 420: it would filter all of them for a pod with GPUs, and place half as many pods. The filter
    for node selectors comes first, since it excludes the nodes with other accelerators.
    """
    config = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "clientConnection": {"kubeconfig": str(paths.config / "scheduler.kubeconfig"), "qps": 500, "burst": 1000},
        "leaderElection": {"leaderElect": False},
        "enableProfiling": False,
        "percentageOfNodesToScore": 5,
        "profiles": [{"plugins": {"filter": {"enabled": [{"name": "NodeAffinity"}]}}}],
    }
    return yaml.safe_dump(config, sort_keys=False)
