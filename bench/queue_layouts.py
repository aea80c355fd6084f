"""How long jobs wait in queues: one queue for all of them, compared with tensorplane's queues per team."""

from __future__ import annotations

import heapq
import math
import random
import statistics
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import yaml
from kubernetes import client, config

from bench import instance, quiet, simulated_fleet, waiting
from bench.figure import Figure, Measured
from tensorplane.components import versions
from tensorplane.components.base.model import Resources
from tensorplane.components.namespace.rules import MANAGED
from tensorplane.components.node_groups import placement as node_placement
from tensorplane.components.node_groups.fleet import Fleet
from tensorplane.components.queues import flavors, quota, topology
from tensorplane.components.queues.flavors import Flavor
from tensorplane.components.queues.manifest import cluster_queue_spec, cluster_wide_name, flavor_spec
from tensorplane.components.queues.settings import PRIORITIES, QueueArgs
from tensorplane.core.errors import UserError
from tensorplane.core.gvk import GVK
from tensorplane.core.kube_objects import Objects
from tensorplane.core.scratch import scratch
from tensorplane.workloads.pods import pod

_STACK = "bench"
_TEAMS, _DEPTH, _SEED = 20, 500, 20261121
_PER_POD = 8
"""GPUs: a whole node."""
_LIMIT_SECONDS = 500
_KUEUE = partial(GVK.parse, versions.KUEUE_API)
# Any stack with a queue installs Kueue.
_SETTINGS = {"config": {"tensorplane:queues": {"any": {"cpus": 1, "memoryGib": 1}}}}

Layout = Mapping[str, QueueArgs]


def _kinds(machines: Fleet) -> dict[str, Flavor]:
    levels = topology.labels_of(["zone", "host"], topology.LEVELS)
    return flavors.of(machines, own_nodes=True, levels=tuple(levels.values()))


