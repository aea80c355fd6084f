"""Checks of a job's settings, also where another workload embeds them."""

from collections.abc import Iterator, Sequence

from tensorplane.components.base import names
from tensorplane.components.base.location import is_key_below
from tensorplane.components.base.problems import Key, Problem, unknown_name
from tensorplane.components.clusters.settings import ClusterArgs
from tensorplane.components.queues.manifest import DEFAULT
from tensorplane.workloads.family import Declared
from tensorplane.workloads.model_server import checks as model_server_checks
from tensorplane.workloads.pods import checks as pods_checks
from tensorplane.workloads.pods import command, pod_sets, resources
from tensorplane.workloads.pods.mounts import Location
from tensorplane.workloads.training_job import (
    job_set,
    launcher,
    packages,
    queueing,
    tensorflow_image,
    tf_config,
    tpu_checks,
)
from tensorplane.workloads.training_job.role import Role
from tensorplane.workloads.training_job.settings import JobSettings


def find_problems(
    settings: JobSettings, name: str, at: Key, declared: Declared, *, account: str | None = None
) -> Iterator[Problem]:
    """Every problem. `name`: of the job. `at`: the path of its settings. `account`: its pods', default its name."""
    longest = job_set.longest_name(settings.roles())
    if len(name) > longest:
        yield Problem(
            at, f"the name has {len(name)} characters; shorten it to {longest}, so that its pods' names stay valid"
        )
    yield from check_strategy(settings, at)
    yield from command.check_cluster_size(f"{name}-{names.digest(name)}", settings.roles(), at)
    pods = pod_sets.of(settings)
    # TPUs have checks of their own, because workloads without strategy tpu cannot request them.
    without_tpus = [of_role for role, of_role in zip(settings.roles(), pods, strict=True) if not role.topology]
    misfits = list(resources.find_problems(without_tpus, at, declared))
    yield from misfits
    yield from tpu_checks.find_problems(settings, at, declared)
    yield from _image(settings, at, declared.cluster)
    yield from tensorflow_image.check_gpu_support(pods, settings.image, at, declared)
    yield from packages.check_packages(settings, at, declared.cluster)
    if settings.queue is None:
        yield from resources.find_count_problems(without_tpus, at, declared)
        yield from resources.kinds_problems(without_tpus, at)
    yield from _program(settings, at, declared)
    yield from pods_checks.check_mounts(
        settings.volumes, (*at, "volumes"), declared.volumes, declared.records, account=account or name
    )
    yield from pods_checks.check_stream_uses(settings.streams, (*at, "streams"), declared.streams)
    locations = {"model": settings.model, "checkpoints": settings.checkpoints, "tensorboard": settings.tensorboard}
    for key, location in locations.items():
        if location:
            yield from pods_checks.check_location(
                location, (*at, key), settings.volumes, declared.volumes, declared.cluster
            )
            if settings.model:
                yield from _in_a_version(location, settings.model, (*at, key))
    yield from _queue(settings, at, declared)
    if not misfits and (capacity := declared.capacities.get(settings.queue or "")):
        yield from queueing.above_share(at, capacity, without_tpus)


def _in_a_version(location: Location, model: Location, at: Key) -> Iterator[Problem]:
    """A folder inside a version of the model, which a server would take for one, and each new version for taken."""
    inside = location.path.removeprefix(f"{model.path}/")
    if (
        location.volume == model.volume
        and inside != location.path
        and (version := inside.partition("/")[0]).isdecimal()
    ):
        reason = f"is inside version {version} of the model in {model.path}; use a folder that is in no version"
        yield Problem((*at, "path"), reason, given=((*at[:-1], "model"),))


def _program(settings: JobSettings, at: Key, declared: Declared) -> Iterator[Problem]:
    """Problems of command, variables and files."""
    simulated = bool(declared.cluster.own_nodes and declared.fleet.groups)
    known = not simulated and (settings.image is None or bool(settings.sources))
    there = pods_checks.paths_in_pod(settings.script, settings.files, declared.project)
    for path, stated in commands_of(settings):
        yield from command.find_problems(stated, there, at, (*at, *path), files_known=known)
    yield from check_script(settings, at)
    yield from check_deadlines(settings, at)
    yield from check_on_success(settings, at, declared)
    then = settings.on_success.command if settings.on_success else None
    yield from command.check_size([*settings.program, *(then or ())], settings.env, at)
    yield from _variables(settings, (*at, "env"))
    yield from pods_checks.check_files(settings.script, settings.files, at, declared.project)


