"""What nodes have done to a job: pods whose end a lost one does not report, broken devices, pods that had to move."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

from tensorplane.agents.lost_nodes import device_faults
from tensorplane.agents.lost_nodes.cluster import REPORTER
from tensorplane.agents.lost_nodes.device_faults import ALL_FAULTY_SECONDS, FAULT_SECONDS
from tensorplane.cli.api_values import Object, moment
from tensorplane.cli.commands.why.answer import some
from tensorplane.cli.kueue.objects import JobObjects
from tensorplane.components.base.labels import FENCED

OUT_OF_SERVICE = "node.kubernetes.io/out-of-service"
"""Taint by which a person tells Kubernetes that a machine is off (from Kubernetes 1.28 on)."""
_SLACK = timedelta(seconds=30)
"""How long a pod may outlast its grace period."""
_ENDED_PHASES = ("Succeeded", "Failed")


def lines(details: JobObjects, now: datetime) -> Iterator[str]:
    """A sentence for each node for which it waits, each broken device, and the last pod that was ended or moved."""
    lost: dict[str, list[Object]] = {}
    for pod in details.pods:
        if _is_overdue(pod, now):
            lost.setdefault(pod["spec"]["nodeName"], []).append(pod)
    for node, pods in sorted(lost.items()):
        yield _node_line(node, pods)
    for pod in details.pods:
        if "deletionTimestamp" not in pod["metadata"]:
            yield from unhealthy_device_lines(pod)
    yield from agent_lines(details)


def agent_lines(details: JobObjects) -> Iterator[str]:
    """A sentence for the last of its pods that the agent has ended or moved."""
    ended = [each for each in details.events if _is_reported(each) and involved_name(each).startswith(details.job_set)]
    if details.job_set and ended:
        last = max(ended, key=lambda event: str(event.get("lastTimestamp") or ""))
        yield f"{involved_name(last)} was {last.get('message', '')}."


def involved_name(event: Object) -> str:
    """The name of what an Event is about."""
    return str((event.get("involvedObject") or {}).get("name", ""))


def _is_reported(event: Object) -> bool:
    """Whether the agent of lost nodes has reported it."""
    return (event.get("source") or {}).get("component") == REPORTER


def unhealthy_device_lines(pod: Object) -> Iterator[str]:
    """A sentence for each device of a pod that does not work."""
    after = f"{FAULT_SECONDS:.0f} s, or {ALL_FAULTY_SECONDS:.0f} s if no device of the node works"
    for resource, device in device_faults.unhealthy_devices(pod):
        what = f"{resource} {device} of node {pod['spec']['nodeName']}, which {pod['metadata']['name']} has"
        yield f"{what}, is unhealthy; the agent nodes.lost moves the pod after {after}."


def _is_overdue(pod: Object, now: datetime) -> bool:
    due = moment(pod["metadata"].get("deletionTimestamp"))
    ended = (pod.get("status") or {}).get("phase") in _ENDED_PHASES
    return due is not None and due < now - _SLACK and bool(pod["spec"].get("nodeName")) and not ended


def _node_line(node: str, pods: list[Object]) -> str:
    names = [pod["metadata"]["name"] for pod in pods]
    problem = f"Node {node} does not report the end of {some(names)}, so no new pods start"
    if all((pod["metadata"].get("annotations") or {}).get(FENCED) == "true" for pod in pods):
        return f"{problem}; the agent nodes.lost ends them if the node is lost or not ready."
    # Two gangs that write at once would mix what they write. A pod that is deleted by force is still waited for: its
    # Job needs a phase, which the taint lets Kubernetes' pod garbage collector set.
    taint = f"kubectl taint nodes {node} {OUT_OF_SERVICE}"
    return (
        f"{problem}. They write where nothing keeps a former pod out, so nothing ends them by force; once the machine"
        f" is off: {taint}=nodeshutdown:NoExecute; once it is back: {taint}-"
    )