def _whole_nodes(machines: Fleet) -> dict[str, int]:
    """GPUs of each accelerator, a multiple that gives every team whole nodes."""
    share = _TEAMS * _PER_POD
    return {name: (kind.gpus_max or 0) // share * share for name, kind in _kinds(machines).items() if kind.is_gpu}


def one(machines: Fleet) -> Layout:
    """Everything in one queue."""
    return {"all": QueueArgs(gpus=_whole_nodes(machines))}


def generated(machines: Fleet) -> Layout:
    """A queue for each team, every other one of high priority: the same GPUs in all, in one cohort."""
    gpus = _whole_nodes(machines)
    return {
        f"team-{team}": QueueArgs(
            priority="high" if team % 2 else "low",
            gpus={name: most // _TEAMS for name, most in gpus.items()},
            may_borrow={name: most // 2 for name, most in gpus.items()},
        )
        for team in range(_TEAMS)
    }


def objects(layout: Layout, machines: Fleet) -> Iterator[dict[str, Any]]:
    """tensorplane's objects for these queues."""
    kinds = _kinds(machines)
    levels = next(kind.levels for kind in kinds.values() if kind.levels)
    yield _object("Topology", topology.object_name(_STACK, levels), spec=topology.spec(levels))
    for kind in kinds.values():
        name = cluster_wide_name(_STACK, kind.object_name)
        yield _object("ResourceFlavor", name, spec=flavor_spec(kind, _STACK))
    for name, args in layout.items():
        wide = cluster_wide_name(_STACK, name)
        spec = cluster_queue_spec(args, quota.of(args, kinds), _STACK, [_STACK])
        yield _object("ClusterQueue", wide, spec=spec)
        yield _object("WorkloadPriorityClass", wide, value=PRIORITIES[args.priority], description=name)
        yield _object("LocalQueue", name, namespace=_STACK, spec={"clusterQueue": wide})


def _object(kind: str, name: str, *, namespace: str | None = None, **fields: Any) -> dict[str, Any]:
    metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
    return {"apiVersion": versions.KUEUE_API, "kind": kind, "metadata": metadata, **fields}


@dataclass(frozen=True)
class Job:
    """A job of the mix: its pods of eight GPUs, and how long they run once admitted, perhaps for ever."""

    name: str
    queue: str
    pods: int
    seconds: float

    @property
    def gpus(self) -> int:
        return self.pods * _PER_POD


def mix(layout: Layout, *, pods: int, seconds: float) -> list[Job]:
    """The same jobs for every layout, of random sizes and durations; every queue gets the same number."""
    chance, names = random.Random(_SEED), list(layout)  # noqa: S311  # the same in each run
    return [
        Job(f"job-{i}", names[i % len(names)], chance.randint(1, pods), chance.uniform(0.5, 1.5) * seconds)
        for i in range(_DEPTH)
    ]


def _workload(job: Job, layout: Layout, machines: Fleet) -> dict[str, Any]:
    resources = Resources(cpus=1, memory_gib=1, gpus=_PER_POD)
    placement = node_placement.spec(machines, resources, interruptible=True, synchronous=True, queued=True)
    container = pod.Container(image="nothing.test/at-all", resources=resources)
    near = topology.annotations(None, required=False)
    template = pod.template("default", {}, container, grace_seconds=30, placement=placement, annotations=near)
    template["spec"]["restartPolicy"] = "Never"
    wide = cluster_wide_name(_STACK, job.queue)
    return _object(
        "Workload",
        job.name,
        namespace=_STACK,
        spec={
            "queueName": job.queue,
            "priority": PRIORITIES[layout[job.queue].priority],
            "priorityClassRef": {"group": "kueue.x-k8s.io", "kind": "WorkloadPriorityClass", "name": wide},
            # Without a topology request, a bare Workload would not be placed like that of a job.
            "podSets": [
                {"name": "worker", "count": job.pods, "template": template, "topologyRequest": {"unconstrained": True}}
            ],
        },
    )


@dataclass
class Replay:
    """One replay of the mix: when each job was admitted, in seconds after the queues were resumed."""

    at: Objects
    custom: client.CustomObjectsApi
    jobs: Mapping[str, Job]
    admitted: dict[str, float] = field(default_factory=dict)
    finished: dict[str, float] = field(default_factory=dict)
    _conditions: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    _due: list[tuple[float, str]] = field(default_factory=list)
    _over: threading.Event = field(default_factory=threading.Event)
    _began: float = 0

    def run(self, resume: Callable[[], object]) -> None:
        """Resumes the queues, simulates pods, and returns when the last job is admitted and, if it ends, finished."""
        ending = sum(1 for job in self.jobs.values() if math.isfinite(job.seconds))
        watch = threading.Thread(target=self._watch, daemon=True)
        watch.start()
        waiting.until(
            lambda: len(self._conditions) == len(self.jobs),
            _LIMIT_SECONDS,
            lambda: f"jobs: {len(self._conditions)} of {len(self.jobs)} seen",
            every=0.1,
        )
        if self.admitted:
            raise UserError(f"jobs: {len(self.admitted)} admitted before the queues were resumed")
        self._began = time.monotonic()
        resume()
        with ThreadPoolExecutor(8) as pool:
            while len(self.admitted) < len(self.jobs) or len(self.finished) < ending:
                now = time.monotonic() - self._began
                if now > _LIMIT_SECONDS:
                    raise UserError(f"jobs: {len(self.admitted)} of {len(self.jobs)} admitted after {now:.0f} s")
                while self._due and self._due[0][0] <= now:
                    name = heapq.heappop(self._due)[1]
                    self.finished[name] = now
                    pool.submit(self._finish, name)
                time.sleep(0.005)
        self._over.set()
        watch.join(30)

    def _watch(self) -> None:
        for _, found in self.at.watch(_KUEUE("Workload"), ns=_STACK, cancelled=self._over):
            name = found["metadata"]["name"]
            held = {one["type"]: one["status"] for one in found.get("status", {}).get("conditions", [])}
            self._conditions[name] = found.get("status", {}).get("conditions", [])
            if held.get("Admitted") == "True" and name not in self.admitted:
                self.admitted[name] = time.monotonic() - self._began
                heapq.heappush(self._due, (self.admitted[name] + self.jobs[name].seconds, name))

    def _finish(self, name: str) -> None:
        now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        finished = {
            "type": "Finished",
            "status": "True",
            "reason": "Succeeded",
            "message": "",
            "lastTransitionTime": now,
        }
        group, _, version = versions.KUEUE_API.partition("/")
        body = {"status": {"conditions": [*self._conditions[name], finished]}}
        self.custom.patch_namespaced_custom_object_status(group, version, _STACK, "workloads", name, body)


def _held(cluster_queue: dict[str, Any]) -> dict[str, Any]:
    """The stopped queue, which holds jobs."""
    return {**cluster_queue, "spec": {**cluster_queue["spec"], "stopPolicy": "Hold"}}


def _replay(at: Objects, layout: Layout, jobs: list[Job], machines: Fleet) -> Replay:
    made = list(objects(layout, machines))
    queues = [each for each in made if each["kind"] == "ClusterQueue"]
    for each in made:
        at.apply(_held(each) if each in queues else each, manager=simulated_fleet.MANAGER, force=True)
    workloads = [_workload(job, layout, machines) for job in jobs]
    simulated_fleet.side_by_side([partial(at.create, each, manager=simulated_fleet.MANAGER) for each in workloads])
    quiet.wait_for_idle_processors()
    custom = client.CustomObjectsApi(config.new_client_from_config(str(instance.BENCH.kubeconfig)))
    replay = Replay(at, custom, {job.name: job for job in jobs})
    resume = [partial(at.apply, each, manager=simulated_fleet.MANAGER, force=True) for each in queues]
    replay.run(partial(simulated_fleet.side_by_side, resume))
    _clear(at, made, jobs)
    return replay


def _clear(at: Objects, made: list[dict[str, Any]], jobs: list[Job]) -> None:
    """Removes everything of a replay."""
    simulated_fleet.side_by_side([partial(at.delete, _KUEUE("Workload"), job.name, _STACK) for job in jobs])
    for each in reversed(made):
        at.delete(GVK.of(each), each["metadata"]["name"], each["metadata"].get("namespace"))
    names = {*(job.name for job in jobs), *(each["metadata"]["name"] for each in made)}
    kinds = ("Workload", "ClusterQueue", "ResourceFlavor", "Topology")

    def gone() -> bool:
        return not any(left["metadata"]["name"] in names for kind in kinds for left in at.list(_KUEUE(kind)))

    waiting.until(gone, 120, lambda: "objects of the last replay: not deleted")


@contextmanager
def _kueue(machines: Fleet) -> Iterator[Objects]:
    """A cluster with Kueue and the fleet's nodes."""
    with instance.running(simulated_nodes=True) as bench, scratch("bench") as folder:
        bench.deploy_with(yaml.safe_dump(_SETTINGS), folder)
        at = simulated_fleet.api()
        at.create(
            {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": _STACK, "labels": MANAGED}}, manager="bench"
        )
        simulated_fleet.start_nodes(at, machines)
        # Node leases and their controller would take processor time from Kueue and the API server.
        with simulated_fleet.nodes_at_rest(at):
            yield at


_ROUNDS = 7


def _wait() -> Measured:
    """Jobs that all fit: measures the speed of admission."""
    # The time of Kueue's cycles grows with the nodes, since it examines all of them; that of an admission grows less.
    machines = simulated_fleet.machines(6)
    waits: dict[Callable[[Fleet], Layout], list[float]] = {one: [], generated: []}
    with _kueue(machines) as at:
        for round_ in range(_ROUNDS):
            # The order alternates between rounds.
            for layout in (one, generated) if round_ % 2 else (generated, one):
                queues = layout(machines)
                replay = _replay(at, queues, mix(queues, pods=2, seconds=math.inf), machines)
                waits[layout].append(statistics.median(replay.admitted.values()))
    ratios = [many / one_ for many, one_ in zip(waits[generated], waits[one], strict=True)]
    ours, theirs = (statistics.median(waits[layout]) for layout in (generated, one))
    peer = f"p50 {ours:.1f} s in {_TEAMS} queues, {theirs:.1f} s in one"
    return Measured(statistics.median(ratios), f"{peer}; {min(ratios):.2f} to {max(ratios):.2f} in {_ROUNDS} rounds")


def _makespan() -> Measured:
    """Jobs that exceed the fleet, compared with the time they take if no GPU is ever idle."""
    machines = simulated_fleet.machines()
    layout = generated(machines)
    jobs = mix(layout, pods=16, seconds=15)
    floor = sum(job.gpus * job.seconds for job in jobs) / sum(_whole_nodes(machines).values())
    with _kueue(machines) as at:
        replay = _replay(at, layout, jobs, machines)
    last = max(replay.finished.values())
    return Measured(last / floor, f"{len(jobs)} jobs in {last:.0f} s, floor {floor:.0f} s")


FIGURES = (
    Figure("queue-wait", "<= 0.5", "x", _wait),
    Figure("queue-makespan", "<= 2", "x", _makespan),
)