def _variables(settings: JobSettings, at: Key) -> Iterator[Problem]:
    """Settings inside `env`, one level too deep: the job would use their defaults."""
    own = {field.alias or name for name, field in type(settings).model_fields.items()}
    # A short word, such as `path`, may be a variable; names in two words are spelled otherwise there.
    inner = {name for name in settings.env if not name.islower() and is_key_below(type(settings), name)}
    for name in sorted({*own.intersection(settings.env), *inner}):
        reason = f"{name} is a setting of the job, not a variable; move it out of env, or rename the variable"
        yield Problem((*at, name), reason)


def _image(settings: JobSettings, at: Key, cluster: ClusterArgs) -> Iterator[Problem]:
    """Images without GPU support, with which a job with GPUs would fail at its start."""
    having = [(*at, *role.at, "gpus") for role in settings.roles() if role.resources.gpus and not role.topology]
    if not having or cluster.images.train_gpu:
        return
    if settings.image is None:
        reason = "missing, but the default TensorFlow image does not support GPUs"
    elif isinstance(settings.image, str) and tensorflow_image.sees_no_gpu(settings.image):
        reason = f"{settings.image!r} does not support GPUs"
    else:
        return
    remedy = "build an image for GPUs (docs/training-pods.md#an-image-for-gpus), and set it here"
    yield Problem((*at, "image"), f"{reason}; {remedy}", given=(*having, ("cluster",)))


def _queue(settings: JobSettings, at: Key, declared: Declared) -> Iterator[Problem]:
    if settings.within and settings.queue is None:
        yield Problem((*at, "within"), "is set but queue is not, and only Kueue places pods by topology; set queue")
    if settings.queue is not None:
        pods = pod_sets.of(settings)
        if settings.queue not in declared.queues:
            yield unknown_name((*at, "queue"), "queue", settings.queue, declared.queues)
        elif (capacity := declared.capacities.get(settings.queue)) and not any(
            role.topology for role in settings.roles()
        ):
            yield from queueing.check_within(at, capacity, pods, settings.within)
            yield from queueing.check(at, capacity, pods, settings.checkpoints, settings.grace_seconds)
    elif DEFAULT in declared.queues:
        # Kueue does so on every cluster, and a job cannot opt out.
        reason = f"missing, and Kueue puts jobs without a queue into queue {DEFAULT}, at priority 0"
        remedy = f"set queue, or rename queue {DEFAULT}"
        yield Problem((*at, "queue"), f"{reason}; {remedy}", given=(("queues", DEFAULT),))


def check_script(settings: JobSettings, at: Key) -> Iterator[Problem]:
    """Problems of jobs without a command, with two, or with arguments for none. `at`: the job's path."""
    if settings.command is None and settings.script is None:
        reason = "required setting is missing: Command of every pod; set it, or script: a Python file of the project"
        yield Problem((*at, "command"), reason)
    elif settings.command is not None and settings.script is not None:
        yield Problem((*at, "script"), "is set, and so is command; remove one of them", given=((*at, "command"),))
    elif settings.args and settings.script is None:
        yield Problem((*at, "args"), "are the arguments of script, which is not set; add them to command")


def check_strategy(settings: JobSettings, at: Key) -> Iterator[Problem]:
    """Problems of the strategy itself, and of commands that its pods cannot run. `at`: the path of the job."""
    roles = settings.roles()
    given = ((*at, "strategy"), (*at, "resources"))
    yield from (
        Problem((*at, *path), reason, given=given) for path, reason in settings.strategy.problems(settings.resources)
    )
    yield from _added(settings, at)
    yield from _python(settings.program, roles, at)
    yield from _hosts(settings, roles, at)


def commands_of(settings: JobSettings) -> Iterator[tuple[Key, Sequence[str]]]:
    """The commands in the settings, the job's and those of roles, by their paths below the job's."""
    if settings.command:
        yield ("command",), settings.command
    if settings.on_success and settings.on_success.command:
        yield ("onSuccess", "command"), settings.on_success.command
    for role in settings.roles():
        if role.command is not None:
            yield _command_key(role), role.command


def _command_key(role: Role) -> Key:
    """The path of the command of a role that has its own, beside its resources."""
    return (*role.at[:-1], "command")


