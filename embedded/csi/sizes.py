"""The size of a volume, from the requested range."""

from __future__ import annotations

from dataclasses import dataclass

from tensorplane.embedded.csi import refusal

MINIMUM = 1 << 20
DEFAULT = 1 << 30


@dataclass(frozen=True)
class SizeRange:
    """A range of bytes. 0: no bound."""

    at_least: int = 0
    at_most: int = 0

    def __post_init__(self) -> None:
        if self.at_least < 0 or self.at_most < 0:
            raise refusal.invalid(f"capacity_range: {self.at_least} to {self.at_most} bytes contains a negative number")
        if self.at_most and self.at_least > self.at_most:
            raise refusal.invalid(f"capacity_range: required_bytes {self.at_least} exceeds limit_bytes {self.at_most}")

    def holds(self, size: int) -> bool:
        """Whether an existing size is in the range."""
        return self.at_least <= size and (not self.at_most or size <= self.at_most)

    def choose(self, smallest: int | None, largest: int) -> int:
        """The size of a new volume: no smaller than its source, no larger than the pool."""
        size = max(self.at_least or smallest or DEFAULT, MINIMUM)
        if self.at_most:
            size = min(size, self.at_most)
        if size < MINIMUM:
            raise refusal.out_of_range(f"limit_bytes {self.at_most} is below the smallest volume of {MINIMUM} bytes")
        if smallest and size < smallest:
            raise refusal.out_of_range(f"{size} bytes are too small: the source has {smallest}")
        if size > largest:
            raise refusal.out_of_range(f"{size} bytes are too large: the pool has {largest}")
        return size
