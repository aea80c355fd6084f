"""What a queue makes of a job: whether it can ever start, whether it may be stopped for others, and what that costs."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from components.faults import Fault, Key
from components.queue.quota import Amount, Quota
from components.queue.room import PodSet, Room


@dataclass(frozen=True)
class Contract:
    """How a job gets over being stopped."""

    every_steps: int
    """Steps between two checkpoints."""
    save_seconds: float
    """How long saving one takes at most."""


def check(
    at: Key, room: Room, pod_sets: Sequence[PodSet], contract: Contract | None, grace_seconds: int
) -> Iterator[Fault]:
    """Jobs that would wait for ever, and such as would lose work when others want back what they borrowed."""
    given = ((*at, "strategy"), (*at, "resources"), ("queues",), ("nodeGroups",))
    impossible = [pods for pods in pod_sets if not room.fits(pods)]
    for pods in impossible:
        yield Fault((*at, "queue"), _too_large(room, pods), given=given)
    borrowed = _borrowed(room, pod_sets)
    if impossible or not borrowed:
        return
    lent = f"queue {room.queue} may borrow {', '.join(borrowed)}, whose owner may want it back"
    if contract is None:
        need = "need checkpoints to go on from, or a queue that borrows none of it"
        yield Fault((*at, "checkpoints"), f"missing: {lent}, and the job would begin anew: {need}", given=given)
    elif grace_seconds < contract.save_seconds:
        reason = f"got {grace_seconds}, and saving a checkpoint takes {contract.save_seconds:g}: {lent}"
        need = f"need at least {contract.save_seconds:g}"
        yield Fault((*at, "graceSeconds"), f"{reason}; {need}", given=(*given, (*at, "checkpoints")))


def at_stake(
    room: Room, pod_sets: Sequence[PodSet], contract: Contract | None, grace_seconds: int
) -> dict[str, Any] | None:
    """What reports say of a job that may be stopped: plain values; None for one that holds nothing borrowed."""
    borrowed = _borrowed(room, pod_sets)
    if not borrowed or contract is None:
        return None
    return {
        "borrowed": borrowed,
        "saveSeconds": contract.save_seconds,
        "graceSeconds": grace_seconds,
        "steps": contract.every_steps,
        "pods": sum(pods.count for pods in pod_sets),
        "gpus": sum(pods.count * pods.resources.gpus for pods in pod_sets),
    }


def _borrowed(room: Room, pod_sets: Sequence[PodSet]) -> list[str]:
    return sorted({kind.flavor.name for pods in pod_sets for kind in room.borrows(pods)})


def _too_large(room: Room, pods: PodSet) -> str:
    asked = f"{pods.count} {pods.role} pods of {_amount(pods.each)}"
    usable = list(room.usable(pods))
    if not usable:
        wanted = pods.resources.node_group or pods.resources.accelerator or ("GPUs" if pods.each.gpus else "CPUs")
        has = ", ".join(kind.flavor.name for kind, _ in room.kinds) or "nothing"
        return f"{asked}, and queue {room.queue} has {has}, no {wanted} that would take them: they would never start"
    limits = " or ".join(_held(kind, most) for kind, most in usable)
    count = room.most(pods)
    near = f" (nearest: {count})" if count else ""
    return f"{asked}, but queue {room.queue} holds at most {limits}: they would never start{near}"


def _amount(amount: Amount) -> str:
    parts = [f"{amount.gpus} GPUs"] if amount.gpus else []
    if not math.isinf(amount.cpus):
        parts += [f"{amount.cpus:g} CPUs", f"{amount.memory_gib:g} GiB"]
    return ", ".join(parts)


def _held(kind: Quota, most: Amount) -> str:
    lent = most.gpus - kind.guaranteed.gpus
    told = f" ({lent} of them borrowed)" if lent else ""
    return f"{kind.flavor.name} with {_amount(most)}{told}" if kind.flavor.is_gpu else _amount(most) or "no GPUs"
