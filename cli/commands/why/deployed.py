"""Why pods of a server, a scorer, a recorder or a TensorBoard do not run, and which are on lost or leaving nodes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from tensorplane.agents.lost_nodes import cluster, leaving
from tensorplane.agents.lost_nodes.pods import REPLACED_AFTER
from tensorplane.cli.api_values import Object
from tensorplane.cli.commands.why import nodes, pods
from tensorplane.cli.commands.why.answer import Answer, some
from tensorplane.cli.kueue.objects import JobObjects, condition
from tensorplane.components.base.labels import COMPONENT, NAME
from tensorplane.core.kube import Kube, ReadableLists
from tensorplane.workloads.model_server import manifest

_JOBS = ("trainingJob", "notebook", "pipeline", "sweep")


def is_one(declared: Mapping[str, Any], name: str) -> bool:
    """Whether a name is that of a workload whose pods a Deployment keeps."""
    about = declared.get(name)
    return isinstance(about, Mapping) and about.get("kind") not in (None, *_JOBS)


def ask(api: Kube, namespace: str, name: str) -> Answer:
    """The answer of a cluster about a workload of a stack. What the user may not read is left out, with a note."""
    lists, inside = ReadableLists(api), f"/api/v1/namespaces/{namespace}"
    found = api.items(f"{inside}/pods", labelSelector=f"{NAME}={name}")
    events, all_nodes = lists.read(f"{inside}/events") or [], lists.read("/api/v1/nodes") or []
    return answer(name, JobObjects(found, events), all_nodes, tuple(lists.notes))


def answer(name: str, details: JobObjects, there: list[Object], notes: tuple[str, ...] = ()) -> Answer:
    """The answer for pods and nodes that were read."""
    staying = [pod for pod in details.pods if "deletionTimestamp" not in pod["metadata"]]
    ready = sum(condition(pod, "Ready").holds for pod in staying)
    conclusion = f"{name}: {ready} of {len(staying)} pods ready" if staying else f"{name} has no pods"
    # As Deployments name their pods: those of `digits` are not those of `digits-server`.
    own = re.compile(rf"{re.escape(name)}(-canary)?-[a-z0-9]+-[a-z0-9]{{5}}")
    events = [each for each in details.events if own.fullmatch(nodes.involved_name(each))]
    moved = nodes.agent_lines(JobObjects(events=events, job_set=name))
    lines = (*_on_nodes(details, there), *pods.reasons(details), *_without_model(name, staying), *moved)
    return Answer(conclusion, "running" if staying and ready == len(staying) else "waiting", lines, notes=notes)


def _without_model(name: str, staying: list[Object]) -> Iterator[str]:
    """What a model server waits for: its container runs from the start, and is ready once it serves a version."""
    for pod in staying:
        of_server = pod["metadata"].get("labels", {}).get(COMPONENT) == manifest.COMPONENT_VALUE
        if of_server and pod["status"].get("phase") == "Running" and not condition(pod, "Ready").holds:
            yield f"A model server is ready once its first model is loaded; see: tensorplane models {name}"
            return


def _on_nodes(details: JobObjects, there: list[Object]) -> Iterator[str]:
    """A sentence for each node with pods of it that is lost or leaves."""
    for node in there:
        name = node["metadata"]["name"]
        here = [pod for pod in details.pods if pod["spec"].get("nodeName") == name]
        replaced = [pod["metadata"]["name"] for pod in here if "deletionTimestamp" in pod["metadata"]]
        staying = [pod["metadata"]["name"] for pod in here if pod["metadata"]["name"] not in replaced]
        announced = leaving.announcement(node)
        if cluster.is_lost(node) and replaced:
            yield f"Node {name} is lost: it does not report the end of {some(replaced)}, which others have replaced."
        if cluster.is_lost(node) and staying:
            then = f"the agent nodes.lost replaces pods {REPLACED_AFTER:.0f} s after the last heartbeat"
            yield f"Node {name} is lost: {some(staying)} may still answer; {then}."
        elif announced and staying:
            yield f"Node {name} {announced.words}: {some(staying)} must move."
    for pod in details.pods:
        if "deletionTimestamp" not in pod["metadata"]:
            yield from nodes.unhealthy_device_lines(pod)
