"""`tensorplane status`: what is in a cluster, read through its API and shown as tables. It works on any cluster."""

from __future__ import annotations

import datetime
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from tensorplane.components.base import jobset_paths
from tensorplane.components.base.labels import ACCELERATOR, JOB_SET_NAME, NO_ACCELERATOR, SIMULATED, SIMULATED_VALUE
from tensorplane.components.base.quantities import GIB, amount
from tensorplane.components.catalog import GPU_RESOURCE, TPU_RESOURCE
from tensorplane.core import times
from tensorplane.core.fitted_table import FittedTable
from tensorplane.core.kube import Kube
from tensorplane.driver import agent_states
from tensorplane.driver.agent_states import Agents
from tensorplane.driver.runs import failures, published

Object = dict[str, Any]

_QUEUES = "/apis/kueue.x-k8s.io"
_RUN_COLUMNS = ("namespace", "run", "state", "restarts", "age", "result")
_LEAST = ("version", "cluster queue", "program", "since", "restarts", "age", "memory", "port", "ready")
"""Columns that are left out on a narrow terminal, the least important first."""
_UNENFORCED = "declared, not enforced"
_KUBERNETES_SERVICE = ("default", "kubernetes")
_NODE_COLUMNS = ("name", "state", "version", "processors", "memory", "accelerators")


@dataclass(frozen=True)
class ClusterObjects:
    """The API's answers, from which all tables are made."""

    nodes: list[Object]
    pods: list[Object]
    claims: list[Object]
    volumes: list[Object]
    services: list[Object]
    policies: list[Object] = field(default_factory=list)
    """NetworkPolicies."""
    job_sets: list[Object] = field(default_factory=list)
    agents: Agents = field(default_factory=Agents)
    queues: list[Object] = field(default_factory=list)
    workloads: list[Object] = field(default_factory=list)


def gather(api: Kube) -> ClusterObjects:
    """Asks a cluster. Kueue's part is empty if Kueue is not installed."""
    group = api.get(_QUEUES)
    kueue = f"/apis/{group['preferredVersion']['groupVersion']}" if group else None
    return ClusterObjects(
        nodes=api.items("/api/v1/nodes"),
        pods=api.items("/api/v1/pods"),
        claims=api.items("/api/v1/persistentvolumeclaims"),
        volumes=api.items("/api/v1/persistentvolumes"),
        services=api.items("/api/v1/services"),
        policies=api.items("/apis/networking.k8s.io/v1/networkpolicies"),
        job_sets=api.items(f"{jobset_paths.JOB_SETS}/jobsets"),
        agents=agent_states.gather(api),
        queues=api.items(f"{kueue}/localqueues") if kueue else [],
        workloads=api.items(f"{kueue}/workloads") if kueue else [],
    )


def render(objects: ClusterObjects, now: datetime.datetime, *, embedded: bool) -> RenderableType:
    """The tables that have rows. `embedded`: on this machine, which reaches the cluster's internal addresses, and whose
    network does not enforce NetworkPolicies. No API says whether another cluster's does."""
    tables = [
        _table("Nodes", _NODE_COLUMNS, [_node(o) for o in objects.nodes]),
        _table(
            "Pods", ("namespace", "name", "state", "ready", "restarts", "age"), [_pod(o, now) for o in objects.pods]
        ),
        _table("Training", _RUN_COLUMNS, [_run(o, objects.pods, now) for o in objects.job_sets]),
        _table("Volumes", ("namespace", "claim", "state", "size", "volume"), _volumes(objects)),
        _table(
            "Queues", ("namespace", "queue", "cluster queue", "waiting", "running"), [_queue(o) for o in objects.queues]
        ),
        _table(
            "Queued work", ("namespace", "name", "queue", "state", "age"), [_work(o, now) for o in objects.workloads]
        ),
        _table("URLs", ("namespace", "service", "port", "URL"), urls(objects.services, objects.nodes, routed=embedded)),
        _table(
            "Network policies (docs/embedded-cluster.md)",
            ("namespace", "number", "state"),
            _unenforced(objects.policies) if embedded else [],
        ),
        _table("Agents", agent_states.COLUMNS, agent_states.rows(objects.agents, now)),
    ]
    return Group(*(Padding(table, (0, 0, 1, 0), expand=False) for table in tables if table.row_count))


