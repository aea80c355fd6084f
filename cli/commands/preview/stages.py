"""The stages of pipelines as a picture: what an update does to each. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from tensorplane.cli.commands.preview.report import Outputs, Report
from tensorplane.cli.output import dag
from tensorplane.cli.output.dag import MARGIN, Box

_LOOKS = {
    "create": (("#e6f4ea", "#1a7f37"), "+ "),
    "delete": (("#ffebe9", "#cf222e"), "− "),  # noqa: RUF001 (a minus of the width of the plus)
    "update": (("#fff8c5", "#9a6700"), "± "),
    "same": (("#f6f8fa", "#8c959f"), ""),
}
_NOTHING: Outputs = {}
_KEYS = {"directory": "the full names of folders, and names of files without their ending"}
_HEADING, _BETWEEN = 30, 36


def changing(report: Report) -> dict[str, tuple[Outputs, Outputs]]:
    """The pipelines that come, go, or have a stage that does or changes. Of versions that did not register their
    stages, only those that come and go are known."""
    found = report.registered("Pipeline").items()
    return {name: both for name, both in found if any(changes(*_stages(both, stage)) for stage in _names(both))}


def words(report: Report) -> list[str]:
    """A line for each stage that changes."""
    found = [
        (f"{name}/{stage}", old, new, what)
        for name, both in changing(report).items()
        for stage in _names(both)
        for old, new in [_stages(both, stage)]
        if (what := changes(old, new))
    ]
    return [f"{name}: {', '.join(what)}{_again(old, new)}{_apart(old, new)}" for name, old, new, what in found]


def _again(old: Outputs, new: Outputs) -> str:
    """What another program does in the next run."""
    works = bool(old and new) and old["program"] != new["program"]
    return "; its next run works on all inputs again, unless `reprocess` is `new`" if works else ""


def _apart(old: Outputs, new: Outputs) -> str:
    """What other keys do in the next run."""
    if not old or not new or _keys(old) == _keys(new):
        return ""
    how = ", ".join(f"{name} by {_KEYS.get(key, key)}" for name, key in sorted(_keys(new).items()))
    return f"; its next run joins {how or 'by the names of files without their ending'}"


def svg(report: Report) -> str:
    """The pipelines that change, one below the other; empty without any."""
    lines: list[str] = []
    width, y = 0.0, float(MARGIN)
    for name, both in changing(report).items():
        lines.append(dag.heading(name, y + 12))
        drawn = dag.draw([_box(stage, both) for stage in _names(both)], top=y + _HEADING)
        lines += drawn.lines
        width, y = max(width, drawn.width), y + _HEADING + drawn.height + _BETWEEN
    if not lines:
        return ""
    title = f"Pipelines of stack {report.stack} that change: their stages, and what this update does to each"
    return dag.document(title, lines, width, y - _BETWEEN + MARGIN)


def changes(old: Outputs, new: Outputs) -> list[str]:
    """What changes of a stage, in short words."""
    if not old or not new:
        return ["new"] if new else ["deleted"] if old else []
    both = [(_flow(old), _flow(new)), (_requests(old), _requests(new))]
    return [*_program(old, new), *(f"{before} is now {after}" for before, after in both if before != after)]


def _before(old: Outputs, new: Outputs) -> list[str]:
    """What a stage was, as far as it changes."""
    both = [(_flow(old), _flow(new)), (_requests(old), _requests(new))]
    return [*_program(old, new), *(f"before: {before}" for before, after in both if before != after)]


def _program(old: Outputs, new: Outputs) -> list[str]:
    program = ["another program"] if old["program"] != new["program"] else []
    return [*program, *(["other keys of its join"] if _keys(old) != _keys(new) else [])]


def _keys(stage: Outputs) -> Mapping[str, str]:
    """What the parts of each input are joined by; empty where that is the name of files without their ending."""
    found: Mapping[str, str] = stage.get("keys") or {}
    return found


def _names(both: tuple[Outputs, Outputs]) -> Sequence[str]:
    """The stages after the update, and then those that go."""
    old, new = both
    return list(dict.fromkeys((*new.get("dag", ()), *old.get("dag", ()))))


def _stages(both: tuple[Outputs, Outputs], stage: str) -> tuple[Outputs, Outputs]:
    """A stage before and after the update."""
    old, new = both
    after = new.get("dag", {}).get(stage, _NOTHING)
    # A deployed version that did not register its stages says nothing of what changes.
    before = old.get("dag", {}).get(stage, _NOTHING) if "dag" in old or not old else after
    return before, after


def _box(stage: str, both: tuple[Outputs, Outputs]) -> Box:
    old, new = _stages(both, stage)
    found = changes(old, new)
    operation = "create" if not old else "delete" if not new else "update" if found else "same"
    colors, sign = _LOOKS[operation]
    shown = new or old
    lines = [_flow(shown), _requests(shown), *(_before(old, new) if operation == "update" else ())]
    return Box(stage, lines, shown["after"], colors, sign, dashed=operation == "delete")


def _flow(stage: Outputs) -> str:
    return f"{', '.join(stage['reads'])} → {stage['writes']}"


def _requests(stage: Outputs) -> str:
    return ", ".join(_of_pods(stage))


def _of_pods(stage: Outputs) -> Iterator[str]:
    parallel = stage["parallel"]
    yield f"{parallel:g} pod{'' if parallel == 1 else 's'}"
    if stage["gpus"]:
        yield f"{stage['gpus']:g} GPU{'' if stage['gpus'] == 1 else 's'}"
    if stage["queue"]:
        yield f"queue {stage['queue']}"
