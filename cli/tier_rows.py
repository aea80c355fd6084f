"""Who gets which machines: queues as their components register them, as tiers with what each has of each kind."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from components.node_group import CPU
from components.queue.settings import ALONE

Facts = Mapping[str, Any]
"""What a Queue registers (`components.queue.facts`)."""


@dataclass(frozen=True)
class Kind:
    """One kind of machine."""

    name: str
    gpus: bool
    """Whether GPUs are counted, or cores."""
    most: float | None
    """What its full groups have; None where nobody tells."""
    held: float
    """What queues are sure of."""

    @property
    def free(self) -> float | None:
        """What no queue is sure of."""
        return None if self.most is None else self.most - self.held


@dataclass(frozen=True)
class Share:
    """What one queue has of one kind of machine."""

    kind: str
    order: int
    """When the queue takes it, from 1; 0 for never."""
    guaranteed: float = 0
    borrowable: float = 0
    lenders: tuple[str, ...] = ()
    """The queues that lend any of it to this one."""


@dataclass(frozen=True)
class Tier:
    """One queue."""

    name: str
    priority: str
    teams: tuple[str, ...]
    cohort: str
    shares: tuple[Share, ...]
    """One for each kind of machine, from the oldest to the newest."""

    @property
    def in_order(self) -> tuple[Share, ...]:
        """What it may use, in the order in which it takes it."""
        return tuple(sorted((share for share in self.shares if share.order), key=lambda share: share.order))

    @property
    def never(self) -> tuple[str, ...]:
        """Kinds of machines that none of its jobs ever gets."""
        return tuple(share.kind for share in self.shares if not share.order)


def tiers(queues: Mapping[str, Facts]) -> list[Tier]:
    """The queues by what they register, the highest priority first."""
    lenders = _lenders(queues)
    found = [_tier(name, facts, lenders) for name, facts in queues.items()]
    ranks = {"high": 0, "normal": 1, "low": 2}
    return sorted(found, key=lambda tier: (ranks.get(tier.priority, len(ranks)), tier.name))


def kinds(queues: Mapping[str, Facts]) -> list[Kind]:
    """The kinds of machines, from the oldest to the newest, with what the queues hold of them together."""
    machines = next((facts["machines"] for facts in queues.values()), ())
    held: dict[str, float] = {}
    for each in (each for facts in queues.values() for each in facts["kinds"]):
        held[each["name"]] = held.get(each["name"], 0) + each["guaranteed"]
    return [
        Kind(machine["name"], machine["gpus"], machine["max"], held.get(machine["name"], 0)) for machine in machines
    ]


def by_team(found: Sequence[Tier]) -> dict[str, dict[str, tuple[float, float]]]:
    """For each team the kinds of machines that its queues give it: what they are sure of together, and may borrow.

    Teams share their queues, so these are no sums of their own.
    """
    names = sorted({team for tier in found for team in tier.teams})
    return {team: _together([tier for tier in found if team in tier.teams]) for team in names}


def _together(found: Sequence[Tier]) -> dict[str, tuple[float, float]]:
    sums: dict[str, tuple[float, float]] = {}
    for share in (share for tier in found for share in tier.shares):
        sure, more = sums.get(share.kind, (0, 0))
        sums[share.kind] = sure + share.guaranteed, more + share.borrowable
    return sums


def _tier(name: str, facts: Facts, lenders: Mapping[str, Sequence[str]]) -> Tier:
    used = {each["name"]: (order, each) for order, each in enumerate(facts["kinds"], 1)}
    shares = [
        _share(name, facts, *used[machine["name"]], lenders) if machine["name"] in used else Share(machine["name"], 0)
        for machine in facts["machines"]
    ]
    return Tier(name, facts["priority"], tuple(facts["teams"]), facts["cohort"], tuple(shares))


def _share(queue: str, facts: Facts, order: int, each: Facts, lenders: Mapping[str, Sequence[str]]) -> Share:
    borrowed = each["borrowable"]
    others = tuple(name for name in lenders.get(each["name"], ()) if name != queue) if borrowed else ()
    return Share(each["name"], order, each["guaranteed"], borrowed, others)


def _lenders(queues: Mapping[str, Facts]) -> dict[str, list[str]]:
    """By kind of machine the queues that lend any of it."""
    found: dict[str, list[str]] = {}
    for name, facts in queues.items():
        for each in facts["kinds"]:
            if each["lends"] and facts["cohort"] != ALONE:
                found.setdefault(each["name"], []).append(name)
    return found


def counted(kind: str, number: float) -> str:
    """A number of a kind of machine as people read it: GPUs, or cores where it has none."""
    unit = (" core" if number == 1 else " cores") if kind == CPU else ""
    return f"{number:g}{unit}" if number else "-"
