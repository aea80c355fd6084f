"""Checks of a job's settings, also where another workload embeds them."""

from collections.abc import Iterator

from components.base import names
from components.base.location import is_key_below
from components.base.problems import Key, Problem, unknown_name
from components.clusters.settings import ClusterArgs
from components.queues import DEFAULT
from workloads.family import Declared
from workloads.pods import checks as pods_checks
from workloads.pods import command, pod_sets, resources
from workloads.pods.mounts import Location
from workloads.training_job import (
    deadline_checks,
    gpu_support,
    job_set,
    on_success_checks,
    package_checks,
    queueing,
    script,
    strategy_checks,
    tensorflow_image,
    tpu_checks,
)
from workloads.training_job.settings import JobSettings


def find_problems(
    settings: JobSettings, name: str, at: Key, declared: Declared, *, account: str | None = None
) -> Iterator[Problem]:
    """Every problem. `name`: of the job. `at`: the path of its settings. `account`: its pods', default its name."""
    longest = job_set.longest_name(settings.roles())
    if len(name) > longest:
        yield Problem(
            at, f"the name has {len(name)} characters; shorten it to {longest}, so that its pods' names stay valid"
        )
    yield from strategy_checks.find_problems(settings, at)
    yield from command.check_cluster_size(f"{name}-{names.digest(name)}", settings.roles(), at)
    pods = pod_sets.of(settings)
    # TPUs have checks of their own, because workloads without strategy tpu cannot request them.
    without_tpus = [of_role for role, of_role in zip(settings.roles(), pods, strict=True) if not role.topology]
    misfits = list(resources.find_problems(without_tpus, at, declared))
    yield from misfits
    yield from tpu_checks.find_problems(settings, at, declared)
    yield from _image(settings, at, declared.cluster)
    yield from gpu_support.find_problems(pods, settings.image, at, declared)
    yield from package_checks.find_problems(settings, at, declared.cluster)
    if settings.queue is None:
        yield from resources.find_count_problems(without_tpus, at, declared)
        yield from resources.kinds_problems(without_tpus, at)
    yield from _program(settings, at, declared)
    yield from pods_checks.check_mounts(
        settings.volumes, (*at, "volumes"), declared.volumes, declared.records, account=account or name
    )
    yield from pods_checks.check_stream_uses(settings.streams, (*at, "streams"), declared.streams)
    places = {"model": settings.model, "checkpoints": settings.checkpoints, "tensorboard": settings.tensorboard}
    for key, place in places.items():
        if place:
            yield from pods_checks.check_location(
                place, (*at, key), settings.volumes, declared.volumes, declared.cluster
            )
            if settings.model:
                yield from _in_a_version(place, settings.model, (*at, key))
    yield from _queue(settings, at, declared)
    if not misfits and (capacity := declared.capacities.get(settings.queue or "")):
        yield from queueing.above_share(at, capacity, without_tpus)


def _in_a_version(place: Location, model: Location, at: Key) -> Iterator[Problem]:
    """A folder inside a version of the model, which a server would take for one, and each new version for taken."""
    inside = place.path.removeprefix(f"{model.path}/")
    if place.volume == model.volume and inside != place.path and (version := inside.partition("/")[0]).isdecimal():
        reason = f"is inside version {version} of the model in {model.path}; use a folder that is in no version"
        yield Problem((*at, "path"), reason, given=((*at[:-1], "model"),))


def _program(settings: JobSettings, at: Key, declared: Declared) -> Iterator[Problem]:
    """Problems of command, variables and files."""
    simulated = bool(declared.cluster.own_nodes and declared.fleet.groups)
    known = not simulated and (settings.image is None or bool(settings.sources))
    there = pods_checks.paths_in_pod(settings.script, settings.files, declared.project)
    for where, stated in strategy_checks.commands(settings):
        yield from command.find_problems(stated, there, at, (*at, *where), known=known)
    yield from script.find_problems(settings, at)
    yield from deadline_checks.find_problems(settings, at)
    yield from on_success_checks.find_problems(settings, at, declared)
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
