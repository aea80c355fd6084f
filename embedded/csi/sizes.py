"""Which size a volume gets, out of what was asked for."""

from __future__ import annotations

from dataclasses import dataclass

from embedded.csi import refusal

MINIMUM = 1 << 20
DEFAULT = 1 << 30


@dataclass(frozen=True)
class Asked:
    """A range of bytes. 0 leaves an end open."""

    at_least: int = 0
    at_most: int = 0

    def __post_init__(self) -> None:
        if self.at_least < 0 or self.at_most < 0:
            raise refusal.invalid(f"capacity_range: {self.at_least} to {self.at_most} bytes, need no negative number")
        if self.at_most and self.at_least > self.at_most:
            raise refusal.invalid(f"capacity_range: at least {self.at_least} bytes, but at most {self.at_most}")

    def holds(self, size: int) -> bool:
        """Whether a size that there is will do."""
        return self.at_least <= size and (not self.at_most or size <= self.at_most)

    def choose(self, smallest: int | None, largest: int) -> int:
        """The size of a new volume: no smaller than what it is made of, no larger than the pool."""
        size = max(self.at_least or smallest or DEFAULT, MINIMUM)
        if self.at_most:
            size = min(size, self.at_most)
        if size < MINIMUM:
            raise refusal.out_of_range(f"at most {self.at_most} bytes asked for, need at least {MINIMUM}")
        if smallest and size < smallest:
            raise refusal.out_of_range(f"{size} bytes, but what it is to be made of has {smallest}")
        if size > largest:
            raise refusal.out_of_range(f"{size} bytes, but the pool has {largest}")
        return size
