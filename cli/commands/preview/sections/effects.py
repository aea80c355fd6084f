"""Effects of changes beyond their own resource: which nodes and jobs restart."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Set
from functools import partial

from rich.text import Text

from tensorplane.cli.commands.preview import occupants
from tensorplane.cli.commands.preview.report import Change, Report
from tensorplane.cli.commands.preview.section import conditions, list_lines
from tensorplane.components.clusters.effects import Effect, Effects
from tensorplane.components.clusters.settings import ClusterArgs
from tensorplane.core import command_lines
from tensorplane.core.command_lines import STACK

_MADE_FIRST = "the new group is created first; then all nodes of the old one are deleted, and their pods stop"
_DELETED_FIRST = "all of its nodes are deleted, and their pods stop; only then is the new group created"
_CLUSTER_QUEUE = ":ClusterQueue"
_INDEX = re.compile(r"(\[\d+\])+$")
_JOBS_RESTART = "the stack's jobs in queues restart from their checkpoints; other jobs keep running"


def terminal(report: Report, _: int) -> Iterator[Text]:
    """A line each."""
    yield from (Text(f"note: {line}", style="yellow") for line in of_report(report))


def markdown(report: Report) -> Iterator[str]:
    """A list."""
    if notes := of_report(report):
        yield "## What restarts"
        yield from conditions(report)
        yield from list_lines(report, notes)


def of_report(report: Report) -> tuple[str, ...]:
    """The lines of a report, with who may run on node groups that lose their nodes."""
    return of(report.changes, report.stack, partial(occupants.fate, report))


def of(changes: Iterable[Change], stack: str = STACK, fate: Callable[[str], str] = lambda group: "") -> tuple[str, ...]:
    """A line for each resource whose change has effects. `fate`: sentences on who runs on a node group."""
    found = list(changes)
    clouds = [kind.effects for kind in ClusterArgs.kinds() if kind.effects]
    changed = {change.type for change in found}
    lines = (line for change in found for line in _lines(change, clouds, changed, stack))
    groups = (line for change in found for cloud in clouds for line in _of_node_group(change, cloud, fate))
    return (*groups, *lines, *_placed(found))


def emptied(changes: Iterable[Change], who: Callable[[str], str]) -> Iterator[str]:
    """The pods that stop because of what happens to their nodes, as a part of a sentence for each resource.

    `who`: whose pods they are, by node group.
    """
    found = list(changes)
    clouds = [kind.effects for kind in ClusterArgs.kinds() if kind.effects]
    changed = {change.type for change in found}
    for change in found:
        if change.operation in ("delete", "replace") and any(change.type == cloud.node_group for cloud in clouds):
            yield f"{emptied_group(change.name)}{who(change.name) if change.operation == 'replace' else ''}"
        elif any(effect.stops_pods for effect in _effects(change, clouds, changed)):
            yield f"pods on nodes of {_titled(change)}"


def emptied_group(name: str) -> str:
    """The part of a sentence for a node group that loses all of its nodes."""
    return f"every pod on node group {name}"


def lost(changes: Iterable[Change]) -> Iterator[str]:
    """A line for each resource with which more is lost than the resource."""
    words = {token: what for kind in ClusterArgs.kinds() if kind.effects for token, what in kind.effects.lost.items()}
    for change in changes:
        if change.operation in ("delete", "replace") and change.type in words:
            yield f"{_titled(change)} is {change.operation}d: {words[change.type]}"


def _lines(change: Change, clouds: Iterable[Effects], changed: Set[str], stack: str) -> Iterator[str]:
    yield from _of_queue(change, stack)
    for follows in dict.fromkeys(each.follows for each in _effects(change, clouds, changed)):
        yield f"{_titled(change)}: {follows}"


def _titled(change: Change) -> str:
    return f"{change.type.rpartition(':')[2]} {change.name}"


def _effects(change: Change, clouds: Iterable[Effects], changed: Set[str]) -> Iterator[Effect]:
    rules = (each for cloud in clouds for each in cloud.rules)
    return (each for each in rules if each.unless not in changed and _applies(each, change))


def _applies(effect: Effect, change: Change) -> bool:
    return (effect.type, "update") == (change.type, change.operation) and any(
        re.match(effect.properties, each.path) and not (effect.removed and each.new) for each in change.properties
    )


def _of_node_group(change: Change, cloud: Effects, fate: Callable[[str], str]) -> Iterator[str]:
    if (change.type, change.operation) != (cloud.node_group, "replace"):
        return
    causes = [each.path for each in change.properties if each.replaces]
    reasons = ", ".join(dict.fromkeys(_INDEX.sub("", cause) for cause in causes))
    because = f" (because of {reasons})" if causes else ""
    moves = cloud.zones is not None and any(cause.startswith(cloud.zones) for cause in causes)
    zones = "; set its zones in nodeGroups to keep it" if moves else ""
    order = _MADE_FIRST if cloud.made_first else _DELETED_FIRST
    text = f"node group {change.name} is replaced{because}: {order}{zones}"
    yield ". ".join(filter(None, (text, fate(change.name))))


def _of_queue(change: Change, stack: str) -> Iterator[str]:
    if change.operation == "delete" and change.type.endswith(_CLUSTER_QUEUE):
        yield (
            f"queue {change.name} is deleted after its running jobs end: the update waits for them for up to 10"
            " minutes, then fails with everything else done; the stack's own jobs end or move first. To see whose they"
            f" are, run: {command_lines.of_stack('top', stack)}"
        )


def _placed(changes: list[Change]) -> Iterator[str]:
    """Whether Kueue places pods by node follows from `min` and `max` of all groups with GPUs."""
    queues = any(change.operation == "update" and change.type.endswith(_CLUSTER_QUEUE) for change in changes)
    levels = {change.operation for change in changes if change.type.endswith(":Topology")} & {"create", "delete"}
    if queues and levels == {"create"}:
        yield (
            f"Kueue now places pods with GPUs by node: {_JOBS_RESTART}; set topology: [] to keep the present placement"
        )
    elif queues and levels == {"delete"}:
        yield f"Kueue no longer places pods with GPUs by node: {_JOBS_RESTART}"
    elif queues and levels:
        yield f"Kueue now places pods with GPUs by other network levels: {_JOBS_RESTART}"
