"""Checks of commands: those that cannot start, and those that are too long for Linux."""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any

from tensorplane.components.base.plural import number_of
from tensorplane.components.base.problems import Key, Problem, did_you_mean
from tensorplane.workloads.training_job import tf_config
from tensorplane.workloads.training_job.launcher import PYTHON
from tensorplane.workloads.training_job.role import Role

LIMIT_BYTES = 256 * 1024
"""Limit of a command and its variables together. The JobSet and Kueue's Workload contain them; the API server accepts
objects of up to 1.5 MiB, and JSON escapes one byte with up to six."""

MOST_VARIABLE_BYTES = 128 * 1024 - 1
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
    members = [role for role in roles if role.in_cluster]
    if not members:
        return
    most = max(members, key=lambda role: role.replicas)
    sizes = [
        len(f"{variable['name']}={variable['value']}")
        for variable in tf_config.environment(run, roles, most)
        if "value" in variable
    ]
    if (size := max(sizes)) > MOST_VARIABLE_BYTES:
        pods = number_of(sum(role.replicas for role in members), "pod")
        reason = f"TF_CONFIG of {pods} has {size:,} bytes, more than the {MOST_VARIABLE_BYTES:,} that Linux allows"
        yield Problem((*at, *most.count_at), f"{reason}; set fewer pods, or shorten the job's name", given=(at,))


_INTERPRETER = re.compile(r"(.*/)?(python(3(\.\d+)?)?|sh|bash|dash)")
_PATH_MAX_BYTES = 4095
"""Bytes: PATH_MAX on Linux without the terminating NUL."""
_OPTIONS_WITH_VALUE = ("-W", "-X")
"""Options of Python that take an argument."""


def find_problems(
    command: Sequence[str], files: Collection[str], at: Key, command_at: Key, *, files_known: bool
) -> Iterator[Problem]:
    """Problems of a command. `at`: the path of the workload. `command_at`: that of the command.

    `files_known`: whether its working directory has only `files`. The working directory of a custom image may have
    other files, and on simulated nodes nothing runs.
    """
    program, *arguments = command
    if not program.strip():
        yield Problem((*command_at, "0"), "is empty; start the command with a program, such as python3")
    elif program != program.strip() or not program.isprintable():
        yield Problem((*command_at, "0"), f"{program!r} has spaces or invisible characters; use the program alone")
    elif len(program.encode()) > _PATH_MAX_BYTES:
        yield Problem(
            (*command_at, "0"), f"has {len(program):,} characters, more than Linux allows in a path; use a shorter path"
        )
    elif " " in program and not arguments:
        words = ", ".join(program.split())
        yield Problem(
            (*command_at, "0"), f"{program!r} is a single argument; use one item for each argument: [{words}]"
        )
    elif (script := _plain(program)) in files:
        reason = f"{script} is one of `files`, which are not executable; start it with a program such as python3"
        yield Problem((*command_at, "0"), reason, given=((*at, "files"),))
    elif _INTERPRETER.fullmatch(program) and arguments and arguments[-1] in ("-c", "-m"):
        yield Problem(
            (*command_at, str(len(arguments))),
            f"nothing follows {arguments[-1]}; add the code or module that {program} runs",
        )
    elif files_known and "/" in program and _is_below(program):
        reason = f"{program!r} is not in the working directory, which has `files` only; use an absolute path"
        yield Problem((*command_at, "0"), reason, given=((*at, "files"),))
    elif PYTHON.fullmatch(program) and (position := _position(arguments)) is not None:
        yield from _script_problems(
            arguments[position], files if files_known else None, (*command_at, str(position + 1)), at
        )


def _script_problems(script: str, files: Collection[str] | None, script_at: Key, at: Key) -> Iterator[Problem]:
    """`files` is None if the working directory may have other files."""
    if not script:
        yield Problem(script_at, "is empty; name the script that Python runs")
    if not script or files is None:
        return
    plain = _plain(script)
    is_folder = any(name.startswith(f"{plain}/") for name in files)
    if is_folder and f"{plain}/__main__.py" not in files:
        reason = f"{script!r} is a folder of `files` without __main__.py; name a file in it"
        yield Problem(script_at, reason, given=((*at, "files"),))
    elif not is_folder and plain not in files and plain != "." and _is_below(script):
        remedy = f"add it{did_you_mean(script, files)}" if files else "add it, or use an image that has it"
        reason = f"{script!r} is not one of `files`; {remedy}"
        yield Problem(script_at, reason, given=((*at, "files"), (*at, "image")))


def _is_below(path: str) -> bool:
    """Whether a path is in the working directory, as far as known."""
    return not path.startswith(("/", "../")) and "$(" not in path


def _position(arguments: Sequence[str]) -> int | None:
    """Index of the script in Python's arguments; None if it runs a module or code."""
    position = 0
    while position < len(arguments) and arguments[position].startswith("-"):
        if arguments[position].startswith(("-c", "-m")) or arguments[position] == "-":
            return None
        position += 2 if arguments[position] in _OPTIONS_WITH_VALUE else 1
    return position if position < len(arguments) else None


def _plain(path: str) -> str:
    """The normalized path: `./train.py` is `train.py`."""
    return str(PurePosixPath(path)) if path else ""
