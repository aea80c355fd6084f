"""Workloads that mount another volume than before, and what they lack there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from tensorplane.cli.commands.preview.pods import Pods
from tensorplane.cli.commands.preview.report import OURS, Report
from tensorplane.cli.output.texts import bold, first_names
from tensorplane.components.base import outputs

_MAX_NAMES = 6
_LACKS = {
    outputs.MODEL_SERVER: "no model to load",
    outputs.TRAINING_JOB: "no checkpoint to resume from",
}
_LACKS_OTHERWISE = "none of its files"
_RENAME = (
    "To rename a volume: add the new one, copy the data (docs/data.md#move-data), then let workloads mount it,"
    " and remove the old one last, each in a change of its own"
)


@dataclass(frozen=True)
class Move:
    """A volume that takes another's place."""

    old: str
    new: str
    pods: tuple[Pods, ...]
    """Those that mount it instead."""
    is_new: bool
    starts: str
    """What the new volume starts with; empty if with nothing, or if it is not new."""

    @property
    def is_empty(self) -> bool:
        """Whether the workloads find nothing."""
        return self.is_new and not self.starts


def moves(report: Report) -> list[Move]:
    """Every volume that takes another's place."""
    before = {(each.kind, each.owner, each.name): each for each in report.pods_before}
    found: dict[tuple[str, str], list[Pods]] = {}
    for each in report.pods_after:
        if former := before.get((each.kind, each.owner, each.name)):
            for pair in _moved(former.claims, each.claims):
                found.setdefault(pair, []).append(each)
    volumes = report.registered(outputs.VOLUME.removeprefix(OURS))
    made = {name for name, (old, new) in volumes.items() if new and not old}
    return [
        Move(old, new, tuple(several), new in made, report.starts.get(new, "") if new in made else "")
        for (old, new), several in found.items()
    ]


def lines(report: Report) -> list[str]:
    """A line for each move: which workloads, and what the volume starts with."""
    return [_line(move) for move in moves(report)]


def broken(report: Report) -> list[str]:
    """A part of a sentence for each new volume on which its workloads find nothing."""
    return [
        f"on volume {move.new}, which is new and empty, {', and '.join(_lacking(move))}"
        for move in moves(report)
        if move.is_empty
    ]


def _lacking(move: Move) -> Iterator[str]:
    for index, (kind, titles) in enumerate(_owners(move.pods).items()):
        yield f"{titles} {'' if index else 'finds '}{_LACKS.get(kind, _LACKS_OTHERWISE)}"


def lost(report: Report) -> Iterator[str]:
    """A line for each volume whose data its workloads no longer see."""
    for move in moves(report):
        if move.is_empty:
            yield (
                f"volume {move.new} takes the place of {move.old}, and starts empty: what is on {move.old} is not"
                f" moved. {_RENAME}"
            )


def _owners(pods: Sequence[Pods]) -> Mapping[str, str]:
    """Titles of the components of each kind."""
    found: dict[str, dict[str, None]] = {}
    for each in pods:
        found.setdefault(each.kind, {})[each.title] = None
    return {kind: first_names(list(titles), _MAX_NAMES) for kind, titles in found.items()}


def _moved(old: Sequence[str], new: Sequence[str]) -> Iterator[tuple[str, str]]:
    """The volumes that are no longer mounted, each with one that is mounted instead."""
    yield from zip((name for name in old if name not in new), (name for name in new if name not in old), strict=False)


def _line(move: Move) -> str:
    names = [bold(name) for name in dict.fromkeys(each.name for each in move.pods)]
    mount = "mounts" if len(names) == 1 else "mount"
    text = f"{first_names(names, _MAX_NAMES)} {mount} volume {bold(move.new)} instead of {bold(move.old)}"
    if not move.is_new:
        return text
    return f"{text}. {move.new} is new and starts {f'with {move.starts}' if move.starts else 'empty'}"
