"""KWOK, the kubelet of simulated nodes: its stages for nodes and pods, its RBAC, its command line.

Nodes with its annotation are simulated. A pod on such a node runs nothing: it is Running at once, completes after a
while if it belongs to a Job, and is deleted as if a kubelet had stopped it.
"""

from __future__ import annotations

from typing import Any

import yaml

from tensorplane.embedded.cluster.node_paths import NodePaths

NAME = "kwok"
USER = "tensorplane:kwok"
_NODE_MARK = "kwok.x-k8s.io/node=fake"
_SIZE = "tensorplane.dev/simulated-size"
JOB_SECONDS = 30
"""How long the pod of a Job runs: long enough to be seen, short enough for its queue to progress."""
TAKES = "tensorplane.dev/simulated-duration"
"""Annotation of a Job's pod with another duration: 90s, 2h."""

_LEASE_SECONDS = 400
"""Leases are renewed after a quarter of it: sixty a second for six thousand nodes."""
GRACE_SECONDS = 500
"""After these, a node without a renewed lease is lost. A KWOK that starts waits for the end of the leases of the
one before it; then it has time for a renewal on a busy machine."""

_Object = dict[str, Any]


def is_part_of(paths: NodePaths) -> bool:
    """Whether the instance has it. Once enabled it stays, since simulated nodes may be left."""
    return paths.kwok_config.exists()


def arguments(paths: NodePaths) -> tuple[str, ...]:
    """Its command line. Without an address it does not listen."""
    return (
        f"--config={paths.kwok_config}",
        f"--kubeconfig={paths.config}/{NAME}.kubeconfig",
        f"--manage-nodes-with-annotation-selector={_NODE_MARK}",
        f"--node-lease-duration-seconds={_LEASE_SECONDS}",
        "--server-address=",
        "--node-port=0",
    )


def stages() -> str:
    """Its configuration: the stages of nodes and pods."""
    made = (
        _stage("node-ready", "Node", [_NOT_READY], {"statusTemplate": _NODE}),
        _stage("pod-runs", "Pod", [_ALIVE, _phase("Pending")], {"statusTemplate": _running()}),
        _stage(
            "job-is-done",
            "Pod",
            [_ALIVE, _phase("Running"), _one_of(".metadata.ownerReferences.[].kind", "Job")],
            {"statusTemplate": _ended("Succeeded", 0, "Completed")},
            delay={
                "durationMilliseconds": JOB_SECONDS * 1000,
                "durationFrom": {"jq": {"expression": f'.metadata.annotations["{TAKES}"]'}},
            },
        ),
        _stage(
            "pod-stops",
            "Pod",
            [_DELETED, _phase("Pending", "Running")],
            {"statusTemplate": _ended("Failed", 143, "Error")},
        ),
        _stage("pod-goes", "Pod", [_DELETED, _phase("Succeeded", "Failed")], {"delete": True}),
    )
    return yaml.safe_dump_all(made, sort_keys=False)


def manifests() -> list[_Object]:
    """Its RBAC, bound to the name in its certificate: watch nodes and pods, update their status, delete pods."""
    rules = [
        _rule("", "nodes", "get", "list", "watch"),
        _rule("", "pods", "get", "list", "watch", "delete"),
        _rule("", "nodes/status", "patch"),
        _rule("", "pods/status", "patch"),
        _rule("", "events", "create", "patch"),
        _rule("coordination.k8s.io", "leases", "get", "list", "watch", "create", "update", "patch"),
    ]
    api, group = "rbac.authorization.k8s.io/v1", "rbac.authorization.k8s.io"
    role = {"apiVersion": api, "kind": "ClusterRole", "metadata": {"name": USER}, "rules": rules}
    binding = {
        "apiVersion": api,
        "kind": "ClusterRoleBinding",
        "metadata": {"name": USER},
        "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": USER},
        "subjects": [{"apiGroup": group, "kind": "User", "name": USER}],
    }
    return [role, binding]


