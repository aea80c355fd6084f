"""Nodes, their heartbeats and the pods on them, by requests to the API server."""

from __future__ import annotations

import sys
import time
import urllib.error
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from .. import events
from ..api import CONFLICT, NOT_FOUND, ApiServer
from ..watch import Informer
from . import device_faults, leaving
from .nodes import Node
from .pods import Pod, PodAction, ended, has_ended, is_ready, replica_set, unready

TAINT = "tensorplane.dev/lost"
REPORTER = "tensorplane-lost-nodes"
"""Who reports the events."""
_TOO_MANY = 429
_LEASES = "apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"


@dataclass(frozen=True)
class Cluster:
    """The cluster, and the namespaces whose pods are the stack's."""

    api: ApiServer
    namespaces: Sequence[str]
    controllers: Sequence[str] = ()
    """Namespaces of controllers that jobs wait for: Kueue's, JobSet's and Argo's, if the stack installs them."""

    def nodes(self) -> dict[str, Node]:
        """All nodes. Takes a second, except the first time."""
        # resourceVersion 0: from the API server's cache, which is as new as its watch of etcd.
        leases = self.api.send("GET", f"{_LEASES}?resourceVersion=0")["items"]
        renewed = {lease["metadata"]["name"]: lease["spec"].get("renewTime") or "" for lease in leases}
        nodes = self._nodes.refresh()
        for name, node in nodes.items():
            if node.renewed != (at := renewed.get(name, "")):
                nodes[name] = replace(node, renewed=at)
        return dict(nodes)

    @cached_property
    def _nodes(self) -> Informer[Node]:
        return Informer(self.api, "api/v1/nodes", _node)

    def taint(self, name: str, node: Node, key: str, why: str) -> None:
        """Keeps new pods off a node."""
        if self._set_taints(name, node, [*node.taints, {"key": key, "effect": "NoSchedule"}]):
            print(f"{name}: {why}; it gets no pods", flush=True)

    def untaint(self, name: str, node: Node, key: str, why: str) -> None:
        """Lets pods on a node again."""
        if self._set_taints(name, node, [each for each in node.taints if each["key"] != key]):
            print(f"{name}: {why}; it gets pods again", flush=True)

    def _set_taints(self, name: str, node: Node, taints: Sequence[Mapping[str, str]]) -> bool:
        """False if the node has changed since it was read: the next reconcile observes how.

        A node's taints are one value for the API server, which merges no lists of them.
        """
        body = {"metadata": {"resourceVersion": node.version}, "spec": {"taints": taints}}
        try:
            self.api.send("PATCH", f"api/v1/nodes/{name}", body)
        except urllib.error.HTTPError as error:
            if error.code not in (CONFLICT, NOT_FOUND):
                print(f"{name}: its taints stay: {error}", file=sys.stderr, flush=True)
            return False
        return True

    def pods(self, node: str) -> Iterator[Pod]:
        """The stack's pods on a node, and those of controllers."""
        for namespace in (*self.namespaces, *self.controllers):
            yield from self.api.send("GET", f"{_pods(namespace)}?fieldSelector=spec.nodeName%3D{node}")["items"]

    def apply(self, action: PodAction, pod: Pod, why: str) -> None:
        """Ends or replaces a pod, unless it is another one by now. `why`: what is the matter with its node."""
        about = pod["metadata"]
        path, same = f"{_pods(about['namespace'])}/{about['name']}", {"uid": about["uid"]}
        try:
            if action in (PodAction.END, PodAction.FAIL):
                status = {"metadata": same, "status": ended(pod, why, _now())}
                self.api.send("PATCH", f"{path}/status", status, content_type=ApiServer.STRATEGIC_MERGE)
            if action in (PodAction.END, PodAction.REPLACE):
                grace = {"gracePeriodSeconds": 0} if action is PodAction.END else {}
                self.api.send("DELETE", path, {"preconditions": same, **grace})
        except urllib.error.HTTPError as error:
            if error.code not in (CONFLICT, NOT_FOUND):
                print(f"{about['namespace']}/{about['name']}: not ended: {error}", file=sys.stderr, flush=True)
            return
        if not has_ended(pod):
            what = "deleted, so that another one starts elsewhere" if action is PodAction.REPLACE else "ended"
            self.report(pod, "NodeLost", f"{what}: {why}")

    def has_ready_replica(self, pod: Pod, lost: Collection[str]) -> bool:
        """Whether a pod of the same ReplicaSet is ready on a node that is not lost."""
        about = pod["metadata"]
        selector = f"pod-template-hash%3D{(about.get('labels') or {}).get('pod-template-hash', '')}"
        others = self.api.send("GET", f"{_pods(about['namespace'])}?labelSelector={selector}")["items"]
        alike = (each for each in others if replica_set(each) == replica_set(pod))
        return any(is_ready(each) and each["spec"].get("nodeName") not in lost for each in alike)

    def mark_unready(self, pod: Pod, why: str) -> None:
        """Makes a pod unready, so that Services send it no requests, unless it is another one by now."""
        about = pod["metadata"]
        status = {"metadata": {"uid": about["uid"]}, "status": unready(why)}
        path = f"{_pods(about['namespace'])}/{about['name']}/status"
        try:
            self.api.send("PATCH", path, status, content_type=ApiServer.STRATEGIC_MERGE)
        except urllib.error.HTTPError as error:
            if error.code not in (CONFLICT, NOT_FOUND):
                print(f"{about['namespace']}/{about['name']}: gets requests: {error}", file=sys.stderr, flush=True)
            return
        self.report(pod, "NodeLost", f"gets no requests: {why}")

    def evict(self, pod: Pod) -> bool:
        """Makes a pod end in its grace period, unless it is another one by now. False if it may not end yet or is gone.

        A PodDisruptionBudget that is exhausted refuses it for now, or two of them for good.
        """
        about = pod["metadata"]
        body = {
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": {"name": about["name"], "namespace": about["namespace"]},
            "deleteOptions": {"preconditions": {"uid": about["uid"]}},
        }
        try:
            self.api.send("POST", f"{_pods(about['namespace'])}/{about['name']}/eviction", body)
        except urllib.error.HTTPError as error:
            if error.code not in (CONFLICT, NOT_FOUND, _TOO_MANY):
                print(f"{about['namespace']}/{about['name']}: not evicted: {error}", file=sys.stderr, flush=True)
            return False
        return True

    def report(self, pod: Pod, reason: str, message: str) -> None:
        """Reports what was done with a pod, in the log and by an Event."""
        about = pod["metadata"]
        print(f"{about['namespace']}/{about['name']}: {message}", flush=True)
        found = event(pod, reason, message, _now())
        try:
            self.api.send("POST", f"api/v1/namespaces/{about['namespace']}/events", found)
        except OSError as error:  # the log has it
            print(f"{about['namespace']}/{about['name']}: no event: {error}", file=sys.stderr, flush=True)


