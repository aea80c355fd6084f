"""How many kills, draws and the like a test makes: few in `make test`, its shard's share of all of them by night.

A test that counts has the marker `counted`: every shard of `make test-nightly` runs it, with a seed of its own.
"""

from __future__ import annotations

import os
from dataclasses import dataclass


@dataclass(frozen=True)
class Shard:
    """One of `of` parts of the night."""

    index: int
    of: int

    @classmethod
    def parse(cls, text: str) -> Shard:
        """`3/10` is the third of ten. A ValueError names what is wrong."""
        first, slash, second = text.partition("/")
        if not (slash and first.isdecimal() and second.isdecimal() and 1 <= int(first) <= int(second)):
            raise ValueError(f"SHARD: {text!r} is not part/parts; write it like 1/10")
        return cls(int(first), int(second))

    def share(self, total: int) -> int:
        """This shard's part of a count: the shards' parts make up the total, and none is empty."""
        return max(1, total * self.index // self.of - total * (self.index - 1) // self.of)

    def __str__(self) -> str:
        return f"{self.index}/{self.of}"


def shard() -> Shard | None:
    """The shard that runs; None in `make test`."""
    text = os.environ.get("TENSORPLANE_SHARD")
    return Shard.parse(text) if text else None


def of(quick: int, nightly: int) -> int:
    """How often: `quick` in `make test`, this shard's share of `nightly` by night."""
    return one.share(nightly) if (one := shard()) else quick


def seed() -> int:
    """What random choices follow from: always 1 in `make test`, another in every shard by night.

    TENSORPLANE_SEED chooses another one in both.
    """
    chosen = int(os.environ.get("TENSORPLANE_SEED", "1"))
    return 1000 * chosen + one.index if (one := shard()) else chosen
