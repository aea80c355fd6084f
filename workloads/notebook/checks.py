"""Checks of a notebook's settings: those of its job, under the notebook's own keys."""

from collections.abc import Iterator
from dataclasses import replace

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tensorplane.components.base.problems import Key, Problem
from tensorplane.workloads.family import Declared
from tensorplane.workloads.notebook import manifest
from tensorplane.workloads.notebook.settings import NotebookSettings
from tensorplane.workloads.training_job import checks as training_job_checks

_LAB = "jupyterlab"


def find_problems(settings: NotebookSettings, name: str, at: Key, declared: Declared) -> Iterator[Problem]:
    """Every problem. `name`: of the notebook and its service account. `at`: the path of its settings."""
    if settings.image is None and _LAB not in {canonicalize_name(Requirement(one).name) for one in settings.packages}:
        reason = f"has no {_LAB}, which the pod runs; add it, such as {_LAB}==4.6.6, or set image"
        yield Problem((*at, "packages"), reason)
    if manifest.TOKEN_VARIABLE in settings.env:
        yield Problem((*at, "env", manifest.TOKEN_VARIABLE), "is the token of each start, in a Secret; remove it")
    for problem in training_job_checks.find_problems(manifest.job(name, settings), name, at, declared):
        key = problem.path[len(at) :]
        if key[:1] == ("model",):
            yield replace(problem, path=(*at, "folder", *key[1:]))
        elif key[:1] != ("checkpoints",):  # files are on the volume, and kernels have nothing to resume from
            yield problem