def _table(title: str, columns: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> Table:
    table = FittedTable(title=title, least=_LEAST)
    for column in columns:
        table.add_column(column, overflow="ellipsis")
    for row in sorted(rows):
        table.add_row(*(Text(cell, style=_STYLES.get(cell, "")) for cell in row))
    return table


_STYLES = {
    **dict.fromkeys(("Ready", "Running", "Bound", "Admitted", agent_states.WORKING), "green"),
    **dict.fromkeys(("Pending", "Waiting", "ContainerCreating", "Released", "Available", _UNENFORCED), "yellow"),
    **dict.fromkeys(
        ("NotReady", "Failed", "Error", "CrashLoopBackOff", "ImagePullBackOff", "Lost", agent_states.DEAD), "red"
    ),
}


def _unenforced(policies: list[Object]) -> list[tuple[str, ...]]:
    counts = Counter(str(each["metadata"]["namespace"]) for each in policies)
    return [(namespace, str(count), _UNENFORCED) for namespace, count in counts.items()]


def _node(node: Object) -> tuple[str, ...]:
    status = node["status"]
    can = status.get("allocatable", {})
    state = "Ready" if condition(node, "Ready") else "NotReady"
    if node["spec"].get("unschedulable"):
        state += ", cordoned"
    if node["metadata"].get("annotations", {}).get(SIMULATED) == SIMULATED_VALUE:
        state += ", simulated"
    version = status.get("nodeInfo", {}).get("kubeletVersion", "")
    memory = can.get("memory")
    shown = f"{amount(memory) / GIB:.1f} GiB" if memory else ""
    return node["metadata"]["name"], state, version, can.get("cpu", ""), shown, _accelerators(node)


def _accelerators(node: Object) -> str:
    """The allocatable accelerators of a node, and their type if a label names it."""
    can = node["status"].get("allocatable", {})
    count = next((can[resource] for resource in (GPU_RESOURCE, TPU_RESOURCE) if resource in can), "0")
    kind = node["metadata"].get("labels", {}).get(ACCELERATOR, NO_ACCELERATOR)
    return count if kind == NO_ACCELERATOR else f"{count} {kind}"


def _pod(pod: Object, now: datetime.datetime) -> tuple[str, ...]:
    containers = pod["status"].get("containerStatuses", [])
    ready = f"{sum(bool(each.get('ready')) for each in containers)}/{len(pod['spec']['containers'])}"
    restarts = str(sum(each.get("restartCount", 0) for each in containers))
    return *_identity(pod), pod_state(pod), ready, restarts, age(pod, now)


def _run(job_set: Object, pods: list[Object], now: datetime.datetime) -> tuple[str, ...]:
    """One run of a training job, and why it failed or cannot start, or what it has published."""
    ours = [pod for pod in pods if _is_of(pod, job_set)]
    status = job_set.get("status", {})
    state = next((word for word in ("Completed", "Failed") if condition(job_set, word)), "")
    if not state:
        is_running = any(pod["status"].get("phase") == "Running" for pod in ours)
        state = "Waiting" if job_set["spec"].get("suspend") else "Running" if is_running else "Starting"
    why = failures.summarize(ours) if state == "Failed" else failures.cannot_start(ours)
    if state == "Completed" and (model := published.find(ours)):
        why = f"published {model.version}"
    return *_identity(job_set), state, str(status.get("restarts", 0)), age(job_set, now), why


def _is_of(pod: Object, job_set: Object) -> bool:
    about, run = pod["metadata"], job_set["metadata"]
    label = about.get("labels", {}).get(JOB_SET_NAME)
    return bool(about.get("namespace") == run.get("namespace") and label == run["name"])


def pod_state(pod: Object) -> str:
    """The reason of a container, else that of the pod, else its phase: the most specific one."""
    if pod["metadata"].get("deletionTimestamp"):
        return "Terminating"
    status = pod["status"]
    reasons = [
        state["reason"]
        for container in (*status.get("initContainerStatuses", []), *status.get("containerStatuses", []))
        for kind in ("waiting", "terminated")
        if (state := container.get("state", {}).get(kind)) and state.get("reason") not in (None, "Completed")
    ]
    return str((reasons or [status.get("reason") or status.get("phase", "Unknown")])[0])


def _volumes(objects: ClusterObjects) -> list[tuple[str, ...]]:
    """Claims with their volumes, then volumes without a claim, which may hold data."""
    rows: list[tuple[str, ...]] = [
        (
            *_identity(claim),
            _claim_state(claim),
            claim["status"].get("capacity", {}).get("storage", ""),
            claim["spec"].get("volumeName", ""),
        )
        for claim in objects.claims
    ]
    held = {row[-1] for row in rows}
    for volume in objects.volumes:
        name = volume["metadata"]["name"]
        if name not in held:
            size = volume["spec"].get("capacity", {}).get("storage", "")
            rows.append(("", "", volume["status"].get("phase", "Unknown"), size, name))
    return rows


def _claim_state(claim: Object) -> str:
    """Its phase; Terminating for a deleted claim that is still mounted, whose phase stays the old one."""
    deleted = claim["metadata"].get("deletionTimestamp")
    return "Terminating" if deleted else str(claim["status"].get("phase", "Unknown"))


def _queue(queue: Object) -> tuple[str, ...]:
    status = queue.get("status", {})
    waiting, running = str(status.get("pendingWorkloads", 0)), str(status.get("admittedWorkloads", 0))
    return *_identity(queue), queue["spec"]["clusterQueue"], waiting, running


def _work(work: Object, now: datetime.datetime) -> tuple[str, ...]:
    state = next((word for word in ("Finished", "Evicted", "Admitted") if condition(work, word)), "Waiting")
    return *_identity(work), work["spec"].get("queueName", ""), state, age(work, now)


def _identity(thing: Object) -> tuple[str, str]:
    return thing["metadata"].get("namespace", ""), thing["metadata"]["name"]


def condition(thing: Object, kind: str) -> bool:
    """Whether a condition of the object is True."""
    conditions = thing.get("status", {}).get("conditions", [])
    return any(each["type"] == kind and each["status"] == "True" for each in conditions)


def age(thing: Object, now: datetime.datetime) -> str:
    """For how long it has existed."""
    return times.age(datetime.datetime.fromisoformat(thing["metadata"]["creationTimestamp"]), now)


def urls(services: list[Object], nodes: list[Object], *, routed: bool) -> list[tuple[str, ...]]:
    """Namespace, name, port and URL of each port that can be reached; add-ons' services are left out."""
    rows: list[tuple[str, ...]] = []
    for service in services:
        name, namespace = service["metadata"]["name"], service["metadata"]["namespace"]
        if namespace.startswith("kube-") or namespace.endswith("-system") or (namespace, name) == _KUBERNETES_SERVICE:
            continue
        for port in service["spec"].get("ports", []):
            if port.get("protocol", "TCP") == "TCP" and (address := _address(service, port, nodes, routed=routed)):
                rows.append((namespace, name, port.get("name", ""), _scheme(port) + address))
    return rows


def _address(service: Object, port: Object, nodes: list[Object], *, routed: bool) -> str | None:
    """Host and port; None for a service that only pods can reach."""
    spec = service["spec"]
    for ingress in service.get("status", {}).get("loadBalancer", {}).get("ingress", []):
        return f"{ingress.get('ip') or ingress['hostname']}:{port['port']}"
    if routed and spec.get("clusterIP", "None") != "None":
        return f"{spec['clusterIP']}:{port['port']}"
    if "nodePort" in port and (node := _node_address(nodes)):
        return f"{node}:{port['nodePort']}"
    return None


def _node_address(nodes: list[Object]) -> str | None:
    addresses = [address for node in nodes for address in node["status"].get("addresses", [])]
    order = ("ExternalIP", "InternalIP")
    known = sorted((each for each in addresses if each["type"] in order), key=lambda each: order.index(each["type"]))
    return known[0]["address"] if known else None


def _scheme(port: Object) -> str:
    names = f"{port.get('appProtocol', '')} {port.get('name', '')}".lower()
    for word, scheme in (("grpc", ""), ("https", "https://"), ("http", "http://"), ("rest", "http://")):
        if word in names:
            return scheme
    return ""