def _rule(group: str, resource: str, *verbs: str) -> _Object:
    return {"apiGroups": [group], "resources": [resource], "verbs": list(verbs)}


def _stage(name: str, kind: str, when: list[_Object], then: _Object, *, delay: _Object | None = None) -> _Object:
    spec = {
        "resourceRef": {"apiGroup": "v1", "kind": kind},
        "selector": {"matchExpressions": when},
        **({"delay": delay} if delay else {}),
        "next": then,
    }
    return {"apiVersion": "kwok.x-k8s.io/v1alpha1", "kind": "Stage", "metadata": {"name": name}, "spec": spec}


def _one_of(path: str, *values: str) -> _Object:
    return {"key": path, "operator": "In", "values": list(values)}


def _phase(*phases: str) -> _Object:
    return _one_of(".status.phase", *phases)


_ALIVE = {"key": ".metadata.deletionTimestamp", "operator": "DoesNotExist"}
_DELETED = {"key": ".metadata.deletionTimestamp", "operator": "Exists"}
_NOT_READY = {
    "key": '.status.conditions.[] | select(.type == "Ready") | .status',
    "operator": "NotIn",
    "values": ["True"],
}

# JSON is YAML, so the annotation is inserted as it is. No address, since nothing answers there.
_NODE = """
capacity: {{ index .metadata.annotations "SIZE" }}
allocatable: {{ index .metadata.annotations "SIZE" }}
addresses:
- {type: Hostname, address: {{ .metadata.name | Quote }}}
conditions:
{{ range list "Ready" "MemoryPressure" "DiskPressure" "PIDPressure" }}
- type: {{ . }}
  status: {{ eq . "Ready" | ternary "True" "False" | Quote }}
  reason: Simulated
  message: there is no machine behind this node
  lastHeartbeatTime: {{ Now | Quote }}
  lastTransitionTime: {{ Now | Quote }}
{{ end }}
nodeInfo:
  architecture: {{ index .metadata.labels "kubernetes.io/arch" | Quote }}
  operatingSystem: linux
  kubeletVersion: kwok
  kubeProxyVersion: kwok
  containerRuntimeVersion: kwok
  kernelVersion: ""
  osImage: ""
  machineID: ""
  systemUUID: ""
  bootID: ""
""".replace("SIZE", _SIZE)

_NOW = "{{ Now | Quote }}"


def _running() -> str:
    """A pod whose containers run, without an IP address, so that a Service has no endpoint."""
    conditions = _conditions("True", "Initialized", "ContainersReady", "Ready")
    before = _statuses("initContainers", ready=True, state=_terminated(0, "Completed"))
    containers = _statuses("containers", ready=True, state=f"running: {{startedAt: {_NOW}}}")
    head = f"phase: Running\nstartTime: {_NOW}\n{conditions}"
    return f"{head}initContainerStatuses:\n{before}containerStatuses:\n{containers}"


def _ended(phase: str, exit_code: int, reason: str) -> str:
    containers = _statuses("containers", ready=False, state=_terminated(exit_code, reason))
    return f"phase: {phase}\n{_conditions('False', 'ContainersReady', 'Ready')}containerStatuses:\n{containers}"


def _conditions(status: str, *types: str) -> str:
    lines = (f'- {{type: {each}, status: "{status}", lastTransitionTime: {_NOW}}}\n' for each in types)
    return "conditions:\n" + "".join(lines)


def _statuses(containers: str, *, ready: bool, state: str) -> str:
    status = f"imageID: simulated, restartCount: 0, ready: {str(ready).lower()}, state: {{{state}}}"
    who = "name: {{ .name | Quote }}, image: {{ .image | Quote }}"
    return "{{ range .spec." + containers + " }}\n- {" + f"{who}, {status}" + "}\n{{ end }}\n"


def _terminated(exit_code: int, reason: str) -> str:
    return f"terminated: {{exitCode: {exit_code}, reason: {reason}, startedAt: {_NOW}, finishedAt: {_NOW}}}"
