"""Checks of the deadline of a whole run."""

from collections.abc import Iterator

from components.base.faults import Fault, Key
from workloads.manifests import launcher
from workloads.settings.training_job import JobSettings


def faults(settings: JobSettings, at: Key) -> Iterator[Fault]:
    """Faults of a deadline that nothing could keep. `at`: the job's path."""
    if settings.total_deadline_seconds is None:
        return
    where, program = (*at, "totalDeadlineSeconds"), settings.program
    if settings.checkpoints is None:
        reason = "is set, but checkpoints is not, and the run's first start is recorded beside them"
        remedy = "set checkpoints, or deadlineSeconds, which counts from each start"
        yield Fault(where, f"{reason}; {remedy}", given=((*at, "checkpoints"),))
    elif program and not launcher.PYTHON.fullmatch(program[0]):
        reason = f"is set, but {program[0]!r} is not Python, with which the first pod watches the deadline"
        remedy = "start the command with python3, or set deadlineSeconds, which counts from each start"
        yield Fault(where, f"{reason}; {remedy}", given=((*at, "command"),))
    elif settings.deadline_seconds and settings.deadline_seconds > settings.total_deadline_seconds:
        reason = f"is {settings.deadline_seconds}, but totalDeadlineSeconds is {settings.total_deadline_seconds}"
        remedy = "so it never ends the job; lower or remove it"
        yield Fault((*at, "deadlineSeconds"), f"{reason}, {remedy}", given=(where,))
