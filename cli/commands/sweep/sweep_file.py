"""The sweep that a file asks for, as the settings of a workload. Pure, but for reading the file."""

from __future__ import annotations

from pathlib import Path

from tensorplane.cli.commands.run import request
from tensorplane.cli.commands.run.request import JobRequest
from tensorplane.core.errors import UserError

_KIND, _TRIAL = "sweep", "trial"


def sweep(name: str | None, file: Path, *, team: str | None = None) -> JobRequest:
    """The sweep. Its trials get, like jobs, the files of the file's folder, and keep their outputs on the first volume.

    `team`: whose it is; None for the stack's own. A UserError if the file cannot be read, or describes something else.
    """
    settings = request.of_file(file)
    if (kind := settings.get("kind", _KIND)) != _KIND:
        raise UserError(f"{file}.kind: is {kind}; remove it, or set kind: {_KIND}")
    sweep_name = name or file.stem
    trial = settings.get(_TRIAL)
    if isinstance(trial, dict):
        settings[_TRIAL] = request.completed(sweep_name, trial, team)
    return JobRequest(sweep_name, {**settings, "kind": _KIND}, request.folder_of(file), file, part=_TRIAL)
