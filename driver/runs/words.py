"""What an update does to each run, a line each."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from core.kube import Kube
from driver.runs import progress
from driver.runs.change import Effect, NewRun, Restart, find_effects
from driver.runs.progress import RunProgress
from driver.runs.steps import Event, list_job_steps

_LAST_DIGITS = "results may differ in the last digits"


def effect_lines(events: Iterable[Event], api: Kube | None) -> tuple[str, ...]:
    """The lines for the events of a preview. `api`: the stack's cluster, if it can be asked how far runs are."""
    return tuple(effect_line(change, _find_progress(change, api)) for change in find_effects(list_job_steps(events)))


def effect_line(change: Effect, found: RunProgress | None) -> str:
    """What happens to one run. `found`: how far it is; None if the cluster does not answer."""
    if isinstance(change, Restart):
        return _restart_line(change, found)
    if isinstance(change, NewRun):
        what = f"{_join(change.changed)} changed" if change.changed else "a setting that decides its result changed"
        return f"new run of {change.job}: {what}"
    return f"{change.job}: its image is known only after the update; another image is a new run"


def _find_progress(change: Effect, api: Kube | None) -> RunProgress | None:
    if api is None or not isinstance(change, Restart):
        return None
    return progress.get_progress(api, change.namespace, change.run, change.writer)


def _restart_line(change: Restart, found: RunProgress | None) -> str:
    finished = found is not None and found.finished
    if finished and change.notes_its_end:
        return f"{change.job} has finished; nothing to run"
    sizes = ", ".join(f"{what} {before} → {after}" for what, before, after in change.resized)
    after = f"; {sizes}: {_LAST_DIGITS}" if sizes else ""
    if change.checkpoints is False:
        again = "has finished and begins again" if finished else "begins again"
        return f"{change.job} {again} at step 0: it has no checkpoints{after}"
    again = f"{change.job} has finished and runs again" if finished else f"restarts {change.job}"
    return f"{again} {_resume_point(change, found)}{after}"


def _resume_point(change: Restart, found: RunProgress | None) -> str:
    if found and found.step is not None:
        # A gang that is stopped saves once more.
        return f"from step {found.step}" + (" or later" if found.running else "")
    if change.checkpoints is None:
        return "from its last checkpoint, if it has one"
    saved = f", saved every {change.every} steps" if change.every else ""
    if found is None and change.notes_its_end:
        return f"from its last checkpoint{saved}; if it has already finished, its new pods exit at once"
    return f"from its last checkpoint{saved}"


def _join(words: Sequence[str]) -> str:
    *others, last = words
    return f"{', '.join(others)} and {last}" if others else last
