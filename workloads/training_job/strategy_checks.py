"""Checks of a job's strategy against its command."""

from collections.abc import Iterator, Sequence

from components.base.problems import Key, Problem
from workloads.training_job import launcher, tf_config
from workloads.training_job.role import Role
from workloads.training_job.settings import JobSettings


def find_problems(settings: JobSettings, at: Key) -> Iterator[Problem]:
    """Problems of the strategy itself, and of commands that its pods cannot run. `at`: the path of the job."""
    roles = settings.roles()
    given = ((*at, "strategy"), (*at, "resources"))
    yield from (
        Problem((*at, *path), reason, given=given) for path, reason in settings.strategy.problems(settings.resources)
    )
    yield from _added(settings, at)
    yield from _python(settings.program, roles, at)
    yield from _hosts(settings, roles, at)


def commands(settings: JobSettings) -> Iterator[tuple[Key, Sequence[str]]]:
    """The commands in the settings, the job's and those of roles, by their paths below the job's."""
    if settings.command:
        yield ("command",), settings.command
    if settings.on_success and settings.on_success.command:
        yield ("onSuccess", "command"), settings.on_success.command
    for role in settings.roles():
        if role.command is not None:
            yield _command_of(role), role.command


def _command_of(role: Role) -> Key:
    """The path of the command of a role that has its own, beside its resources."""
    return (*role.at[:-1], "command")


def _added(settings: JobSettings, at: Key) -> Iterator[Problem]:
    """Pods in addition to the strategy's own that could not do their work."""
    evaluator, data_service = settings.strategy.evaluator, settings.strategy.data_service
    if evaluator and settings.checkpoints is None:
        reason = "is set, but checkpoints is not, and an evaluator reads the job's checkpoints"
        yield Problem((*at, "strategy", "evaluator"), f"{reason}; set checkpoints", given=((*at, "checkpoints"),))
    if data_service and data_service.resources.gpus:
        where = (*at, "strategy", "dataService", "resources", "gpus")
        yield Problem(where, f"is {data_service.resources.gpus}, but tf.data service runs on CPUs; set 0")


def _python(command: Sequence[str], roles: Sequence[Role], at: Key) -> Iterator[Problem]:
    """Pods that run the library need an interpreter, and only the command names one of the image."""
    running = [role.name for role in roles if role.program]
    if running and command and not launcher.PYTHON.fullmatch(command[0]):
        reason = f"{command[0]!r} is not Python, with which {' and '.join(running)} pods run tensorplane's library"
        remedy = "start the command with python3, of an image that has TensorFlow"
        yield Problem((*at, "command", "0"), f"{reason}; {remedy}", given=((*at, "strategy"),))


def _hosts(settings: JobSettings, roles: Sequence[Role], at: Key) -> Iterator[Problem]:
    """Variables of the cluster that a command uses but its pods do not have: Kubernetes would leave `$(NAME)` as is."""
    for role in roles:
        if role.program:
            continue
        have = {variable["name"] for variable in tf_config.environment("run", roles, role)}
        for where, argument in _arguments(settings, role):
            for name in (name for name in tf_config.VARIABLES if name not in have and f"$({name})" in argument):
                reason = f"uses $({name}), which {role.name} pods of strategy {settings.strategy.kind} do not have"
                remedy = "remove it, or choose another strategy"
                yield Problem((*at, *where), f"{reason}; {remedy}", given=((*at, "strategy"),))


def _arguments(settings: JobSettings, role: Role) -> Iterator[tuple[Key, str]]:
    """What the container of a role runs, by the paths below the job's."""
    where, stated = (
        (_command_of(role), role.command)
        if role.command is not None
        else (("args",), settings.args)
        if settings.script
        else (("command",), settings.command or ())
    )
    for index, argument in enumerate(stated):
        yield (*where, str(index)), argument
