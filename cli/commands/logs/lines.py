"""A line of a pod's log for people: after the pod's role and index, in a color of their own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from rich.console import Console
from rich.text import Text

from tensorplane.cli.pipelines import workflow

_COLORS = ("cyan", "magenta", "green", "yellow", "blue", "bright_cyan", "bright_magenta", "bright_green")


class Prefixes:
    """The prefixes of a job's pods, all of one width. The first pods get the first colors."""

    def __init__(self, wide: int) -> None:
        """`wide`: characters of the longest name of a member; 0 for no prefix, as for one pod."""
        self._wide = wide
        self._colors: dict[tuple[str, int], str] = {}

    def widen(self, wide: int) -> None:
        """Makes room for the names of pods that were not known before."""
        self._wide = max(self._wide, wide)

    def line(self, member: tuple[str, int], text: str) -> Text:
        """The line with its prefix. Escape sequences of the program itself pass, without effect beyond the line."""
        shown = Text.from_ansi(text)
        if not self._wide:
            return shown
        color = self._colors.setdefault(member, _COLORS[len(self._colors) % len(_COLORS)])
        return Text.assemble((f"{name(member):<{self._wide}} │ ", color), shown)


def name(member: tuple[str, int]) -> str:
    """A member's name: worker-0."""
    role, index = member
    return role if role in workflow.ONE_TIME_STEPS else f"{role}-{index}"


def wide(members: Iterable[tuple[str, int]]) -> int:
    """Characters of the longest prefix; 0 for one pod."""
    names = set(map(name, members))
    return max(map(len, names)) if len(names) > 1 else 0


def show(found: Mapping[tuple[str, int], Sequence[str]], console: Console) -> None:
    """Prints the lines of pods, one pod after the other."""
    prefixes = Prefixes(wide(found))
    for member, of_pod in found.items():
        for line in of_pod:
            console.print(prefixes.line(member, line), soft_wrap=True)
