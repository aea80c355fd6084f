"""Checks of the deadlines of a whole run and of its progress."""

from collections.abc import Iterator

from components.base.problems import Key, Problem
from workloads.training_job import launcher
from workloads.training_job.settings import JobSettings


def find_problems(settings: JobSettings, at: Key) -> Iterator[Problem]:
    """Problems of deadlines that nothing could keep. `at`: the job's path."""
    if settings.total_deadline_seconds is not None:
        yield from _of_run(settings, settings.total_deadline_seconds, at)
    if settings.progress_deadline_seconds is not None:
        yield from _of_progress(settings, settings.progress_deadline_seconds, at)


def _of_run(settings: JobSettings, seconds: int, at: Key) -> Iterator[Problem]:
    where, program = (*at, "totalDeadlineSeconds"), settings.program
    if settings.checkpoints is None:
        reason = "is set, but checkpoints is not, and the run's first start is recorded beside them"
        remedy = "set checkpoints, or deadlineSeconds, which counts from each start"
        yield Problem(where, f"{reason}; {remedy}", given=((*at, "checkpoints"),))
    elif program and not launcher.PYTHON.fullmatch(program[0]):
        reason = f"is set, but {program[0]!r} is not Python, with which the first pod watches the deadline"
        remedy = "start the command with python3, or set deadlineSeconds, which counts from each start"
        yield Problem(where, f"{reason}; {remedy}", given=((*at, "command"),))
    elif settings.deadline_seconds and settings.deadline_seconds > seconds:
        reason = f"is {settings.deadline_seconds}, but totalDeadlineSeconds is {seconds}"
        remedy = "so it never ends the job; lower or remove it"
        yield Problem((*at, "deadlineSeconds"), f"{reason}, {remedy}", given=(where,))


def _of_progress(settings: JobSettings, seconds: int, at: Key) -> Iterator[Problem]:
    where, program = (*at, "progressDeadlineSeconds"), settings.program
    if program and not launcher.PYTHON.fullmatch(program[0]):
        reason = f"is set, but {program[0]!r} is not Python, with which each pod watches its steps"
        yield Problem(where, f"{reason}; start the command with python3, or remove it", given=((*at, "command"),))
    limits = {"deadlineSeconds": settings.deadline_seconds, "totalDeadlineSeconds": settings.total_deadline_seconds}
    for key, limit in limits.items():
        if limit and limit <= seconds:
            reason = f"is {seconds}, but {key} is {limit}, so it never ends a pod; lower or remove it"
            yield Problem(where, reason, given=((*at, key),))
