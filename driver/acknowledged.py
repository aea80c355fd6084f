"""Which losses of data a stack's settings acknowledge, and what a loss without acknowledgement says."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from driver.stack_settings import StackSettings


@dataclass(frozen=True)
class Risk:
    """One line about data, and whether it stops the update."""

    text: str
    stops: bool = False
    loses: bool = True
    """Whether data would go if nothing stopped it."""


@dataclass(frozen=True)
class Acknowledged:
    """What the stack's settings acknowledge, by kind of loss, and the file in which they do."""

    file: str = "the stack's settings"
    names: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    removed: bool = False
    """Whether the change removes the file, so that only an earlier one can acknowledge."""

    @classmethod
    def of(cls, settings: StackSettings) -> Acknowledged:
        """From the section `acknowledge`, unchecked: the stack's program checks it."""
        lists = {kind: found for kind, found in settings.section("acknowledge").items() if isinstance(found, list)}
        return cls(settings.file.name, {kind: tuple(map(str, found)) for kind, found in lists.items()})

    def judged(self, text: str, kind: str, name: str) -> Risk:
        """The loss as a risk, which stops the update unless the settings name it."""
        if name in self.names.get(kind, ()):
            return Risk(f"{text}; acknowledged by acknowledge.{kind}")
        entry = f"`tensorplane:acknowledge: {{{kind}: [{name}]}}`"
        remedy = f"if you intend that, add {entry} to {self.file}"
        if self.removed:
            remedy = f"if you intend that, first deploy a change of {self.file} that removes {name} and adds {entry}"
        return Risk(f"{text}; {remedy}", stops=True)

    def unused(self, going: Iterable[str]) -> Iterator[Risk]:
        """Acknowledgements of losses that the update does not bring. `going`: as `kind name`."""
        known = set(going)
        for kind, names in self.names.items():
            for name in names:
                if f"{kind} {name}" not in known:
                    yield Risk(f"acknowledge.{kind} names {name}, which this update does not lose; remove the entry")
