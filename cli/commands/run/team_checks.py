"""What a team's job may ask for: queues, volumes, model servers and GPUs that its team has."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from tensorplane.cli.commands.run.platform import Platform
from tensorplane.cli.commands.run.request import JobRequest, section
from tensorplane.components.base.plural import number_of
from tensorplane.components.clusters.embedded import Embedded
from tensorplane.components.queues.settings import MOST_GRACE
from tensorplane.core.errors import UserError
from tensorplane.stack_file.nearest import did_you_mean


def problems(job: JobRequest, platform: Platform) -> dict[str, str]:
    """A line for each problem, by the path that it names. Remedies are those that a member has."""
    found: dict[str, str] = {}
    for path, problem in _problems(job, platform):
        found.setdefault(path, f"{path}: {problem}")
    return found


def _problems(job: JobRequest, platform: Platform) -> Iterator[tuple[str, str]]:
    tree, team = platform.settings.tree, platform.team
    queues = platform.queues
    if (queue := job.training.get("queue")) not in queues:
        what = f"{queue} is no queue of team {team}" if queue else "missing, and a team's jobs wait in a queue"
        yield job.path_of("queue"), f"{what}; choose one of {_choices(queues)}"
    volumes: Mapping[str, str] = section(section(section(tree, "teams"), team), "volumes")
    for name, mount in section(job.training, "volumes").items():
        is_read = isinstance(mount, Mapping) and mount.get("readOnly")
        if name not in volumes:
            have = f"choose one of {_choices(volumes)}" if volumes else "run the job without it: the team has none"
            yield job.path_of("volumes", name), f"{name} is no volume of team {team}; {have}"
        elif volumes[name] == "readOnly" and not is_read:
            remedy = "set readOnly: true" if job.file else f"mount it as {name}:/{name}:ro"
            yield job.path_of("volumes", name), f"team {team} may only read volume {name}; {remedy}"
    yield from _publish(job, platform, volumes)
    yield from _packages(job, platform)


def _packages(job: JobRequest, platform: Platform) -> Iterator[tuple[str, str]]:
    kind = section(platform.settings.tree, "cluster").get("kind", Embedded().kind)
    if job.training.get("packages") and not job.training.get("image") and kind == Embedded().kind:
        have = f"name an image that has the packages with {job.path_of('image')}"
        yield job.path_of("packages"), f"only the stack's own jobs get packages on this cluster; {have} instead"


def check_gpus(job: JobRequest, platform: Platform, gpus: int) -> None:
    """A UserError if a job's pods need more GPUs than the team may hold at a time: not all of them could be created."""
    most = most_gpus(platform)
    if most is not None and gpus > most:
        what = f"the job needs {number_of(gpus, 'GPU')}, but team {platform.team} may hold {most}"
        path = job.path_of("resources", "gpus")
        raise UserError(f"{path}: {what}; ask for {most} or fewer in all pods together")


def check_grace(job: JobRequest, platform: Platform, gpus: int) -> None:
    """A UserError if pods of a team may hold GPUs for too long when they end: the API server would refuse the job."""
    seconds = job.training.get("graceSeconds", 0)
    if platform.team and gpus and seconds > MOST_GRACE:
        what = f"is {seconds}, and a team's pods hold their GPUs meanwhile; set {MOST_GRACE} or less"
        raise UserError(f"{job.path_of('graceSeconds')}: {what}")


def most_gpus(platform: Platform) -> int | None:
    """The most GPUs that the team may hold at a time; None: all that its queues have."""
    most: int | None = section(section(platform.settings.tree, "teams"), platform.team).get("gpus")
    return most


def _publish(job: JobRequest, platform: Platform, volumes: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    server = section(job.training, "onSuccess").get("publish")
    servers: Mapping[str, Any] = section(platform.settings.tree, "workloads")
    at = job.path_of("onSuccess", "publish")
    if not isinstance(server, str):
        # The check of the settings reports what is no name.
        return
    if server not in servers:
        choose = f"choose one of {_choices(servers)}{did_you_mean(server, servers)}"
        remedy = choose if servers else "remove it: the team can publish to none"
        yield at, f"{server} is no model server that team {platform.team} may publish to; {remedy}"
    elif (volume := servers[server]["model"]["volume"]) not in section(job.training, "volumes"):
        add = "add it to volumes" if job.file else f"add --volume {volume}:/{volume}"
        yield at, f"{server} serves from volume {volume}, which the job does not mount; {add}"
    elif not job.training.get("model"):
        writable = [name for name, access in volumes.items() if access == "readWrite"]
        yield at, f"is {server}, but the job keeps no model; mount one of {_choices(writable)} writable"


def _choices(names: Iterable[str]) -> str:
    return ", ".join(sorted(names)) or "none"
