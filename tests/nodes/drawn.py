"""What one loss is to be, drawn from a seed."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from tests.nodes.busy import GANG, ROLES, SPREAD

MOMENTS = ("start", "step", "save", "publish")


@dataclass(frozen=True)
class Drawn:
    """How the node is lost, at which moment, and with what on it."""

    way: str
    """One of `ways.WAYS`."""
    job: str
    """Whose moment it is."""
    moment: str
    part: float
    """Of the run's steps, for a moment that comes several times."""
    apart: bool
    """Whether the two pods of the gang are on two nodes."""
    taken: Sequence[str]
    """The roles of the job with parameter servers that are on the node."""
    late: bool
    """Whether the chiefs on it are held until others have taken their runs over."""
    agent: bool
    """Whether the pod of the agent of lost nodes that acts is on it."""
    away: bool
    """Whether the node comes back only after the runs have ended."""

    @classmethod
    def of(cls, chance: random.Random, way: str) -> Drawn:
        """Any, in this way."""
        return cls(
            way=way,
            job=chance.choice([GANG, GANG, SPREAD]),
            moment=chance.choice(MOMENTS),
            part=chance.random(),
            apart=chance.random() < 0.4,
            taken=chance.sample(ROLES, chance.randint(1, len(ROLES))),
            late=chance.random() < 0.7,
            agent=chance.random() < 0.15,
            away=chance.random() < 0.5,
        )

    def __str__(self) -> str:
        gang = "half of the gang" if self.apart else "the gang"
        there = ", ".join((gang, *sorted(self.taken), *(["the agent"] if self.agent else [])))
        late = ", where chiefs wait" if self.late else ""
        return f"{self.way}, in a {self.moment} of {self.job}{late}; there: {there}"