def _added(settings: JobSettings, at: Key) -> Iterator[Problem]:
    """Pods in addition to the strategy's own that could not do their work."""
    evaluator, data_service = settings.strategy.evaluator, settings.strategy.data_service
    if evaluator and settings.checkpoints is None:
        reason = "is set, but checkpoints is not, and an evaluator reads the job's checkpoints"
        yield Problem((*at, "strategy", "evaluator"), f"{reason}; set checkpoints", given=((*at, "checkpoints"),))
    if data_service and data_service.resources.gpus:
        path = (*at, "strategy", "dataService", "resources", "gpus")
        yield Problem(path, f"is {data_service.resources.gpus}, but tf.data service runs on CPUs; set 0")


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
        for path, argument in _arguments_with_hosts(settings, role):
            for name in (name for name in tf_config.VARIABLES if name not in have and f"$({name})" in argument):
                reason = f"uses $({name}), which {role.name} pods of strategy {settings.strategy.kind} do not have"
                remedy = "remove it, or choose another strategy"
                yield Problem((*at, *path), f"{reason}; {remedy}", given=((*at, "strategy"),))


def _arguments_with_hosts(settings: JobSettings, role: Role) -> Iterator[tuple[Key, str]]:
    """What the container of a role runs, by the paths below the job's."""
    path, stated = (
        (_command_key(role), role.command)
        if role.command is not None
        else (("args",), settings.args)
        if settings.script
        else (("command",), settings.command or ())
    )
    for index, argument in enumerate(stated):
        yield (*path, str(index)), argument


def check_deadlines(settings: JobSettings, at: Key) -> Iterator[Problem]:
    """Problems of deadlines that nothing could keep. `at`: the job's path."""
    if settings.total_deadline_seconds is not None:
        yield from _run_deadline(settings, settings.total_deadline_seconds, at)
    if settings.progress_deadline_seconds is not None:
        yield from _progress_deadline(settings, settings.progress_deadline_seconds, at)


def _run_deadline(settings: JobSettings, seconds: int, at: Key) -> Iterator[Problem]:
    path, program = (*at, "totalDeadlineSeconds"), settings.program
    if settings.checkpoints is None:
        reason = "is set, but checkpoints is not, and the run's first start is recorded beside them"
        remedy = "set checkpoints, or deadlineSeconds, which counts from each start"
        yield Problem(path, f"{reason}; {remedy}", given=((*at, "checkpoints"),))
    elif program and not launcher.PYTHON.fullmatch(program[0]):
        reason = f"is set, but {program[0]!r} is not Python, with which the first pod watches the deadline"
        remedy = "start the command with python3, or set deadlineSeconds, which counts from each start"
        yield Problem(path, f"{reason}; {remedy}", given=((*at, "command"),))
    elif settings.deadline_seconds and settings.deadline_seconds > seconds:
        reason = f"is {settings.deadline_seconds}, but totalDeadlineSeconds is {seconds}"
        remedy = "so it never ends the job; lower or remove it"
        yield Problem((*at, "deadlineSeconds"), f"{reason}, {remedy}", given=(path,))


def _progress_deadline(settings: JobSettings, seconds: int, at: Key) -> Iterator[Problem]:
    path, program = (*at, "progressDeadlineSeconds"), settings.program
    if program and not launcher.PYTHON.fullmatch(program[0]):
        reason = f"is set, but {program[0]!r} is not Python, with which each pod watches its steps"
        yield Problem(path, f"{reason}; start the command with python3, or remove it", given=((*at, "command"),))
    limits = {"deadlineSeconds": settings.deadline_seconds, "totalDeadlineSeconds": settings.total_deadline_seconds}
    for key, limit in limits.items():
        if limit and limit <= seconds:
            reason = f"is {seconds}, but {key} is {limit}, so it never ends a pod; lower or remove it"
            yield Problem(path, reason, given=((*at, key),))


def check_on_success(settings: JobSettings, at: Key, declared: Declared) -> Iterator[Problem]:
    """Problems of `onSuccess`. `at`: the job's path."""
    if settings.on_success is None:
        return
    program, path = settings.program, (*at, "onSuccess")
    if program and not launcher.PYTHON.fullmatch(program[0]):
        reason = f"is set, but {program[0]!r} is not Python, with which the first pod notices the command's success"
        yield Problem(path, f"{reason}; start the command with python3, or remove it", given=((*at, "command"),))
    if (server := settings.on_success.publish) is None:
        return
    publish = (*path, "publish")
    yield from model_server_checks.check_server_name(server, publish, declared)
    if server in declared.models and settings.model is None:
        reason = f"is {server}, but model is not set, so there is no version to publish"
        yield Problem(publish, f"{reason}; set model", given=((*at, "model"),))
    elif settings.model and (folder := declared.models.get(server)):
        yield from _served_folder(server, folder, settings.model, settings, (publish, at))


def _served_folder(
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
