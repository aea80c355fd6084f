"""What a job in a team's namespace may ask for: queues, volumes and GPUs that the team has."""

from collections.abc import Iterator

from tensorplane.components.base.plural import number_of
from tensorplane.components.base.problems import Key, Problem, unknown_name
from tensorplane.components.queues.settings import MOST_GRACE, TeamArgs
from tensorplane.workloads.family import Declared
from tensorplane.workloads.pods import pod_sets
from tensorplane.workloads.pods.mounts import MountArgs
from tensorplane.workloads.training_job.settings import JobSettings


def find_problems(settings: JobSettings, team: str, at: Key, declared: Declared) -> Iterator[Problem]:
    """Every problem. `at`: the path of the job's settings."""
    if team not in declared.teams:
        yield unknown_name((*at, "team"), "team", team, declared.teams)
        return
    yield from _queue(settings, team, at, declared)
    if settings.streams:
        reason = "are not reached from teams' namespaces; remove them, or remove team"
        yield Problem((*at, "streams"), reason, given=((*at, "team"),))
    gpus = sum(pods.gpus for pods in pod_sets.of(settings))
    if gpus and settings.grace_seconds > MOST_GRACE:
        reason = f"is {settings.grace_seconds}, and a team's pods hold their GPUs meanwhile; set {MOST_GRACE} or less"
        yield Problem((*at, "graceSeconds"), reason, given=((*at, "team"),))
    if args := declared.teams[team]:
        yield from _volumes(settings, team, args, at)
        if args.gpus is not None and gpus > args.gpus:
            reason = f"the job needs {number_of(gpus, 'GPU')}, but team {team} may hold {args.gpus}"
            remedy = f"ask for {args.gpus} or fewer in all pods together, or raise gpus of the team"
            yield Problem((*at, "resources", "gpus"), f"{reason}; {remedy}", given=(("teams", team, "gpus"),))


def _queue(settings: JobSettings, team: str, at: Key, declared: Declared) -> Iterator[Problem]:
    path, given = (*at, "queue"), ((*at, "team"), ("queues",))
    has = sorted(name for name, args in declared.queues.items() if args and team in args.teams)
    if settings.queue is None:
        remedy = f"choose one of {', '.join(has)}" if has else "name the team in teams of a queue"
        yield Problem(path, f"missing, and a team's jobs wait in a queue; {remedy}", given=given)
    elif (args := declared.queues.get(settings.queue)) and team not in args.teams:
        have = f"choose one of {', '.join(has)}, or " if has else ""
        reason = f"{settings.queue} is no queue of team {team}; {have}add the team to its teams"
        yield Problem(path, reason, given=(*given, ("queues", settings.queue, "teams")))


def _volumes(settings: JobSettings, team: str, args: TeamArgs, at: Key) -> Iterator[Problem]:
    for name, mount in settings.volumes.items():
        path, given = (*at, "volumes", name), ((*at, "team"), ("teams", team, "volumes"))
        if name not in args.volumes:
            have = f"choose one of {', '.join(sorted(args.volumes))}, or " if args.volumes else ""
            yield Problem(path, f"team {team} has no volume {name}; {have}add it to its volumes", given=given)
        elif args.volumes[name] == "readOnly" and not (isinstance(mount, MountArgs) and mount.read_only):
            yield Problem(path, f"team {team} may only read volume {name}; set readOnly: true", given=given)
