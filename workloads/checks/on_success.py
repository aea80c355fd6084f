"""Checks of what a job does once its command has succeeded."""

from collections.abc import Iterator

from components.base.faults import Fault, Key
from workloads.base import Declared
from workloads.checks import servers
from workloads.manifests import launcher
from workloads.settings.mounts import Location
from workloads.settings.training_job import JobSettings


def faults(settings: JobSettings, at: Key, declared: Declared) -> Iterator[Fault]:
    """Faults of `onSuccess`. `at`: the job's path."""
    if settings.on_success is None:
        return
    program, where = settings.program, (*at, "onSuccess")
    if program and not launcher.PYTHON.fullmatch(program[0]):
        reason = f"is set, but {program[0]!r} is not Python, with which the first pod notices the command's success"
        yield Fault(where, f"{reason}; start the command with python3, or remove it", given=((*at, "command"),))
    if (server := settings.on_success.publish) is None:
        return
    publish = (*where, "publish")
    yield from servers.unknown(server, publish, declared)
    if server in declared.models and settings.model is None:
        reason = f"is {server}, but model is not set, so there is no version to publish"
        yield Fault(publish, f"{reason}; set model", given=((*at, "model"),))
    elif settings.model and (folder := declared.models.get(server)):
        yield from _folder(server, folder, settings.model, settings, (publish, at))


def _folder(
    server: str, folder: Location, model: Location, settings: JobSettings, keys: tuple[Key, Key]
) -> Iterator[Fault]:
    """Faults of the server's folder, which the job must be able to write to. `keys`: of `publish`, and the job's."""
    publish, at = keys
    given = ((*at, "volumes"), (*at, "model"), ("workloads", server))
    mount = settings.volumes.get(folder.volume)
    if (folder.volume, folder.path) == (model.volume, model.path):
        reason = f"{server} serves the folder of model, so it gets every version as soon as the command publishes it"
        yield Fault(publish, f"{reason}; remove publish, or set another path in model", given=given)
    elif mount is None:
        reason = f"{server} serves from volume {folder.volume}, which the job does not mount"
        yield Fault(publish, f"{reason}; add it to volumes", given=given)
    elif mount.read_only:
        reason = f"{server} serves from volume {folder.volume}, which the job mounts read-only"
        yield Fault(publish, f"{reason}; remove readOnly", given=given)
