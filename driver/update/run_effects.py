"""What an update does to each run of a training job: it continues in a new gang, or a new run replaces it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tensorplane.components.base.labels import JOB_SET_NAME
from tensorplane.core.errors import UserError
from tensorplane.core.kube import Kube
from tensorplane.driver.runs.job_set import JobSet, plain
from tensorplane.driver.update.engine_events import JobSteps

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


_LAST_DIGITS = "results may differ in the last digits"


def effect_lines(jobs: Iterable[JobSteps], api: Kube | None) -> tuple[str, ...]:
    """A line for each effect. `api`: the stack's cluster, if it can be asked how far runs are."""
    return tuple(effect_line(change, _find_progress(change, api)) for change in find_effects(jobs))


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
    return get_progress(api, change.namespace, change.run, change.writer)


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


_JOB_SET = "/apis/jobset.x-k8s.io/v1alpha2/namespaces/{}/jobsets/{}"
_LOG_LINES = "2000"
# Log lines of tensorplane's library (`runtime/tensorplane/loop.py`). Before its first save, a pod's start step counts.
_SAVED = re.compile(r"^tensorplane: saved=(\d+)$", re.MULTILINE)
_RESUMED = re.compile(r"^tensorplane: .*\bstep=(\d+) .*\bresumed=", re.MULTILINE)


@dataclass(frozen=True)
class RunProgress:
    """What the cluster reports about a run."""

    finished: bool = False
    step: int | None = None
    """Step of the newest checkpoint, 0 before the first; None if no pod's log has it."""
    running: bool = False
    """Whether a pod is running, which saves once more when it is stopped."""


def get_progress(api: Kube, namespace: str, run: str, writer: str) -> RunProgress | None:
    """Asks the cluster; None if it does not answer. `writer`: prefix of the name of the pod that saves."""
    try:
        return _read_progress(api, namespace, run, writer)
    except UserError:
        return None


def _read_progress(api: Kube, namespace: str, run: str, writer: str) -> RunProgress:
    job_set = api.get(_JOB_SET.format(namespace, run)) or {}
    conditions = (job_set.get("status") or {}).get("conditions") or ()
    if any(one["type"] == "Completed" and one["status"] == "True" for one in conditions):
        return RunProgress(finished=True)
    pods = f"/api/v1/namespaces/{namespace}/pods"
    for pod in api.items(pods, labelSelector=f"{JOB_SET_NAME}={run}") if writer else ():
        name = pod["metadata"]["name"]
        if name.startswith(writer):
            log = api.text(f"{pods}/{name}/log", tailLines=_LOG_LINES)
            return RunProgress(step=_newest_step(log), running=(pod.get("status") or {}).get("phase") == "Running")
    return RunProgress()


def _newest_step(log: str) -> int | None:
    found = _SAVED.findall(log) or _RESUMED.findall(log)
    return int(found[-1]) if found else None


_JOB = "tensorplane:index:TrainingJob"
_CONFIG_MAP = "kubernetes:core/v1:ConfigMap"

SECTIONS = ("cluster", "gpuRuntime", "nodeGroups", "queues", "streams", "volumes", "workloads")
"""The settings that training jobs depend on."""


def has_jobs(export: Mapping[str, Any]) -> bool:
    """Whether a training job is deployed. `export` is what `pulumi stack export` prints."""
    return bool(list(_jobs(export)))


def code_differs(export: Mapping[str, Any], workloads: Mapping[str, Any]) -> bool:
    """Whether a deployed job's own files differ from this machine's. Another library of tensorplane restarts nothing.

    `workloads` are those of the settings.
    """
    # Imported only here: the module is loaded before the packages of the settings are installed.
    from tensorplane.workloads.pods import sources
    from tensorplane.workloads.pods.files import bundles, of_script

    deployed = {one["inputs"]["metadata"]["name"] for one in _resources(export) if one["type"] == _CONFIG_MAP}
    for job in _jobs(export):
        settings = workloads.get(job)
        given: Mapping[str, Any] = settings if isinstance(settings, dict) else {}
        files, script = given.get("files") or {}, given.get("script") or ""
        if not all(isinstance(source, str) for source in (script, *files.values())):
            return True  # encrypted: the engine alone can read it
        contents = sources.read({**(of_script(script) if script else {}), **files})
        if not {one.name for one in bundles(f"{job}-files", contents)} <= deployed:
            return True
    return False


def _jobs(export: Mapping[str, Any]) -> Iterator[str]:
    return (one["urn"].rpartition("::")[2] for one in _resources(export) if one["type"] == _JOB)


def _resources(export: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    yield from (one for one in export["deployment"].get("resources") or () if not one.get("delete"))
