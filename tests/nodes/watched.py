"""What is watched while nodes are lost: the quota that counts, the pods that live, and the server's answers."""

from __future__ import annotations

import contextlib
import http.client
import json
import threading
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from tensorplane.cli.training_jobs import jobset_api
from tensorplane.components.base import quantities
from tests.nodes import busy
from tests.nodes.busy import Busy
from tests.support.waiting import PATIENT_SECONDS

_CONNECT_SECONDS = 5.0
"""The kernel of a node that is there answers, however busy it is."""
_EVERY_SECONDS = 0.5
_CLIENTS = 3
KNOWN_SECONDS = 10.0
"""After a node is known as lost, all that looks at the cluster has seen it."""
_BODY = json.dumps({"instances": [[[0] * 8] * 8]})
_LOST = "tensorplane.dev/lost"


@dataclass(frozen=True)
class Answer:
    """The end of one request."""

    at: float
    """When it was sent, in seconds of the monotonic clock."""
    error: str
    """Empty for an answer."""


@dataclass
class Watched:
    """What threads have seen since they began."""

    busy: Busy
    node: str
    """The name of the node that is lost."""
    answers: list[Answer] = field(default_factory=list)
    most_cpus: float = 0.0
    """The most that Kueue counted at once."""
    doubled: set[str] = field(default_factory=set)
    """Pods of which two lived at once."""
    known: float | None = None
    """When the node was first seen as known to be lost."""
    left: float | None = None
    """When the Service first had no ready endpoint there, after that."""
    began: float = field(default_factory=time.monotonic)
    faults: list[str] = field(default_factory=list)
    """Why a thread has ended."""

    def lost(self, after: float) -> list[Answer]:
        """The requests that were sent so long after the node was known as lost, and got no answer."""
        since = self.known
        return [each for each in self.answers if each.error and since is not None and each.at >= since + after]

    def __str__(self) -> str:
        before = [each for each in self.answers if each.error and (self.known is None or each.at < self.known)]
        if self.known is None:
            return f"{len(self.answers)} requests, {len(before)} lost; the node is not known as lost"
        left = f"left out {self.left - self.known:.1f} s later" if self.left else "never left out"
        after = f"{len(before)} lost before, {len(self.lost(0))} after, {len(self.lost(KNOWN_SECONDS))} late"
        return f"{len(self.answers)} requests, {after}; known as lost after {self.known - self.began:.0f} s, {left}"

    def look(self) -> None:
        """Look once at the API server."""
        kube, space = self.busy.kube, self.busy.namespace
        queue = kube.get(f"/apis/kueue.x-k8s.io/v1beta2/clusterqueues/{space}-{busy.QUEUE}") or {}
        self.most_cpus = max(self.most_cpus, cpus(queue))
        self.doubled |= doubled(kube.items(f"/api/v1/namespaces/{space}/pods"))
        if self.known is None and _is_known(kube.get(f"/api/v1/nodes/{self.node}") or {}):
            self.known = time.monotonic()
        if self.known is not None and self.left is None:
            of_server = f"kubernetes.io/service-name={busy.SERVER}"
            slices = kube.items(f"/apis/discovery.k8s.io/v1/namespaces/{space}/endpointslices", labelSelector=of_server)
            ready = [one for each in slices for one in each["endpoints"] or () if one["conditions"].get("ready")]
            if not any(each.get("nodeName") == self.node for each in ready):
                self.left = time.monotonic()

    def ask(self) -> Answer:
        """One request, over a connection of its own."""
        began, url = time.monotonic(), urlsplit(self.busy.url)
        connection = http.client.HTTPConnection(str(url.hostname), url.port, timeout=_CONNECT_SECONDS)
        try:
            connection.connect()
            connection.sock.settimeout(PATIENT_SECONDS if self.known else _CONNECT_SECONDS)
            connection.request("POST", f"{url.path}:predict", _BODY, {"Content-Type": "application/json"})
            answer = connection.getresponse()
            said = answer.read()
            return Answer(began, "" if answer.status == http.HTTPStatus.OK else f"{answer.status} {said[:200]!r}")
        except (OSError, http.client.HTTPException) as error:
            return Answer(began, f"{type(error).__name__}: {error}")
        finally:
            connection.close()


def cpus(queue: dict[str, Any]) -> float:
    """What a ClusterQueue counts as used."""
    flavors = queue.get("status", {}).get("flavorsUsage") or ()
    used = [each for flavor in flavors for each in flavor["resources"] if each["name"] == "cpu"]
    return float(sum(quantities.exact(each["total"]) for each in used))


def doubled(pods: list[dict[str, Any]]) -> set[str]:
    """The places in gangs that several pods have at once, of those that are neither over nor being deleted."""
    living = [
        each
        for each in pods
        if each["status"].get("phase") in ("Pending", "Running") and "deletionTimestamp" not in each["metadata"]
    ]
    of_jobs = [each for each in living if "jobset.sigs.k8s.io/jobset-name" in each["metadata"].get("labels", {})]
    places = Counter(
        (each["metadata"]["labels"]["jobset.sigs.k8s.io/jobset-name"], *jobset_api.role_and_index(each))
        for each in of_jobs
    )
    return {f"{name} {role} {index}" for (name, role, index), count in places.items() if count > 1}


@contextlib.contextmanager
def watched(made: Busy, node: str) -> Iterator[Watched]:
    """Watches until the end of the block."""
    found, over = Watched(made, node), threading.Event()

    def looks() -> None:
        while not over.wait(_EVERY_SECONDS):
            found.look()

    def asks() -> None:
        while not over.wait(_EVERY_SECONDS):
            found.answers.append(found.ask())

    def run(work: Any) -> None:
        try:
            work()
        except BaseException as error:  # the test fails with it
            found.faults.append(f"{type(error).__name__}: {error}")

    threads = [threading.Thread(target=run, args=(each,)) for each in (looks, *[asks] * _CLIENTS)]
    for thread in threads:
        thread.start()
    try:
        yield found
    finally:
        over.set()
        for thread in threads:
            thread.join()


def _is_known(node: dict[str, Any]) -> bool:
    """By the agent's taint, or by Kubernetes."""
    conditions = node.get("status", {}).get("conditions") or ()
    tainted = any(each["key"] == _LOST for each in node.get("spec", {}).get("taints") or ())
    return tainted or any(each["type"] == "Ready" and each["status"] == "Unknown" for each in conditions)
