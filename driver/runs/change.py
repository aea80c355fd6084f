"""What an update does to one run: it continues in a new gang, or a new run replaces it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from driver.runs.job_set import JobSet, plain
from driver.runs.steps import JobSteps

_SETTING_OF_PART = {
    "command": "command",
    "code": "files",
    "environment": "environment",
    "image": "image",
    "strategy": "strategy",
}
"""The parts that decide a run's result, in the order of the message, and their names in the settings."""
_SECRET_KEY = re.compile(r'(?:stringData|data)(?:\.|\[")([^".\[\]]+)')


@dataclass(frozen=True)
class Restart:
    """The same run, in a new gang."""

    job: str
    run: str
    namespace: str
    writer: str
    """Prefix of the name of the pod that writes the checkpoints."""
    checkpoints: bool | None
    """Whether it has any; None if the preview hides it."""
    notes_its_end: bool
    """Whether a finished run is not run again."""
    every: str = ""
    """Steps between two checkpoints, as the settings say; empty if the job computes them, or none is known."""
    resized: tuple[tuple[str, str, str], ...] = ()
    """Changes of its size, after which results may differ in the last digits: name, before, after."""


@dataclass(frozen=True)
class NewRun:
    """Another run in place of the deployed one."""

    job: str
    changed: tuple[str, ...]
    """The changed settings that decide its result; empty if the preview hides them."""


@dataclass(frozen=True)
class Undecided:
    """A job whose run depends on an image that is known only after the update."""

    job: str


Effect = Restart | NewRun | Undecided


def find_effects(jobs: Iterable[JobSteps]) -> list[Effect]:
    """What happens to each deployed run. New, deleted and unchanged jobs are left out."""
    return [found for steps in jobs if (found := _change(steps))]


def _change(steps: JobSteps) -> Effect | None:
    recorded = _outputs(steps.job.old).get("jobSet")
    if steps.job_set.operation not in ("create", "replace") or not isinstance(recorded, str):
        return None
    old, new = _job_set(steps.job_set.old), _job_set(steps.job_set.new)
    if new.name == recorded:
        return _restart(steps, recorded, old, new)
    if new.name.startswith(f"{steps.name}-") or steps.secret.changes:
        return NewRun(steps.name, tuple(_changed_settings(steps, old, new)))
    return Undecided(steps.name)


def _restart(steps: JobSteps, run: str, old: JobSet, new: JobSet) -> Restart:
    # A JobSet that was deleted from the cluster is no longer in the state.
    former = old if old.is_shown else new
    before, after = (former.size, new.size) if new.is_shown else ({}, {})
    return Restart(
        steps.name,
        run,
        namespace=new.namespace,
        writer=former.writer,
        checkpoints=new.has_checkpoints if new.is_shown else None,
        notes_its_end=former.notes_its_end,
        every=former.value("CHECKPOINT_STEPS"),
        resized=tuple(
            (what, before.get(what, "any"), after.get(what, "any"))
            for what in {**before, **after}
            if before.get(what) != after.get(what)
        ),
    )


def _changed_settings(steps: JobSteps, old: JobSet, new: JobSet) -> Iterator[str]:
    """The differing parts that decide the result, by their names in the settings."""
    before, after = (_hashes(state) for state in (steps.job.old, steps.job.new))
    parts = (
        {part for part in {**before, **after} if before.get(part) != after.get(part)}
        if before and after
        else set(_parts_of_steps(steps))
    )
    for part in [*(each for each in _SETTING_OF_PART if each in parts), *sorted(parts - _SETTING_OF_PART.keys())]:
        if part == "environment":
            yield from _changed_variables(steps, old, new)
        elif part == "data":
            yield from _changed_data(old, new)
        else:
            yield _SETTING_OF_PART.get(part, part)


def _parts_of_steps(steps: JobSteps) -> Iterator[str]:
    """The differing parts according to the steps, for hashes that are secret or not known yet."""
    before, after = (state.get("inputs") or {} for state in (steps.job.old, steps.job.new))
    if steps.secret.changes:
        yield "environment"
    if steps.files.changes:
        yield "code"
    yield from (part for part in ("image", "strategy") if before.get(part) != after.get(part))


def _changed_variables(steps: JobSteps, old: JobSet, new: JobSet) -> list[str]:
    """The names of the variables that differ; their values may be secret."""
    in_secret = {match[1] for path in steps.secret.paths if (match := _SECRET_KEY.match(path))}
    before, after = old.variables, new.variables if new.is_shown else old.variables
    outside = {name for name in {**before, **after} if _differs(name, before, after)}
    found = [f"env {name}" for name in sorted(in_secret | outside)]
    hidden = steps.secret.changes and not in_secret
    return [*found, "its Secret"] if found and hidden else found or ["environment"]


def _differs(name: str, before: Mapping[str, Any], after: Mapping[str, Any]) -> bool:
    return name not in before or name not in after or before[name] != after[name]


def _changed_data(old: JobSet, new: JobSet) -> list[str]:
    found = []
    if old.volumes != new.volumes:
        found.append("volumes")
    if old.streams != new.streams:
        found.append("streams")
    return found or ["volumes or streams"]


def _job_set(state: Mapping[str, Any]) -> JobSet:
    return JobSet(state.get("inputs") or {})


def _outputs(state: Mapping[str, Any]) -> Mapping[str, Any]:
    return state.get("outputs") or {}


def _hashes(state: Mapping[str, Any]) -> dict[str, str]:
    """The recorded hashes by part; empty if they are secret, or known only after the update."""
    return dict(plain(plain(_outputs(state).get("run")).get("decisive")))
