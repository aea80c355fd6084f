"""Checks of a job in a queue: whether Kueue can admit it, and what a preemption costs."""

import math
from collections.abc import Iterator, Sequence

from tensorplane.components.base import outputs
from tensorplane.components.base.plural import number_of
from tensorplane.components.base.problems import Key, Problem, did_you_mean
from tensorplane.components.queues.capacity import PodSet, QueueCapacity
from tensorplane.components.queues.quota import Amount, Quota
from tensorplane.workloads.training_job.settings import Checkpoints, Within


def check(
    at: Key, capacity: QueueCapacity, pod_sets: Sequence[PodSet], checkpoints: Checkpoints | None, grace_seconds: int
) -> Iterator[Problem]:
    """Jobs that Kueue never admits, and jobs that lose work when Kueue reclaims a borrowed quota."""
    given = ((*at, "strategy"), (*at, "resources"), (*at, "checkpoints"), ("queues",), ("nodeGroups",))
    impossible = [pods for pods in pod_sets if not capacity.fits(pods)]
    yield from never_admitted(at, capacity, impossible)
    if not impossible and not capacity.fit_together(pod_sets):
        requests = " and ".join(_request(pods) for pods in pod_sets)
        reason = f"{requests} do not fit into queue {capacity.queue} together"
        yield Problem(
            (*at, "queue"), f"{reason}, so the job would never start; lower them, or raise the quota", given=given
        )
        return
    borrowed = _borrowed(capacity, pod_sets)
    if impossible or not borrowed:
        return
    lent = f"queue {capacity.queue} may borrow {', '.join(borrowed)}, which Kueue can reclaim"
    if checkpoints is None:
        remedy = "set checkpoints, or use a queue that does not borrow it"
        yield Problem((*at, "checkpoints"), f"missing, but {lent}, and the job would start over; {remedy}", given=given)
    elif grace_seconds < checkpoints.save_seconds:
        reason = f"is {grace_seconds}, but saving a checkpoint takes {checkpoints.save_seconds:g} s, and {lent}"
        remedy = f"set {checkpoints.save_seconds:g} or more"
        yield Problem((*at, "graceSeconds"), f"{reason}; {remedy}", given=given)


def never_admitted(at: Key, capacity: QueueCapacity, pod_sets: Sequence[PodSet]) -> Iterator[Problem]:
    """Pods that the queue never admits. One quota that is too small for several roles is one problem."""
    given = ((*at, "strategy"), (*at, "resources"), (*at, "checkpoints"), ("queues",), ("nodeGroups",))
    asking: dict[str, list[str]] = {}
    for pods in pod_sets:
        if not capacity.fits(pods):
            asking.setdefault(_why_never(capacity, pods), []).append(_request(pods))
    for why, asked_for in asking.items():
        yield Problem((*at, "queue"), f"{' and '.join(asked_for)} would never start: {why}", given=given)


def above_share(at: Key, capacity: QueueCapacity, pod_sets: Sequence[PodSet]) -> Iterator[Problem]:
    """Pods that keep their queue from getting its guaranteed GPUs back, because they request more cores or memory than
    come with their GPUs. They must fit a node."""
    given = ((*at, "strategy"), (*at, "resources"), ("queues",), ("nodeGroups",))
    for pods in pod_sets:
        kind = capacity.above_share(pods) if capacity.fits(pods) else None
        if kind is None or kind.flavor.share is None:
            continue
        most, gpus, flavor = kind.flavor.share.times(pods.resources.gpus), pods.resources.gpus, kind.flavor.name
        key, requested, limit, unit = ("cpus", pods.each.cpus, most.cpus, "cores")
        if requested <= limit:
            key, requested, limit, unit = ("memoryGib", pods.each.memory_gib, most.memory_gib, "GiB")
        reason = (
            f"{pods.role} pods request {requested:g} {unit}, but {number_of(gpus, 'GPU')} of {flavor}"
            f" {'comes' if gpus == 1 else 'come'} with {math.floor(limit * 100) / 100:g}, so queue {capacity.queue}"
            f" would not get its guaranteed {flavor} back from queues that borrow them"
        )
        remedy = f"lower it, raise gpus, or choose an accelerator with more {unit} per GPU"
        yield Problem((*at, *pods.at, key), f"{reason}; {remedy}", given=given)


