"""Checks of what a job does once its command has succeeded."""

from collections.abc import Iterator

from components.base.problems import Key, Problem
from workloads.family import Declared
from workloads.model_server import checks as model_server_checks
from workloads.pods.mounts import Location
from workloads.training_job import launcher
from workloads.training_job.settings import JobSettings


def find_problems(settings: JobSettings, at: Key, declared: Declared) -> Iterator[Problem]:
    """Problems of `onSuccess`. `at`: the job's path."""
    if settings.on_success is None:
        return
    program, where = settings.program, (*at, "onSuccess")
    if program and not launcher.PYTHON.fullmatch(program[0]):
        reason = f"is set, but {program[0]!r} is not Python, with which the first pod notices the command's success"
        yield Problem(where, f"{reason}; start the command with python3, or remove it", given=((*at, "command"),))
    if (server := settings.on_success.publish) is None:
        return
    publish = (*where, "publish")
    yield from model_server_checks.check_server_name(server, publish, declared)
    if server in declared.models and settings.model is None:
        reason = f"is {server}, but model is not set, so there is no version to publish"
        yield Problem(publish, f"{reason}; set model", given=((*at, "model"),))
    elif settings.model and (folder := declared.models.get(server)):
        yield from _folder(server, folder, settings.model, settings, (publish, at))


def _folder(
    server: str, folder: Location, model: Location, settings: JobSettings, keys: tuple[Key, Key]
) -> Iterator[Problem]:
    """Problems of the server's folder, which the job must be able to write to. `keys`: of `publish`, and the job's."""
    publish, at = keys
    given = ((*at, "volumes"), (*at, "model"), ("workloads", server))
    mount = settings.volumes.get(folder.volume)
    if (folder.volume, folder.path) == (model.volume, model.path):
        reason = f"{server} serves the folder of model, so it gets every version as soon as the command publishes it"
        yield Problem(publish, f"{reason}; remove publish, or set another path in model", given=given)
    elif mount is None:
        reason = f"{server} serves from volume {folder.volume}, which the job does not mount"
        yield Problem(publish, f"{reason}; add it to volumes", given=given)
    elif mount.read_only:
        reason = f"{server} serves from volume {folder.volume}, which the job mounts read-only"
        yield Problem(publish, f"{reason}; remove readOnly", given=given)
