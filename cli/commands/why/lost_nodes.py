"""What a lost node has done to a job: pods whose end it does not report, and pods that were ended for it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

from cli.api_values import Object, moment
from cli.commands.why.answer import some
from cli.kueue.facts import Details
from components.base.labels import FENCED

_SLACK = timedelta(seconds=30)
"""How long a pod may outlast its grace period."""
_ENDED = ("Succeeded", "Failed")
REASON = "NodeLost"
"""Of the agent's events (`agents/lost_nodes/cluster.py`)."""


def lines(details: Details, now: datetime) -> Iterator[str]:
    """A sentence for each node of which it waits, and for the last pod that was ended for a lost one."""
    lost: dict[str, list[Object]] = {}
    for pod in details.pods:
        if _is_cut_off(pod, now):
            lost.setdefault(pod["spec"]["nodeName"], []).append(pod)
    for node, pods in sorted(lost.items()):
        yield _of(node, pods)
    of_job = f"{details.job_set}-"
    ended = [each for each in details.events if each.get("reason") == REASON and _named(each).startswith(of_job)]
    if ended:
        last = max(ended, key=lambda event: str(event.get("lastTimestamp") or ""))
        yield f"{_named(last)} was {last.get('message', '')}."


def _named(event: Object) -> str:
    return str((event.get("involvedObject") or {}).get("name", ""))


def _is_cut_off(pod: Object, now: datetime) -> bool:
    due = moment(pod["metadata"].get("deletionTimestamp"))
    ended = (pod.get("status") or {}).get("phase") in _ENDED
    return due is not None and due < now - _SLACK and bool(pod["spec"].get("nodeName")) and not ended


def _of(node: str, pods: list[Object]) -> str:
    names = [pod["metadata"]["name"] for pod in pods]
    problem = f"Node {node} does not report the end of {some(names)}, so no new pods start"
    if all((pod["metadata"].get("annotations") or {}).get(FENCED) == "true" for pod in pods):
        return f"{problem}; the agent nodes.lost ends them once the node is lost."
    # Two gangs that write at once would mix what they write.
    command = f"kubectl -n {pods[0]['metadata']['namespace']} delete pod {' '.join(names)} --force --grace-period=0"
    return (
        f"{problem}. They write where nothing keeps a former pod out, so nothing ends them by force; once the machine"
        f" is off: {command}"
    )
