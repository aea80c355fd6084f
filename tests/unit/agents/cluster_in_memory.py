"""A cluster in memory, with the requests that the agent of lost nodes sends about nodes and pods."""

from __future__ import annotations

import urllib.error
from collections.abc import Generator
from dataclasses import dataclass, field
from email.message import Message
from typing import Any

from tensorplane.agents.api import ApiServer
from tensorplane.agents.lost_nodes.evictions import Evictions

GPU = "nvidia.com/gpu"


@dataclass
class World:
    """A cluster in memory: evicted pods are gone after their grace period, and new ones get no tainted node."""

    nodes: dict[str, dict[str, Any]] = field(default_factory=dict)
    pods: dict[str, dict[str, Any]] = field(default_factory=dict)
    guarded: set[str] = field(default_factory=set)
    """Pods whose PodDisruptionBudget is exhausted."""
    evicted: dict[str, float] = field(default_factory=dict)
    events: list[tuple[str, str, str]] = field(default_factory=list)
    clock: float = 0.0
    _cached: list[Any] = field(default_factory=list)
    _is_late: bool = True

    def answer(self, method: str, path: str, body: Any) -> Any:
        """The answer to one request."""
        path, _, query = path.partition("?")
        if method == "GET":
            return {"metadata": {"resourceVersion": "1"}, "items": self._listed(path, query)}
        if path.endswith("/eviction"):
            return self._evict(path.split("/")[-2], body)
        if path.endswith("/events"):
            self.events.append((body["involvedObject"]["name"], body["reason"], body["message"]))
            return {}
        assert (method, path.split("/")[-2]) == ("PATCH", "nodes")
        node = self.nodes[path.split("/")[-1]]
        if body["metadata"]["resourceVersion"] != _version(node):
            raise urllib.error.HTTPError(path, 409, "Conflict", Message(), None)
        node["spec"] |= body["spec"]
        return {}

    def _listed(self, path: str, query: str) -> list[Any]:
        if path.endswith("/leases"):
            return []
        if path.endswith("/nodes"):
            return [
                {**each, "metadata": each["metadata"] | {"resourceVersion": _version(each)}} for each in self._read()
            ]
        return [
            pod for pod in self.pods.values() if query == f"fieldSelector=spec.nodeName%3D{pod['spec']['nodeName']}"
        ]

    def _read(self) -> list[Any]:
        """The nodes; every second time as they were, as from a cache."""
        self._cached, found = (
            [{**each, "spec": {**each["spec"]}, "status": {**each["status"]}} for each in self.nodes.values()],
            self._cached,
        )
        self._is_late = not self._is_late
        return found if self._is_late and len(found) == len(self.nodes) else self._cached

    def _evict(self, name: str, body: Any) -> Any:
        pod = self.pods[name]
        assert body["deleteOptions"] == {"preconditions": {"uid": pod["metadata"]["uid"]}}
        assert "deletionTimestamp" not in pod["metadata"]
        if name in self.guarded:
            raise urllib.error.HTTPError(name, 429, "Too Many Requests", Message(), None)
        self.evicted[name] = self.clock
        self.drain(name)
        return {}

    def drain(self, name: str) -> None:
        """As the Eviction API does it."""
        self.pods[name]["metadata"]["deletionTimestamp"] = "now"
        because = {"type": "DisruptionTarget", "status": "True", "reason": "EvictionByEvictionAPI"}
        self.pods[name]["status"].setdefault("conditions", []).append(because)

    def add(
        self, name: str, node: str, *, owner: str = "Job", phase: str = "Running", device: str = "", gpus: int = 0
    ) -> None:
        about = {"name": name, "namespace": "ml", "uid": f"uid-{name}", "ownerReferences": [{"kind": owner}]}
        status: dict[str, Any] = {"phase": phase}
        spec = {"nodeName": node, "containers": [{"resources": {"limits": {GPU: f"{gpus}"}}}]}
        if device:
            allocated = {"name": GPU, "resources": [{"resourceID": device, "health": "Healthy"}]}
            status["containerStatuses"] = [{"allocatedResourcesStatus": [allocated]}]
        self.pods[name] = {"metadata": about, "spec": spec, "status": status}

    def health(self, name: str, health: str) -> None:
        (container,) = self.pods[name]["status"]["containerStatuses"]
        container["allocatedResourcesStatus"][0]["resources"][0]["health"] = health

    def gpus(self, node: str, *, healthy: int, there: int = 4) -> None:
        self.nodes[node]["status"] |= {"capacity": {GPU: f"{there}"}, "allocatable": {GPU: f"{healthy}"}}

    def run(self, evictions: Evictions, seconds: float, step: float = 2.0) -> None:
        until = self.clock + seconds
        while self.clock < until:
            self.clock += step
            evictions.reconcile(evictions.cluster.nodes(), (), self.clock)

    def taints(self, node: str) -> set[str]:
        return {each["key"] for each in self.nodes[node]["spec"]["taints"]}


def _version(node: dict[str, Any]) -> str:
    """Another one for other taints of a node."""
    return str(node["spec"]["taints"])


@dataclass(frozen=True)
class InMemory(ApiServer):
    """The API server of a `World`."""

    world: World = field(default_factory=World)

    def send(self, method: str, path: str, body: Any = None, *, content_type: str | None = None) -> Any:
        """Its answer."""
        return self.world.answer(method, path, body)

    def watch(self, path: str, version: str, seconds: int) -> Generator[Any]:
        """As if every object were changed."""
        for each in self.world.answer("GET", path, None)["items"]:
            yield {"type": "MODIFIED", "object": each}
