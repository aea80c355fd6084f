"""Estimates before and after a change, their difference, and their totals."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from tensorplane.components.base.price import Usd
from tensorplane.components.cost.estimate import Estimate, Kind


@dataclass(frozen=True)
class Compared:
    """One node group, queue or training run before and after a change."""

    before: Estimate | None
    """None if it is new."""
    after: Estimate | None
    """None if it is deleted."""

    @property
    def name(self) -> str:
        """Its name in the settings."""
        one = self.after or self.before
        return one.name if one else ""

    @property
    def kind(self) -> Kind | None:
        """What it is; None if it is neither before nor after."""
        one = self.after or self.before
        return one.kind if one else None

    def figures(self, name: str) -> tuple[Usd | None, Usd | None]:
        """A figure before and after; zero where it does not exist, None where it is unknown."""
        return _figure(self.before, name), _figure(self.after, name)

    def change(self, name: str) -> float | None:
        """How much a figure rises at most, in US dollars; None if one of the two is unknown."""
        before, after = self.figures(name)
        return None if before is None or after is None else after.high - before.high


@dataclass(frozen=True)
class Total:
    """The sum of a figure of several estimates."""

    usd: Usd
    excluded: tuple[str, ...]
    """Those in which it is unknown."""


def _figure(one: Estimate | None, name: str) -> Usd | None:
    return one.figures.get(name) if one else Usd(0, 0)


def difference(before: Iterable[Estimate], after: Iterable[Estimate]) -> list[Compared]:
    """Both sides of everything that either has, by kind and name."""
    old, new = _by_key(before), _by_key(after)
    return [Compared(old.get(key), new.get(key)) for key in sorted(old.keys() | new.keys())]


def total(estimates: Iterable[Estimate], figure: str) -> Total:
    """The sum of the known figures of this name, and who is excluded."""
    usd, excluded = Usd(0, 0), []
    for one in estimates:
        if (found := one.figures.get(figure)) is None:
            excluded.append(one.name)
        else:
            usd += found
    return Total(usd, tuple(excluded))


def _by_key(estimates: Iterable[Estimate]) -> Mapping[tuple[Kind, str], Estimate]:
    return {(one.kind, one.name): one for one in estimates}
