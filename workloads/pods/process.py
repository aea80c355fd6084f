"""Checks of the size of command and environment variables."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from components.base.plural import counted
from components.base.problems import Key, Problem
from workloads.training_job import tf_config
from workloads.training_job.role import Role

LIMIT_BYTES = 256 * 1024
"""Limit of a command and its variables together. The JobSet and Kueue's Workload contain them; the API server accepts
objects of up to 1.5 MiB, and JSON escapes one byte with up to six."""

MOST_BYTES_OF_VARIABLE = 128 * 1024 - 1
"""Linux' limit of one variable, with its name and the equals sign (MAX_ARG_STRLEN, execve(2))."""


def check_size(command: Sequence[str], env: Mapping[str, Any], at: Key) -> Iterator[Problem]:
    """Problem of a command and variables above the limit. `at`: the path of the workload.

    Variables that other resources produce are not counted.
    """
    arguments = sum(len(text.encode()) for text in command)
    variables = {name: len(name) + len(text.encode()) for name, text in env.items() if isinstance(text, str)}
    total = arguments + sum(variables.values())
    if total <= LIMIT_BYTES:
        return
    key = "command" if arguments > total - arguments else "env"
    reason = f"command and env have {total:,} bytes, more than the {LIMIT_BYTES:,} of a job"
    yield Problem((*at, key), f"{reason}; move large values to `files`, the image or a volume", given=(at,))


def check_cluster_size(run: str, roles: Sequence[Role], at: Key) -> Iterator[Problem]:
    """Problem of more pods than TF_CONFIG can list. `run`: a name as long as the run's. `at`: the path of the job."""
    listed = [role for role in roles if role.in_cluster]
    if not listed:
        return
    most = max(listed, key=lambda role: role.replicas)
    sizes = [
        len(f"{variable['name']}={variable['value']}")
        for variable in tf_config.environment(run, roles, most)
        if "value" in variable
    ]
    if (size := max(sizes)) > MOST_BYTES_OF_VARIABLE:
        pods = counted(sum(role.replicas for role in listed), "pod")
        reason = f"TF_CONFIG of {pods} has {size:,} bytes, more than the {MOST_BYTES_OF_VARIABLE:,} that Linux allows"
        yield Problem((*at, *most.count_at), f"{reason}; set fewer pods, or shorten the job's name", given=(at,))
