"""Which queue gets which flavors: the inputs of Queue components as tiers, with the share of each flavor."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from tensorplane.cli.output.numbers import count
from tensorplane.components.base import outputs
from tensorplane.components.node_groups.labels import CPU
from tensorplane.components.queues.cohort import Cohort


@dataclass(frozen=True)
class Flavor:
    """A flavor, and the queues' shares of it together."""

    name: str
    gpus: bool
    """Whether GPUs are counted, or cores."""
    capacity: float | None
    """The capacity of its node groups at their maximum; None if unknown."""
    guaranteed: float
    """What is guaranteed to queues."""

    @property
    def unreserved(self) -> float | None:
        """What is guaranteed to no queue; None if the capacity is unknown."""
        return None if self.capacity is None else self.capacity - self.guaranteed


@dataclass(frozen=True)
class Share:
    """A queue's share of a flavor."""

    flavor: str
    order: int
    """Its position in the queue's order of use, from 1; 0 for never."""
    guaranteed: float = 0
    borrowable: float = 0
    lenders: tuple[str, ...] = ()
    """The queues that lend it to this one."""
    lends: float = 0
    """The most that it lends to others."""


@dataclass(frozen=True)
class Tier:
    """One queue."""

    name: str
    priority: str
    teams: tuple[str, ...]
    cohort: str
    shares: tuple[Share, ...]
    """One for each flavor, from the oldest accelerator to the newest."""

    @property
    def in_order(self) -> tuple[Share, ...]:
        """The flavors that it may use, in its order."""
        return tuple(sorted((share for share in self.shares if share.order), key=lambda share: share.order))

    @property
    def never(self) -> tuple[str, ...]:
        """Flavors that its jobs never get."""
        return tuple(share.flavor for share in self.shares if not share.order)


def tiers(queues: Mapping[str, outputs.Queue]) -> list[Tier]:
    """The queues from their inputs, the highest priority first."""
    cohort = _cohort((name, each["name"], each["lends"]) for name, queue in queues.items() for each in queue["kinds"])
    found = [_tier(name, queue, cohort) for name, queue in queues.items()]
    ranks = {"high": 0, "normal": 1, "low": 2}
    return sorted(found, key=lambda tier: (ranks.get(tier.priority, len(ranks)), tier.name))


def flavors(queues: Mapping[str, outputs.Queue]) -> list[Flavor]:
    """The flavors, from the oldest accelerator to the newest."""
    machines = next((queue["machines"] for queue in queues.values()), ())
    guaranteed: dict[str, float] = {}
    for each in (each for queue in queues.values() for each in queue["kinds"]):
        guaranteed[each["name"]] = guaranteed.get(each["name"], 0) + each["guaranteed"]
    return [Flavor(one["name"], one["gpus"], one["max"], guaranteed.get(one["name"], 0)) for one in machines]


def by_team(found: Sequence[Tier]) -> dict[str, dict[str, tuple[float, float]]]:
    """What each team's queues give it of each flavor together: guaranteed, and borrowable from other queues.

    Teams share their queues, so the teams' numbers do not add up.
    """
    cohort = _cohort((tier.name, share.flavor, share.lends) for tier in found for share in tier.shares)
    teams = sorted({team for tier in found for team in tier.teams})
    return {team: _together([tier for tier in found if team in tier.teams], cohort) for team in teams}


def amount_text(flavor: str, number: float) -> str:
    """An amount of a flavor for people: GPUs, or cores if it has none."""
    return count(number, cores=flavor == CPU) if number else "0"


def _together(own: Sequence[Tier], cohort: Cohort[float]) -> dict[str, tuple[float, float]]:
    sums: dict[str, tuple[float, float]] = {}
    for share in (share for tier in own for share in tier.shares):
        guaranteed, borrowable = sums.get(share.flavor, (0, 0))
        sums[share.flavor] = guaranteed + share.guaranteed, borrowable + share.borrowable
    # What a team's queues lend each other is already the team's.
    names = {tier.name for tier in own}
    return {
        flavor: (guaranteed, min(borrowable, cohort.borrowable_together(names, flavor)))
        for flavor, (guaranteed, borrowable) in sums.items()
    }


def _cohort(lent: Iterable[tuple[str, str, float]]) -> Cohort[float]:
    """Per queue and flavor, what the queue lends of it."""
    found: dict[str, dict[str, float]] = {}
    for queue, flavor, number in lent:
        if number:
            found.setdefault(flavor, {})[queue] = number
    return Cohort[float](found, 0)


def _tier(name: str, queue: outputs.Queue, cohort: Cohort[float]) -> Tier:
    used = {each["name"]: (order, each) for order, each in enumerate(queue["kinds"], 1)}
    shares = [
        _share(name, *used[machine["name"]], cohort) if machine["name"] in used else Share(machine["name"], 0)
        for machine in queue["machines"]
    ]
    return Tier(name, queue["priority"], tuple(queue["teams"]), queue["cohort"], tuple(shares))


def _share(queue: str, order: int, each: outputs.QueueFlavor, cohort: Cohort[float]) -> Share:
    borrowable = each["borrowable"]
    lenders = tuple(cohort.lenders(queue, each["name"])) if borrowable else ()
    return Share(each["name"], order, each["guaranteed"], borrowable, lenders, each["lends"])
