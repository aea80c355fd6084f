"""Which of the stack's workloads may run on a node group or a flavor, and which take its GPUs without a queue. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from tensorplane.cli.commands.preview.pods import Pods
from tensorplane.cli.commands.preview.report import OURS, Outputs, Report
from tensorplane.cli.output.texts import first_names
from tensorplane.components.admission import gpu_guard
from tensorplane.components.base import outputs
from tensorplane.components.base.labels import FLAVOR

_MAX_NAMES = 4
_UNSEEN = (outputs.PIPELINE, outputs.SWEEP)
"""Components whose pods are in no object of the stack: another program makes them."""


def of_group(report: Report, group: str) -> list[str]:
    """What may run on a node group before the update, as `training job digits`."""
    labelled = _labels(report, group)
    return [
        title
        for title, queues in _candidates(report, labelled, before=True)
        if _admitted(report, queues, labelled, before=True)
    ]


def fate(report: Report, group: str) -> str:
    """Who may run on a node group that loses its nodes, and what becomes of them, in sentences."""
    here, queues = of_group(report, group), queues_on(report, flavor_of(report, group))
    submitted = f"jobs that people submitted to queue {' or '.join(queues)}" if queues else ""
    if here:
        also = f"; so may {submitted}" if submitted else ""
        sentences = [f"Of this stack, {shortened(here)} may run there{also}"]
    else:
        also = f"; {submitted} may" if submitted else ""
        sentences = [f"No workload of this stack runs there{also}"]
    if here or queues:
        sentences.append(_again(report, group))
    if not _labels(report, group).get("gpusMax"):
        sentences.append("Other pods start again elsewhere if a controller, such as a Deployment, has them")
    elif guard_refuses(report):
        sentences.append("The stack's namespaces admit no other pods with GPUs")
    else:
        sentences.append(
            "Pods without a queue may run there too; only a controller, such as a Deployment, starts them again"
        )
    return ". ".join(sentences)


def whose(report: Report, group: str) -> str:
    """Who may run on a node group before the update, in a few words."""
    queues = queues_on(report, flavor_of(report, group))
    submitted = f"jobs that people submitted to queue {' or '.join(queues)} and that run there" if queues else ""
    here = shortened(of_group(report, group)) or "no workload declared in this stack"
    return ", ".join(filter(None, (submitted, here)))


def _again(report: Report, group: str) -> str:
    """What becomes of jobs that Kueue admitted to the flavor of a node group that loses its nodes."""
    flavor = flavor_of(report, group)
    if any(_flavor(new) == flavor for _, new in report.registered("NodeGroup").values() if new):
        return (
            f"Jobs keep their quota and start again on {flavor or 'other'} nodes, from a checkpoint if they write one"
        )
    when = "after a minute or more" if report.registered("QuotaReturn") else "once its waitForPodsReady times out"
    return (
        f"Kueue admitted jobs there to flavor {flavor}, so their new pods find no node: they are evicted {when}, then"
        f" wait for another flavor of their queue and start from a checkpoint if they write one. Jobs that require"
        f" {flavor} never start again"
    )


def unqueued(report: Report, flavor: str) -> list[str]:
    """What may take GPUs of a flavor without a queue after the update."""
    groups = [new for _, new in report.registered("NodeGroup").values() if new and _flavor(new) == flavor]
    found = (title for group in groups for title, queues in _candidates(report, group, before=False) if not any(queues))
    return list(dict.fromkeys(found))


def groups_of(report: Report) -> dict[str, dict[str, Outputs]]:
    """The node groups on which the pods of each component may run after the update, by the component's title."""
    found: dict[str, dict[str, Outputs]] = {}
    for name, (_, group) in report.registered("NodeGroup").items():
        for title, queues in _candidates(report, group, before=False) if group else ():
            if _admitted(report, queues, group, before=False):
                found.setdefault(title, {})[name] = group
    return found


def stranded(report: Report, flavor: str) -> list[str]:
    """What required GPUs of this flavor, and finds no node group any more."""
    groups = report.registered("NodeGroup").values()
    old, new = ([side for side in sides if side] for sides in zip(*groups, strict=True)) if groups else ([], [])
    former = [group for group in old if _flavor(group) == flavor]
    lost = (
        each.title
        for each in report.pods_after
        if each.gpus and any(_runs(each, group) for group in former) and not any(_runs(each, group) for group in new)
    )
    return list(dict.fromkeys(lost))


def queues_on(report: Report, flavor: str) -> list[str]:
    """The queues that may use a flavor before the update."""
    queues = ((name, old) for name, (old, _) in report.registered("Queue").items() if old)
    return [name for name, queue in queues if flavor in _flavors(queue)]


def guard_refuses(report: Report) -> bool:
    """Whether an admission policy refuses pods with GPUs that are neither in a queue nor declared by the stack."""
    return any(name.endswith(gpu_guard.OWN) for name in report.admission)


def shortened(titles: Sequence[str]) -> str:
    """A few names, and the number of the others."""
    return first_names(titles, _MAX_NAMES)


def flavor_of(report: Report, group: str) -> str:
    """The flavor of a node group before the update."""
    return _flavor(_labels(report, group))


def _labels(report: Report, group: str) -> Outputs:
    old, new = report.registered("NodeGroup").get(group, ({}, {}))
    return old or new


def _flavor(group: Outputs) -> str:
    return str((group.get("labels") or {}).get(FLAVOR, ""))


def _flavors(queue: Outputs) -> set[str]:
    return {each["name"] for each in queue.get("kinds") or ()}


def _admitted(report: Report, queues: Iterable[str], group: Outputs, *, before: bool) -> bool:
    """Whether one of the queues may use the group's flavor. No queue stands for pods without one."""
    registered = report.registered("Queue")
    return any(
        not queue or _flavor(group) in _flavors(registered.get(queue, ({}, {}))[0 if before else 1]) for queue in queues
    )


def _candidates(report: Report, group: Outputs, *, before: bool) -> Iterator[tuple[str, set[str]]]:
    """Workloads whose pods the nodes of a group may run, each with the queues of these pods, empty for none."""
    found: dict[str, set[str]] = {}
    has_gpus = bool(group.get("gpusMax") or group.get("tpusMax"))
    pods = report.pods_before if before else report.pods_after
    for each in pods:
        if bool(each.gpus) == has_gpus and _runs(each, group):
            found.setdefault(each.title, set()).add(each.queue)
    yield from found.items()
    yield from _unseen(report, has_gpus, before=before)


def _runs(each: Pods, group: Outputs) -> bool:
    return bool(each.kind) and each.fits(group.get("labels") or {}, group.get("taints") or ())


def _unseen(report: Report, has_gpus: bool, *, before: bool) -> Iterator[tuple[str, set[str]]]:
    for token in _UNSEEN:
        for name, (old, new) in report.registered(token.removeprefix(OURS)).items():
            registered = old if before else new
            if registered and (registered.get("gpus") or not has_gpus):
                stages = (registered.get("dag") or {}).values()
                queues = {str(each.get("queue") or "") for each in (stages or (registered,))}
                yield Pods(token, name, name).title, queues
