"""What the agent of lost nodes costs where 500 jobs run: its processor time, its memory and its requests.

The agent runs in its pods, as the stack deploys it. The nodes are simulated, but their objects are as large as a
cloud's, and have a heartbeat every ten seconds.
"""

from __future__ import annotations

import copy
import re
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import yaml

from bench import endless_gang, instance, memory, simulated_fleet, waiting
from bench.figure import Figure, Measured
from bench.instance import Running
from tensorplane.agents.lost_nodes import leaving
from tensorplane.cli.commands.run import plan
from tensorplane.cli.commands.run.platform import Platform
from tensorplane.cli.commands.run.request import JobRequest
from tensorplane.components.base.labels import NAME
from tensorplane.components.base.settings import Settings
from tensorplane.components.lost_nodes import component as lost_nodes
from tensorplane.core.errors import UserError
from tensorplane.core.gvk import GVK
from tensorplane.core.kube import Kube
from tensorplane.core.kube_objects import Objects
from tensorplane.core.scratch import scratch
from tensorplane.embedded.cluster import cgroups, kwok

_STACK, _SPACE = "dev", "tensorplane-dev"
_JOBS, _WORKERS, _NODES, _TEAMS = 500, 2, 125, 5
_GPUS = _JOBS * _WORKERS
_GROUP = "machines"
_SECTIONS: Mapping[str, Any] = {
    "cluster": {"kind": "embedded", "nodes": 2},
    "nodeGroups": {_GROUP: {"accelerator": "a100-80gb", "perNode": _GPUS // _NODES, "min": _NODES, "max": _NODES}},
    "volumes": {"models": {"sizeGib": 1, "retain": False}},
    "teams": {f"team-{number}": {"retain": False} for number in range(_TEAMS)},
    "controllers": {"jobset": "chart"},
    "queues": {"training": {"gpus": {"a100-80gb": _GPUS}}},
}
_JOB = {
    "kind": "trainingJob",
    "strategy": {"kind": "multiWorkerMirrored", "workers": _WORKERS},
    "command": ["python3", "train.py"],
    "resources": {"cpus": 8, "memoryGib": 64, "gpus": 1, "accelerator": "a100-80gb"},
    "volumes": {"models": "/models"},
    "checkpoints": {"volume": "models"},
    "queue": "training",
}
_STARTED_SECONDS, _SEEN_SECONDS = 1200, 60
_MEASURED_SECONDS = 120
_HEARTBEAT_SECONDS = 10.0
_HEARTS = 8
_GIVEN_UP_SECONDS = 40.0
_IMAGES = 50
"""In a node's status, as the kubelet lists them at most."""
_NODE, _LEASE = GVK("", "v1", "Node"), GVK("coordination.k8s.io", "v1", "Lease")
_VERBS = {"reads": ["get", "list", "watch"], "writes": ["create", "delete", "patch", "update"]}
_DISPATCHED = re.compile(r'^apiserver_flowcontrol_dispatched_requests_total{flow_schema="bench-(\w+)",.*} (\S+)$', re.M)


@dataclass(frozen=True)
class Cost:
    """Of the agent, per pod that it has."""

    percent: tuple[float, ...]
    """Of a core, the one that acts first."""
    reads: float
    """Requests a minute, of all."""
    writes: float

    def __str__(self) -> str:
        shares = " + ".join(f"{each:.2f}" for each in self.percent)
        return f"{shares} % of a core, {self.reads:.0f} reads and {self.writes:.0f} writes a minute"


@dataclass(frozen=True)
class _Agent:
    """The pods of the agent, as the stack has deployed it."""

    kube: Kube

    def containers(self) -> list[str]:
        """The identifiers of their containers."""
        pods = self.kube.items(f"/api/v1/namespaces/{_SPACE}/pods", labelSelector=f"{NAME}={lost_nodes.ACCOUNT}")
        return [each["containerID"].rpartition("/")[2] for pod in pods for each in pod["status"]["containerStatuses"]]

    def measured(self, seconds: float) -> Cost:
        """Over a time in which none of them starts again."""
        containers = self.containers()
        used, sent, began = [*map(_used, containers)], self._sent(), time.monotonic()
        time.sleep(seconds)
        took = time.monotonic() - began
        if self.containers() != containers:
            raise UserError(f"agent {lost_nodes.ACCOUNT}: its pods are other ones than {took:.0f} s ago")
        shares = sorted((100 * (_used(each) - before) / took for each, before in zip(containers, used, strict=True)))
        rates = {kind: 60 * (count - sent[kind]) / took for kind, count in self._sent().items()}
        return Cost(tuple(reversed(shares)), rates["reads"], rates["writes"])

    def mebibytes(self) -> list[float]:
        """The memory of each."""
        pids = [pid for each in self.containers() for pid in endless_gang.of_container(each)]
        shares = [memory.proportional_share(Path(f"/proc/{pid}/smaps_rollup").read_text()) for pid in pids]
        return [share / 2**20 for share in shares]

    def count(self, at: Objects) -> None:
        """Has the API server count its requests: as two kinds of flow, with the priority that they have anyway."""
        who = {"kind": "ServiceAccount", "serviceAccount": {"namespace": _SPACE, "name": lost_nodes.ACCOUNT}}
        for kind, verbs in _VERBS.items():
            what = {"verbs": verbs, "apiGroups": ["*"], "resources": ["*"], "namespaces": ["*"], "clusterScope": True}
            flow = {
                "apiVersion": "flowcontrol.apiserver.k8s.io/v1",
                "kind": "FlowSchema",
                "metadata": {"name": f"bench-{kind}"},
                "spec": {
                    "matchingPrecedence": 500,
                    "priorityLevelConfiguration": {"name": "workload-low"},
                    "distinguisherMethod": {"type": "ByUser"},
                    "rules": [{"subjects": [who], "resourceRules": [what]}],
                },
            }
            at.create(flow, manager=simulated_fleet.MANAGER)
        waiting.until(lambda: all(self._sent().values()), _SEEN_SECONDS, lambda: "requests of the agent: not counted")

    def _sent(self) -> dict[str, float]:
        found = {kind: float(count) for kind, count in _DISPATCHED.findall(self.kube.text("/metrics"))}
        return {kind: found.get(kind, 0.0) for kind in _VERBS}


def _used(container: str) -> float:
    """Seconds of processors that a container has used."""
    for folder in cgroups.folders(instance.BENCH):
        for file in folder.rglob(f"*{container}*/cpuacct.usage"):
            return int(file.read_text()) / 1e9
    raise UserError(f"container {container}: no cgroup counts its time")


class _Nodes:
    """The simulated nodes: KWOK is paused, and this renews their Leases, as often as kubelets do."""

    def __init__(self, at: Objects, kube: Kube) -> None:
        self._at, self._kube = at, kube
        self._names = [f"{_GROUP}-{number}" for number in range(_NODES)]
        self.silent: set[str] = set()

    def fill(self) -> None:
        """Lists as many images in their status as real ones have."""
        images = [
            {
                "names": [
                    f"123456789012.dkr.ecr.eu-central-1.amazonaws.com/team/image-{number}@sha256:{number:064x}",
                    f"123456789012.dkr.ecr.eu-central-1.amazonaws.com/team/image-{number}:2026.11.{number}",
                ],
                "sizeBytes": 10**8 + number,
            }
            for number in range(_IMAGES)
        ]
        simulated_fleet.side_by_side([partial(self._apply_status, name, {"images": images}) for name in self._names])

    @contextmanager
    def beating(self) -> Iterator[None]:
        """For as long as the block runs."""
        over = threading.Event()
        hearts = [threading.Thread(target=self._beat, args=(part, over), daemon=True) for part in range(_HEARTS)]
        with simulated_fleet.paused("kwok"):
            for each in hearts:
                each.start()
            try:
                yield
            finally:
                over.set()
                for each in hearts:
                    each.join()

    def _beat(self, part: int, over: threading.Event) -> None:
        names = self._names[part::_HEARTS]
        began, beats = time.monotonic(), 0
        while not over.wait(began + beats * _HEARTBEAT_SECONDS / len(names) - time.monotonic()):
            name = names[beats % len(names)]
            beats += 1
            if name not in self.silent:
                now = {"spec": {"renewTime": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")}}
                self._at.patch(_LEASE, name, "kube-node-lease", now, manager=simulated_fleet.MANAGER)

    def cordon(self, name: str) -> None:
        """As `kubectl cordon` does."""
        self._at.patch(_NODE, name, None, {"spec": {"unschedulable": True}}, manager=simulated_fleet.MANAGER)

    def reclaim(self, name: str) -> None:
        """As AWS' handler of spot notices does."""
        notice = {"key": "aws-node-termination-handler/spot-itn", "effect": "NoSchedule"}
        taints = partial(self._taints, name)
        self._at.patch(_NODE, name, None, {"spec": {"taints": [*taints(), notice]}}, manager=simulated_fleet.MANAGER)
        waiting.until(
            lambda: any(each["key"] == leaving.TAINT for each in taints()),
            _SEEN_SECONDS,
            lambda: f"node {name}: leaves, with the taints {taints()}",
        )

    def lose(self, name: str) -> None:
        """It falls silent, and Kubernetes gives it up: here by hand, since it gives simulated nodes more time."""
        self.silent.add(name)
        time.sleep(_GIVEN_UP_SECONDS)
        self._apply_status(name, {"conditions": [{"type": "Ready", "status": "Unknown"}]})
        pods = partial(self._at.list, GVK("", "v1", "Pod"), _SPACE, fields=f"spec.nodeName={name}")
        waiting.until(lambda: not pods(), _SEEN_SECONDS, lambda: f"node {name}: its pods are not ended")

    def _taints(self, name: str) -> list[dict[str, Any]]:
        return list(self._at.get(_NODE, name)["spec"].get("taints", []))

    def _apply_status(self, name: str, status: Mapping[str, Any]) -> None:
        node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}, "status": status}
        self._kube.apply(f"/api/v1/nodes/{name}/status", node, simulated_fleet.MANAGER)


def _start_jobs(bench: Running, folder: Path) -> None:
    """Jobs as `tensorplane run` makes them, each a gang of its own."""
    settings = Settings(copy.deepcopy(dict(_SECTIONS)))
    planned = plan.planned(JobRequest("many", _JOB, folder), Platform(_STACK, settings))
    job_set, *others = planned.objects
    at = simulated_fleet.api()
    (of_role,) = job_set["spec"]["replicatedJobs"]
    about = of_role["template"]["spec"]["template"]["metadata"]
    about["annotations"] = {**about.get("annotations", {}), kwok.TAKES: "24h"}
    numbered = [{**job_set, "metadata": {**job_set["metadata"], "name": f"many-{number}"}} for number in range(_JOBS)]
    for objects in (others, numbered):
        simulated_fleet.side_by_side([partial(at.create, each, manager=simulated_fleet.MANAGER) for each in objects])
    path = f"/api/v1/namespaces/{_SPACE}/pods"

    def run() -> int:
        labels = "jobset.sigs.k8s.io/jobset-name"
        return len(bench.kube.metadata(path, labelSelector=labels, fieldSelector="status.phase=Running"))

    waiting.until(lambda: run() == _GPUS, _STARTED_SECONDS, lambda: f"jobs: {run()} of {_GPUS} pods run", every=5)


@contextmanager
def _running() -> Iterator[tuple[_Agent, _Nodes]]:
    """The cluster with its jobs, and nothing else that changes nodes."""
    with instance.running(simulated_nodes=True, nodes=2) as bench, scratch("bench") as folder:
        sections = {f"tensorplane:{name}": section for name, section in _SECTIONS.items()}
        bench.deploy_with(yaml.safe_dump({"config": sections}), folder)
        bench.wait_for_controllers()
        _start_jobs(bench, folder)
        at = simulated_fleet.api()
        agent, nodes = _Agent(bench.kube), _Nodes(at, bench.kube)
        nodes.fill()
        agent.count(at)
        with nodes.beating():
            time.sleep(_HEARTBEAT_SECONDS)
            yield agent, nodes


def _cost() -> Measured:
    """At first nothing happens; then a node is cordoned, another one leaves, and a third one is lost."""
    states: dict[str, Cost] = {}
    with _running() as (agent, nodes):
        states["nothing happens"] = agent.measured(_MEASURED_SECONDS)
        for state, change in (
            ("a node cordoned", nodes.cordon),
            ("one leaves", nodes.reclaim),
            ("one lost", nodes.lose),
        ):
            change(f"{_GROUP}-{len(states)}")
            states[state] = agent.measured(_MEASURED_SECONDS)
            print(f"{state}: {states[state]}", flush=True)
        held = agent.mebibytes()
    text = "; ".join(f"{state}: {cost}" for state, cost in states.items())
    sizes = " + ".join(f"{each:.0f}" for each in held)
    return Measured(
        sum(states["nothing happens"].percent),
        f"{_JOBS} jobs, {_GPUS} pods, {_NODES} nodes, {_TEAMS} teams; {text}; {sizes} MiB",
    )


FIGURES = (Figure("lost-nodes-agent", "<= 0.5", "%", _cost),)
