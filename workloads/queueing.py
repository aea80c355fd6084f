"""What a queue makes of a job: whether it can ever start, whether it may be stopped for others, and what that costs."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import model_validator

from components.faults import Fault, Key, did_you_mean
from components.model import Filled, Model
from components.queue import topology
from components.queue.quota import Amount, Quota
from components.queue.room import PodSet, Room


class Within(Model):
    """How near to each other pods are. The level alone will do: `within: zone`."""

    level: Filled
    """A level of the stack's `topology`."""
    required: bool = True
    """Whether the job waits until there is room within one; otherwise it is spread where there is none."""

    @model_validator(mode="before")
    @classmethod
    def _level_alone(cls, value: Any) -> Any:
        return {"level": value} if isinstance(value, str) else value


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
    given = ((*at, "strategy"), (*at, "resources"), (*at, "checkpoints"), ("queues",), ("nodeGroups",))
    impossible = [pods for pods in pod_sets if not room.fits(pods)]
    for pods in impossible:
        yield Fault((*at, "queue"), _too_large(room, pods), given=given)
    if not impossible and not room.fit_together(pod_sets):
        asked = " and ".join(_asked(pods) for pods in pod_sets)
        reason = f"{asked}: queue {room.queue} would take each alone, and never holds them together"
        yield Fault((*at, "queue"), f"{reason}: they would never start", given=given)
        return
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
        yield Fault((*at, "graceSeconds"), f"{reason}; {need}", given=given)


def check_within(at: Key, room: Room, pod_sets: Sequence[PodSet], within: Within | None) -> Iterator[Fault]:
    """A level that the stack does not name, or more pods than one of its parts holds."""
    if within is None:
        return
    level = within.level
    given = (("topology",), ("nodeGroups",), (*at, "strategy"), (*at, "resources"), ("queues",))
    where = (*at, "within")
    if not room.levels:
        reason = "given, and the stack names no levels of its network: need topology, such as [zone, host]"
        yield Fault(where, reason, given=given)
    elif level not in room.levels:
        known = ", ".join(room.levels)
        near = did_you_mean(level, room.levels)
        yield Fault(where, f"got {level}, and topology has {known}{near}", given=given)
    else:
        for pods in pod_sets if within.required else ():
            most = room.most_within(pods, room.levels[level]) if pods.resources.gpus else None
            if most is not None and most < pods.count and room.fits(pods):
                reason = f"{pods.count} {pods.role} pods of {pods.resources.gpus} GPUs, and one {level} takes {most}"
                yield Fault(
                    where, f"{reason} of them: need a wider level, or {{level: {level}, required: false}}", given=given
                )


def nearness(room: Room | None, pods: PodSet, within: Within | None) -> dict[str, str]:
    """What the pods' template says of how near they must be."""
    if room is None or not room.levels or not pods.resources.gpus:
        return {}
    if within is None:
        return topology.annotations(None, required=False)
    return topology.annotations(room.levels[within.level], required=within.required)


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
    asked = _asked(pods)
    usable = list(room.usable(pods))
    if not usable:
        wanted = pods.resources.node_group or pods.resources.accelerator or ("GPUs" if pods.each.gpus else "CPUs")
        has = ", ".join(kind.flavor.name for kind, _ in room.kinds) or "nothing"
        return f"{asked}, and queue {room.queue} has {has}, no {wanted} that would take them: they would never start"
    limits = " or ".join(_held(kind, most) for kind, most in usable)
    count = room.most(pods)
    near = f" (nearest: {count})" if count else ""
    return f"{asked}, but queue {room.queue} holds at most {limits}: they would never start{near}"


def _asked(pods: PodSet) -> str:
    return f"{pods.count} {pods.role} pods of {_amount(pods.each)}"


def _amount(amount: Amount) -> str:
    parts = [f"{amount.gpus} GPUs"] if amount.gpus else []
    if not math.isinf(amount.cpus):
        parts += [f"{amount.cpus:g} CPUs", f"{amount.memory_gib:g} GiB"]
    return ", ".join(parts)


def _held(kind: Quota, most: Amount) -> str:
    lent = most.gpus - kind.guaranteed.gpus
    told = f" ({lent} of them borrowed)" if lent else ""
    return f"{kind.flavor.name} with {_amount(most)}{told}" if kind.flavor.is_gpu else _amount(most) or "no GPUs"
