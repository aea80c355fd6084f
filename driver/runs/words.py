"""What an update does to each run, a line each."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from core.kube import Kube
from driver.runs import progress
from driver.runs.change import Change, NewRun, Restart, changes
from driver.runs.progress import Progress
from driver.runs.steps import Event, of

_LAST_DIGITS = "results may differ in the last digits"


def lines(events: Iterable[Event], api: Kube | None) -> tuple[str, ...]:
    """The lines for the events of a preview. `api`: the stack's cluster, if it can be asked how far runs are."""
    return tuple(line(change, _progress(change, api)) for change in changes(of(events)))


def line(change: Change, found: Progress | None) -> str:
    """What happens to one run. `found`: how far it is; None if the cluster does not answer."""
    if isinstance(change, Restart):
        return _restart(change, found)
    if isinstance(change, NewRun):
        what = f"{_listed(change.changed)} changed" if change.changed else "a setting that decides its result changed"
        return f"new run of {change.job}: {what}"
    return f"{change.job}: its image is known only after the update; another image is a new run"


def _progress(change: Change, api: Kube | None) -> Progress | None:
    if api is None or not isinstance(change, Restart):
        return None
    return progress.of(api, change.namespace, change.run, change.writer)


def _restart(change: Restart, found: Progress | None) -> str:
    finished = found is not None and found.finished
    if finished and change.notes_its_end:
        return f"{change.job} has finished; nothing to run"
    sizes = ", ".join(f"{what} {before} → {after}" for what, before, after in change.resized)
    after = f"; {sizes}: {_LAST_DIGITS}" if sizes else ""
    if change.checkpoints is False:
        again = "has finished and begins again" if finished else "begins again"
        return f"{change.job} {again} at step 0: it has no checkpoints{after}"
    again = f"{change.job} has finished and runs again" if finished else f"restarts {change.job}"
    return f"{again} {_from(change, found)}{after}"


def _from(change: Restart, found: Progress | None) -> str:
    if found and found.step is not None:
        # A gang that is stopped saves once more.
        return f"from step {found.step}" + (" or later" if found.running else "")
    if change.checkpoints is None:
        return "from its last checkpoint, if it has one"
    saved = f", saved every {change.every} steps" if change.every else ""
    if found is None and change.notes_its_end:
        return f"from its last checkpoint{saved}; if it has already finished, its new pods exit at once"
    return f"from its last checkpoint{saved}"


def _listed(words: Sequence[str]) -> str:
    *others, last = words
    return f"{', '.join(others)} and {last}" if others else last
