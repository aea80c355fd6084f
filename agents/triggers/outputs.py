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
    replaced: bool
    """Whether another run of the pipeline has made the newest version of one."""


@dataclass(frozen=True)
class _Known:
    """What was found last in a log."""

    head: Head
    beginning: str
    replaced: str
    """The newest version that none of these runs made; empty for none."""
    maker: str
    """Which of these runs made the newest version; empty for none."""
    by_another: bool
    """Whether another run of the pipeline made it."""


@dataclass
class Outputs:
    """The logs of a pipeline's outputs. Each commit is read once for a program."""

    logs: Mapping[str, Log]
    _known: dict[str, _Known] = field(default_factory=dict)

    def standing(self, beginning: str) -> Standing:
        """How the outputs are for runs whose names begin so. Raises OSError if a volume does not answer."""
        found = {name: known for name, log in self.logs.items() if (known := self._found(name, log, beginning))}
        makers = [found[name].maker if name in found else "" for name in self.logs]
        return Standing(
            replaces={name: found[name].replaced if name in found else "" for name in self.logs},
            made_by=max(makers) if all(makers) else "",
            replaced=any(one.by_another for one in found.values()),
        )

    def _found(self, name: str, log: Log, beginning: str) -> _Known | None:
        """What the log says about runs of these names; None without a version."""
        known = self._known.get(name)
        head = log.head(known.head.number if known else 0)
        if head is None:
            return None
        if known is None or (known.head, known.beginning) != (head, beginning):
            known = self._known[name] = _read(log, head, beginning)
        return known


def _read(log: Log, head: Head, beginning: str) -> _Known:
    maker = ""
    for commit, made in log.back(head, runs.LOOKED_BACK):
        run = runs.maker(made)
        if not runs.begins(run, beginning):
            return _Known(head, beginning, commit, maker, not maker and runs.are_of_one(run, beginning))
        maker = maker or run
    return _Known(head, beginning, "", maker, False)