def check_within(
    at: Key, capacity: QueueCapacity, pod_sets: Sequence[PodSet], within: Within | None
) -> Iterator[Problem]:
    """A topology level that the stack does not name, or more pods than fit into one of its domains."""
    if within is None:
        return
    level = within.level
    given = (("topology",), ("nodeGroups",), (*at, "strategy"), (*at, "resources"), ("queues",))
    path = (*at, "within")
    if not capacity.levels:
        reason = "is set, but the stack has no topology; set topology, such as [zone, host]"
        yield Problem(path, reason, given=given)
    elif level not in capacity.levels:
        known = ", ".join(capacity.levels)
        near = did_you_mean(level, capacity.levels)
        yield Problem(path, f"unknown level {level}; choose one of {known}{near}", given=given)
    else:
        for pods in pod_sets if within.required else ():
            most = capacity.most_within(pods, capacity.levels[level]) if pods.resources.gpus else None
            if most is not None and most < pods.count and capacity.fits(pods):
                reason = (
                    f"{_pods(pods)} of {number_of(pods.resources.gpus, 'GPU')} do not fit into one {level}, "
                    f"which has room for {most}"
                )
                yield Problem(path, f"{reason}; set a wider level, or {{level: {level}, required: false}}", given=given)


def at_stake(
    capacity: QueueCapacity, pod_sets: Sequence[PodSet], checkpoints: Checkpoints | None, grace_seconds: int
) -> outputs.Preemption | None:
    """What preemption costs a job that may borrow; None if it cannot."""
    borrowed = _borrowed(capacity, pod_sets)
    if not borrowed or checkpoints is None:
        return None
    return outputs.Preemption(
        borrowed=borrowed,
        saveSeconds=checkpoints.save_seconds,
        graceSeconds=grace_seconds,
        steps=checkpoints.steps,
        pods=sum(pods.count for pods in pod_sets),
        gpus=sum(pods.count * pods.resources.gpus for pods in pod_sets),
    )


def _borrowed(capacity: QueueCapacity, pod_sets: Sequence[PodSet]) -> list[str]:
    return sorted({kind.flavor.name for pods in pod_sets for kind in capacity.borrows(pods)})


def _why_never(capacity: QueueCapacity, pods: PodSet) -> str:
    """Why Kueue never admits these pods, and what to do."""
    usable = list(capacity.usable(pods))
    if not usable:
        wanted = (
            pods.resources.node_group
            or " or ".join(pods.resources.accelerators)
            or ("GPUs" if pods.each.gpus else "CPUs")
        )
        has = ", ".join(kind.flavor.name for kind, _ in capacity.kinds) or "nothing"
        return f"queue {capacity.queue} has {has}, but no {wanted} for them; use another queue"
    limits = " or ".join(_held(kind, most) for kind, most in usable)
    count = capacity.most(pods)
    near = f" (nearest: {count})" if count else ""
    return f"queue {capacity.queue} has at most {limits}; lower them, or raise the quota{near}"


def _request(pods: PodSet) -> str:
    return f"{_pods(pods)} of {_amount(pods.each)}"


def _pods(pods: PodSet) -> str:
    return number_of(pods.count, f"{pods.role} pod")


def _amount(amount: Amount) -> str:
    parts = [number_of(amount.gpus, "GPU")] if amount.gpus else []
    if not math.isinf(amount.cpus):
        parts += [number_of(amount.cpus, "CPU"), f"{amount.memory_gib:g} GiB"]
    return ", ".join(parts)


def _held(kind: Quota, most: Amount) -> str:
    lent = most.gpus - kind.guaranteed.gpus
    borrowed = f" ({lent} of them borrowed)" if lent else ""
    return f"{kind.flavor.name} with {_amount(most)}{borrowed}" if kind.flavor.is_gpu else _amount(most) or "no GPUs"
