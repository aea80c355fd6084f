"""Checks of what a job runs: either a command, or a script with its arguments."""

from collections.abc import Iterator

from components.base.problems import Key, Problem
from workloads.training_job.settings import JobSettings


def find_problems(settings: JobSettings, at: Key) -> Iterator[Problem]:
    """Problems of jobs without a command, with two, or with arguments for none. `at`: the job's path."""
    if settings.command is None and settings.script is None:
        reason = "required setting is missing: Command of every pod; set it, or script: a Python file of the project"
        yield Problem((*at, "command"), reason)
    elif settings.command is not None and settings.script is not None:
        yield Problem((*at, "script"), "is set, and so is command; remove one of them", given=((*at, "command"),))
    elif settings.args and settings.script is None:
        yield Problem((*at, "args"), "are the arguments of script, which is not set; add them to command")
