"""The newest versions of a pipeline's outputs: which of them its next run replaces, and whether one has made them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from agents.triggers import run as runs
from agents.triggers.commits import Head, Log


@dataclass(frozen=True)
class Standing:
    """The outputs as seen by one program on some versions."""

    replaces: Mapping[str, str]
    """The newest commit of each output that it has not made; empty for an output without one."""
    made_by: str
    """A run that has made the newest version of one, if such runs have made those of all; else empty."""


@dataclass(frozen=True)
class _Known:
    """What was found last in a log."""

    head: Head
    beginning: str
    replaced: str
    maker: str


@dataclass
class Outputs:
    """The logs of a pipeline's outputs. Each commit is read once for a program."""

    logs: Mapping[str, Log]
    _known: dict[str, _Known] = field(default_factory=dict)

    def standing(self, beginning: str) -> Standing:
        """How the outputs are for runs whose names begin so. Raises OSError if a volume does not answer."""
        found = {name: self._found(name, log, beginning) for name, log in self.logs.items()}
        makers = [maker for _, maker in found.values()]
        return Standing({name: replaced for name, (replaced, _) in found.items()}, max(makers) if all(makers) else "")

    def _found(self, name: str, log: Log, beginning: str) -> tuple[str, str]:
        """The commit that runs of these names replace, and which of them made the newest one; empty for none."""
        known = self._known.get(name)
        head = log.head(known.head.number if known else 0)
        if head is None:
            return "", ""
        if known is None or (known.head, known.beginning) != (head, beginning):
            maker, replaced = "", ""
            for commit, made in log.back(head, runs.LOOKED_BACK):
                if not runs.begins(runs.maker(made), beginning):
                    replaced = commit
                    break
                maker = maker or runs.maker(made)
            known = self._known[name] = _Known(head, beginning, replaced, maker)
        return known.replaced, known.maker
