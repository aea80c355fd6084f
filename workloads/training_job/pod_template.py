"""The pods of one role of a job, as a pod template."""

from collections.abc import Mapping, Sequence
from typing import Any

from tensorplane.components.base.labels import PROMETHEUS_PORT, PROMETHEUS_SCRAPE
from tensorplane.components.base.names import digest_of
from tensorplane.components.catalog import GPU_RESOURCE
from tensorplane.workloads.pods import mounts, pod
from tensorplane.workloads.pods.streams import in_pod
from tensorplane.workloads.training_job import launcher, tf_config, tpu
from tensorplane.workloads.training_job.context import REQUIREMENTS, JobContext, Placement
from tensorplane.workloads.training_job.role import Role
from tensorplane.workloads.training_job.settings import JobSettings


def template(
    run: str,
    role: Role,
    settings: JobSettings,
    context: JobContext,
    image: str,
    *,
    variables: Sequence[Mapping[str, Any]],
    annotations: Mapping[str, str],
) -> dict[str, Any]:
    """The pods of the role. `variables`: the settings' own."""
    roles = settings.roles()
    is_first = role.name == next(each.name for each in roles if each.required_for_success)
    then = _then(settings, context) if is_first else None
    packages = _packages(image, settings, context, variables) if context.packages else None
    for_library = {
        "PYTHONPATH": ":".join([pod.IMPORTED, *([packages.folder] if packages else [])]),
        **_folders(run, settings, context),
        **(_writer(settings) if is_first else {}),
        **_progress_deadline(role, settings),
        **_gpus(role),
    }
    placement = context.placement[role.name]
    annotations = {**placement.annotations, **_scraped(settings), **annotations}
    owner, of_streams, bundles = context.identity, in_pod(context.streams), context.bundles()
    container = pod.Container(
        image=image,
        resources=role.resources,
        command=launcher.command_of(role, settings.program, then),
        env=[
            *tf_config.environment(run, roles, role),
            *tpu.environment(run, role),
            *tf_config.data_service_environment(run, roles, role),
            *pod.variables(for_library),
            *pod.variables(role.env),
            *of_streams.env,
            *variables,
        ],
        ports=role.ports,
        volumes=mounts.of(settings.volumes, context.volumes),
        files={at: parts[0] for at, parts in bundles.items() if at not in context.archived},
        archives={at: parts for at, parts in bundles.items() if at in context.archived},
        python=launcher.python(settings.program),
        packages=packages,
        secrets=of_streams.secrets,
        accelerator_resource=role.accelerator_resource,
        network=placement.network,
        # NCCL uses shared memory between GPUs of one pod that have no direct link.
        shared_memory=role.resources.gpus > 1,
    )
    return pod.template(
        context.account or owner.name,
        {**owner.labels, **of_streams.labels},
        container,
        annotations=annotations,
        grace_seconds=settings.grace_seconds,
        restart_policy="Never",
        placement=_placed(placement, role),
    )


def _folders(run: str, settings: JobSettings, context: JobContext) -> dict[str, str]:
    """Variables with the output folders, and when checkpoints are saved."""
    found = {}
    if settings.model:
        found["MODEL_DIR"] = mounts.inside(settings.model, settings.volumes, context.volumes)
    if settings.checkpoints:
        found["CHECKPOINT_DIR"] = f"{mounts.inside(settings.checkpoints, settings.volumes, context.volumes)}/{run}"
        found["TENSORPLANE_RUN"] = found["CHECKPOINT_DIR"]
        if (steps := settings.checkpoints.steps) is None:
            found["CHECKPOINT_INTERRUPTION_MINUTES"] = f"{settings.checkpoints.interruption_minutes:g}"
        else:
            found["CHECKPOINT_STEPS"] = str(steps)
    if settings.tensorboard:
        found["TENSORBOARD_DIR"] = f"{mounts.inside(settings.tensorboard, settings.volumes, context.volumes)}/{run}"
    return found


def _writer(settings: JobSettings) -> dict[str, str]:
    """Variables that make the first pod of a role the run's writer, which also ends the run at its deadline."""
    if not settings.checkpoints:
        return {}
    found = {"TENSORPLANE_WRITES": "true"}
    if settings.total_deadline_seconds is not None:
        found["TENSORPLANE_DEADLINE"] = str(settings.total_deadline_seconds)
        found["TENSORPLANE_GRACE"] = str(settings.grace_seconds)
    return found


def _progress_deadline(role: Role, settings: JobSettings) -> dict[str, str]:
    """Those of a role's pods, which end without progress. Programs of the library, such as servers, make no steps."""
    if settings.progress_deadline_seconds is None or role.program is not None:
        return {}
    return {"TENSORPLANE_PROGRESS_DEADLINE": str(settings.progress_deadline_seconds)}


def _gpus(role: Role) -> dict[str, str]:
    """Variables for the library's `gpus.py`: how many GPUs TensorFlow should see."""
    is_gpu = role.resources.gpus and role.accelerator_resource == GPU_RESOURCE
    return {"TENSORPLANE_GPUS": str(role.resources.gpus)} if is_gpu else {}


def _packages(
    image: str, settings: JobSettings, context: JobContext, variables: Sequence[Mapping[str, Any]]
) -> pod.Packages:
    """What installs the packages, in a folder that is named by them and the image, whose Python they are for.

    Each namespace has its own: pods import what is there, so those of one team must not write it for another.
    `variables`: the settings' own, such as PIP_*.
    """
    if (location := settings.checkpoints or settings.model) is None:
        raise ValueError("packages without a volume: the checks refuse that")
    volume = mounts.path_of(location.volume, settings.volumes, context.volumes)
    digest = digest_of([image, sorted(context.packages)], length=16)
    folder = f"{volume}/.tensorplane/packages/{context.namespace}/{digest}"
    return pod.Packages(f"{pod.PACKAGES}/{REQUIREMENTS}", folder, variables)


def _then(settings: JobSettings, context: JobContext) -> launcher.Then | None:
    """What the first pod of the chief's role does after the command."""
    if settings.on_success is None:
        return None
    folder = context.publish_to
    return launcher.Then(
        settings.on_success.command or (),
        mounts.inside(folder, settings.volumes, context.volumes) if folder else None,
    )


def _scraped(settings: JobSettings) -> Mapping[str, str]:
    """Annotations for a Prometheus that discovers pods by them."""
    port = settings.metrics_port
    return {PROMETHEUS_SCRAPE: "true", PROMETHEUS_PORT: str(port)} if port else {}


def _placed(placement: Placement, role: Role) -> Mapping[str, Any]:
    """The parts of a pod's spec that select nodes."""
    if not (labels := tpu.selector(role)):
        return placement.spec
    return {**placement.spec, "nodeSelector": {**placement.spec.get("nodeSelector", {}), **labels}}