def event(pod: Pod, reason: str, message: str, now: str) -> dict[str, Any]:
    """An Event of a pod, which `why` shows."""
    about = pod["metadata"]
    involved = {"apiVersion": "v1", "kind": "Pod", "name": about["name"], "namespace": about["namespace"]}
    return events.event(
        {"generateName": f"{about['name']}.", "namespace": about["namespace"]},
        {**involved, "uid": about.get("uid")},
        reason=reason,
        message=message,
        at=now,
        component=REPORTER,
        is_warning=True,
    )


def _now() -> str:
    return events.timestamp(time.time())


def is_lost(node: Any) -> bool:
    """Whether Kubernetes has given a Node up, or the agent has tainted it."""
    found = _node(node)
    return found.is_unknown or found.has(TAINT)


def _pods(namespace: str) -> str:
    return f"api/v1/namespaces/{namespace}/pods"


def _node(node: Any) -> Node:
    """Without its heartbeat, which is in its Lease."""
    return Node(
        renewed="",
        is_unknown=_has_ready(node, "Unknown"),
        is_unready=_has_ready(node, "False"),
        announced=leaving.announcement(node),
        devices=device_faults.list_devices(node),
        taints=node["spec"].get("taints") or (),
        version=node["metadata"].get("resourceVersion", ""),
    )


def _has_ready(node: Any, status: str) -> bool:
    """Whether the condition Ready has this status."""
    conditions = node.get("status", {}).get("conditions") or ()
    return any(each["type"] == "Ready" and each["status"] == status for each in conditions)
