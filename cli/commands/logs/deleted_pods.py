"""Lines of pods that are deleted: the library keeps them on the volume of the job's checkpoints.

A pod reads them there, in the job's image and with its mount of that volume, and is deleted again.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator

from tensorplane.cli.api_values import Object
from tensorplane.cli.commands.logs.pods import LogsOptions
from tensorplane.cli.training_jobs import reader_pod
from tensorplane.core.errors import UserError
from tensorplane.core.kube import Kube
from tensorplane.driver.runs.job_set import JobSet

_FILE = re.compile(r"(.+)-(\d+)\.(\d+)\.log")
_SECONDS = 120.0
_LOOK_SECONDS = 0.3
_MOST_BYTES = 2**20
"""The end of each file that is read: the kubelet keeps 10 MiB of a container's log."""
# Prints each file after a line with its name and its number of characters.
_PROGRAM = """
import pathlib, sys
for path in sorted(pathlib.Path(sys.argv[1]).glob("*.log")):
    with path.open("rb") as file:
        file.seek(max(path.stat().st_size - int(sys.argv[2]), 0))
        text = file.read().decode(errors="replace")
    print(path.name, len(text))
    sys.stdout.write(text + "\\n")
"""


def lines(api: Kube, job_set: Object, options: LogsOptions) -> dict[tuple[str, int], list[str]]:
    """The lines of the last start of each pod's command, or with `previous` of the one before, by role and index.

    Empty if the job keeps none: without checkpoints, with a command that is not Python, or before its first start.
    """
    run = JobSet(job_set).value("TENSORPLANE_RUN")
    if not run:
        return {}
    folder, _, name = run.rpartition("/")
    starts: dict[tuple[str, int], dict[int, list[str]]] = {}
    for file, text in _read(_printed(api, job_set, f"{folder}/logs/{name}")):
        if (found := _FILE.fullmatch(file)) and _is_chosen(member := (found[1], int(found[2])), options):
            starts.setdefault(member, {})[int(found[3])] = text.splitlines()[-(options.tail or 0) :]
    wanted = 2 if options.previous else 1
    return {
        member: of_start[sorted(of_start)[-wanted]]
        for member, of_start in sorted(starts.items())
        if len(of_start) >= wanted
    }


def _is_chosen(member: tuple[str, int], options: LogsOptions) -> bool:
    return options.role in (None, member[0]) and options.index in (None, member[1])


def _read(printed: str) -> Iterator[tuple[str, str]]:
    """The files in what the pod printed."""
    while printed:
        head, _, rest = printed.partition("\n")
        name, _, length = head.rpartition(" ")
        if not length.isdecimal():
            return
        yield name, rest[: int(length)]
        printed = rest[int(length) + 1 :]


def _printed(api: Kube, job_set: Object, folder: str) -> str:
    """What the pod prints. A UserError if it does not end in time."""
    pod = reader(job_set, folder)
    at = f"/api/v1/namespaces/{pod['metadata']['namespace']}/pods"
    path = f"{at}/{pod['metadata']['name']}"
    api.apply(path, pod, "tensorplane-logs")
    try:
        end = time.monotonic() + _SECONDS
        while ((api.get(path) or {}).get("status") or {}).get("phase") not in ("Succeeded", "Failed"):
            if time.monotonic() > end:
                raise UserError(f"{folder}: the pod that reads it did not start within {_SECONDS:.0f} s")
            time.sleep(_LOOK_SECONDS)
        return api.text(f"{path}/log")
    finally:
        api.delete(path, gracePeriodSeconds="0")


def reader(job_set: Object, folder: str) -> Object:
    """A pod of the job's that prints the files of a folder, and can do nothing else."""
    command = ["python3", "-I", "-c", _PROGRAM, folder, str(_MOST_BYTES)]
    return reader_pod.reading(job_set, folder, "logs", command, memory="64Mi")
