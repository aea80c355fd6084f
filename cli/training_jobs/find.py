"""Which job a name means: a workload of the stack, a run, or NAMESPACE/RUN of a team's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tensorplane.cli.api_values import Object
from tensorplane.cli.training_jobs import jobset_api
from tensorplane.components.base.labels import MANAGED_BY, NAME
from tensorplane.core import command_lines
from tensorplane.core.command_lines import STACK
from tensorplane.core.errors import UserError
from tensorplane.driver.stack_settings import StackSettings, stack_names
from tensorplane.stack_file.nearest import did_you_mean


def newest(job_sets: Sequence[Object], namespace: str, job: str) -> Object | None:
    """The JobSet that a name means; of several runs the newest. `namespace`: where names are those of workloads."""
    runs = sorted(job_sets, key=_order, reverse=True)
    for name_of in (_workload, _plain, _full):
        for one in runs:
            if name_of(one, namespace) == job:
                return one
    return None


def _order(one: Object) -> tuple[bool, str]:
    """A sweep before its trials, which have its name, too."""
    return jobset_api.is_sweep_controller(one), str(one["metadata"]["creationTimestamp"])


def get_job_set(
    job_sets: Sequence[Object],
    namespace: str,
    job: str,
    declared: Mapping[str, Any],
    stack: str = STACK,
    context: str = "",
) -> Object:
    """The job's JobSet; of several runs the newest. A UserError if there is none.

    `namespace`: the stack's own. `declared`: the workloads of the settings of `stack`.
    """
    if found := newest(job_sets, namespace, job) or _of_team(job_sets, job, declared):
        return found
    kind = (declared.get(job) or {}).get("kind") if isinstance(declared.get(job), Mapping) else None
    if kind == "notebook":
        raise UserError(f"{job}: does not run; start it with: {command_lines.tensorplane(f'notebook {job}', stack)}")
    if kind == "pipeline":
        raise UserError(
            f"{job} is a pipeline; see what its stages wait for with: {command_lines.tensorplane(f'runs {job}', stack)}"
        )
    if kind and kind != "trainingJob":
        status = command_lines.status(stack, context)
        raise UserError(f"{job} is a {kind}, which needs no queue; see its pods with: {status}")
    if kind:
        raise UserError(
            f"{job} is declared but not in the cluster; deploy it with: {command_lines.deploy(stack, context)}"
        )
    names = sorted({shown(one, namespace) for one in job_sets} | _training(declared))
    have = f"{', '.join(names) or 'none'}{did_you_mean(job, names)}"
    raise UserError(f"{job or 'JOB'}: stack {stack} has no such job; it has {have}{_of_another(job, stack)}")


def _of_team(job_sets: Sequence[Object], job: str, declared: Mapping[str, Any]) -> Object | None:
    """The newest run of a workload that the settings declare in a team's namespace."""
    about = declared.get(job)
    if not isinstance(about, Mapping) or not about.get("team"):
        return None
    own = [one for one in job_sets if (one["metadata"].get("labels") or {}).get(MANAGED_BY) != jobset_api.CLI_MANAGER]
    return next((found for each in _namespaces(own) if (found := newest(own, each, job))), None)


def _namespaces(job_sets: Sequence[Object]) -> list[str]:
    return sorted({one["metadata"]["namespace"] for one in job_sets})


def _of_another(job: str, stack: str) -> str:
    """How to ask the other stacks of the project: those that declare the job, else any."""
    others = [name for name in stack_names() if name != stack]
    declaring = [name for name in others if job in _declared(name)]
    if not others:
        return ""
    if declaring:
        asks = (f"--stack {name} (make: STACK={name})" for name in declaring)
        return f"; declared in {', '.join(declaring)}: add {' or '.join(asks)}"
    return f"; for another stack ({', '.join(others)}), add --stack NAME (make: STACK=NAME)"


def _declared(stack: str) -> Mapping[str, Any]:
    try:
        return StackSettings(stack, Path()).section("workloads")
    except UserError:
        # A file that cannot be read does not answer whether its stack declares the job.
        return {}


def _workload(one: Object, namespace: str) -> str:
    """The name in the settings, of the stack's own jobs."""
    inside = one["metadata"]["namespace"] == namespace
    return str((one["metadata"].get("labels") or {}).get(NAME, "")) if inside else ""


def _plain(one: Object, _: str) -> str:
    return str(one["metadata"]["name"])


def _full(one: Object, _: str) -> str:
    return f"{one['metadata']['namespace']}/{one['metadata']['name']}"


def shown(one: Object, namespace: str) -> str:
    """A job's name, as seen from a namespace."""
    if one["metadata"]["namespace"] == namespace:
        return _workload(one, namespace) or _plain(one, namespace)
    return _full(one, namespace)


def _training(declared: Mapping[str, Any]) -> set[str]:
    return {name for name, one in declared.items() if isinstance(one, Mapping) and one.get("kind") == "trainingJob"}
