"""`plan`: a job's objects from its settings and its context on the platform, without Pulumi and without a cluster.

For a stack's training jobs, and for other code that creates jobs, such as a sweep or a command:

    manifest = plan(settings, JobContext("trial-7", "ml", placement={"worker": Placement()}), image="team/train:1")
    for each in manifest.objects:
        apply(each)
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from components import versions
from components.base.labels import MANAGED_BY, PROMETHEUS_PORT, PROMETHEUS_SCRAPE, TENSORPLANE
from components.base.names import digest_of
from components.catalog import GPU_RESOURCE
from workloads.pods import fence, mounts, objects, pod
from workloads.pods.files import Bundle, bundle, bundles, fits_one, shared_library
from workloads.pods.mounts import Location, Mountable
from workloads.pods.objects import Identity, Manifest
from workloads.pods.streams import Client, in_pod
from workloads.pods.variables import in_order
from workloads.training_job import job_set, launcher, lineage, run, tf_config, tpu
from workloads.training_job.role import Role
from workloads.training_job.run import Decisive, Recorded
from workloads.training_job.settings import JobSettings, SecretKey

_REQUIREMENTS = "requirements.txt"
_NO_ANNOTATIONS: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True)
class Placement:
    """Where the pods of a role run."""

    spec: Mapping[str, Any] = field(default_factory=dict)
    """The parts of a pod's spec that select nodes: nodeSelector, tolerations, affinity, runtimeClassName."""
    annotations: Mapping[str, str] = field(default_factory=dict)
    """Annotations for schedulers and autoscalers."""
    network: Mapping[str, str] = field(default_factory=dict)
    """Extended resources for the network between nodes."""


@dataclass(frozen=True)
class JobContext:
    """What a plan needs besides the settings: names, and what the platform has for the job. Plain values, known without
    a cluster."""

    name: str
    """The job's name, also that of its service account."""
    namespace: str
    placement: Mapping[str, Placement]
    """Where the pods of each role run, by the role's name."""
    volumes: Mapping[str, Mountable] = field(default_factory=dict)
    """The volumes that the settings name."""
    streams: Mapping[str, Client] = field(default_factory=dict)
    """How the job reaches the streams that the settings name."""
    queue_labels: Mapping[str, str] = field(default_factory=dict)
    """Labels that put a job into its queue; none for a job without one."""
    files: Mapping[str, bytes] = field(default_factory=dict)
    """The contents of the settings' files, by path in the pod."""
    library: Mapping[str, bytes] = field(default_factory=dict)
    """tensorplane's library, by path in `pod.LIBRARY`."""
    shares_library: bool = False
    """Whether the pods mount the library that all jobs of the stack in this namespace share (`files.shared_library`),
    instead of one of the job's own."""
    in_secret: Collection[str] = ()
    """Names of the settings' variables whose values are in a Secret, under the same names; the others are plain."""
    packages: Sequence[str] = ()
    """Lines of a requirements file, with hashes: packages that the pods install on a volume."""
    publish_to: Location | None = None
    """The folder of the model server to which the settings publish."""
    publisher: str | None = None
    """The run in whose name the job publishes; None: its own."""
    reproduces: Mapping[str, Any] = field(default_factory=dict)
    """Of the model's version that the job makes again, what the library's `lineage.py` says."""
    account: str | None = None
    """The pods' service account; None: one of the job's own, with its name."""
    managed_by: str = TENSORPLANE[MANAGED_BY]
    """What creates the objects, as their label says."""

    @property
    def identity(self) -> Identity:
        """The owner of the job's objects."""
        return Identity(self.name, self.namespace, "training", self.managed_by)

    @property
    def mounted_library(self) -> Bundle:
        """The library that the pods mount."""
        return shared_library(self.library) if self.shares_library else self.own_library

    @property
    def library_resource(self) -> str:
        """Pulumi's name of the ConfigMap with that library."""
        return self.mounted_library.name if self.shares_library else f"{self.name}-runtime"

    @property
    def own_library(self) -> Bundle:
        """The library in a ConfigMap of the job's own."""
        return bundle(f"{self.name}-runtime", self.library)

    def own_bundles(self) -> list[Bundle]:
        """The job's ConfigMaps, without the one that jobs share."""
        found = self.bundles()
        if self.shares_library:
            found.pop(pod.LIBRARY, None)
        return [part for parts in found.values() for part in parts]

    def bundles(self) -> dict[str, list[Bundle]]:
        """The files of its pods, by mount path: one ConfigMap, or the parts of an archive."""
        text = "".join(f"{line}\n" for line in self.packages).encode()
        found = {
            pod.APP: bundles(f"{self.name}-files", self.files),
            # Always one, because the library unpacks the others.
            pod.LIBRARY: [self.mounted_library] if self.library else [],
            pod.PACKAGES: [bundle(f"{self.name}-packages", {_REQUIREMENTS: text})] if text else [],
        }
        return {at: parts for at, parts in found.items() if parts}

    @property
    def archived(self) -> set[str]:
        """Mount paths whose ConfigMaps are the parts of an archive."""
        return set() if fits_one(self.files) else {pod.APP}


@dataclass(frozen=True)
class JobManifest:
    """All objects of a run of a job."""

    service_account: Manifest
    config_maps: Sequence[Manifest]
    """Files of its pods, each named by its content."""
    network_policies: Sequence[Manifest]
    job_set: Manifest
    run: Recorded
    """The run, whose name the JobSet has, as the next plan needs it."""

    @property
    def objects(self) -> list[Manifest]:
        """All objects, in the order of creation."""
        return [self.service_account, *self.config_maps, *self.network_policies, self.job_set]


def plan(
    settings: JobSettings,
    context: JobContext,
    *,
    image: str,
    secret: str | None = None,
    recorded: Recorded | None = None,
) -> JobManifest:
    """The run that these settings describe. `recorded`: the job's run as it was deployed last.

    Of all that it needs, only the image and the name of the Secret may come from other resources.
    """
    owner, roles = context.identity, settings.roles()
    by_name = _own_variables(settings, context, secret)
    # A run of before, when variables were sorted by name, keeps their order.
    is_of_before = recorded and recorded.decisive == _decisive(settings, context, image, by_name).hashes
    variables = by_name if is_of_before else in_order(by_name)
    decisive = _decisive(settings, context, image, variables)
    name = run.of(owner.name, decisive, recorded)

    def job_set_with(
        variables: Sequence[Mapping[str, Any]], annotations: Mapping[str, str] = _NO_ANNOTATIONS
    ) -> Manifest:
        return {
            "apiVersion": versions.JOBSET_API,
            "kind": "JobSet",
            "metadata": owner.metadata(name, context.queue_labels),
            "spec": job_set.spec(
                name,
                roles,
                lambda role: _template(
                    name, role, settings, context, image, variables=variables, annotations=annotations
                ),
                max_restarts=settings.max_restarts,
                deadline_seconds=settings.deadline_seconds,
            ),
        }

    # The lineage repeats what is elsewhere in the JobSet. That and later additions must not replace earlier ones.
    manifest = run.hash_of(job_set_with(variables), context.mounted_library)
    is_kept = run.keeps(name, manifest, recorded)
    library = run.library_of(recorded, owner.name) if is_kept and recorded else context.library_resource
    return JobManifest(
        service_account=objects.service_account(owner),
        config_maps=[objects.config_map(owner, content) for content in context.own_bundles()],
        network_policies=[
            objects.allow_peers(owner),
            *([objects.allow_egress(owner, settings.egress)] if settings.egress else []),
            *([objects.allow_clients(owner, [port])] if (port := metrics_port(settings)) else []),
        ],
        job_set=job_set_with(
            [*_unhashed_variables(settings, context, context.publisher or name, decisive, secret), *variables],
            fence.annotations(settings, context.volumes),
        ),
        run=Recorded(name, decisive.hashes, manifest, is_kept, library),
    )


def _unhashed_variables(
    settings: JobSettings, context: JobContext, run: str, decisive: Decisive, secret: str | None
) -> list[dict[str, Any]]:
    """Variables that are not in the manifest's hash."""
    recorded = lineage.settings_of(settings, context.in_secret, secret)
    of_run = lineage.variables(context.name, run, decisive, recorded, context.reproduces)
    return [*of_run, *tf_config.restarts(settings.roles())]


def _decisive(
    settings: JobSettings, context: JobContext, image: str, variables: Sequence[Mapping[str, Any]]
) -> Decisive:
    """The parts that decide the result. Secret values count by the Secret's name, because a hash could be guessed."""
    return Decisive(
        {
            "command": settings.program,
            "code": bundle("code", context.files).name if context.files else None,
            "environment": variables,
            "image": image,
            "strategy": settings.strategy.kind,
            "data": {
                "volumes": {
                    name: mounts.path_of(name, settings.volumes, context.volumes) for name in sorted(settings.volumes)
                },
                "streams": {name: use.model_dump() for name, use in sorted(settings.streams.items())},
            },
            "model": settings.model and settings.model.model_dump(),
            "checkpoints": settings.checkpoints and settings.checkpoints.model_dump(include={"volume", "path"}),
            # Parts that are not set must not change the name.
            "attempt": settings.attempt if settings.attempt > 1 else None,
            "dataService": settings.strategy.data_service is not None,
            "packages": sorted(context.packages),
            **settings.strategy.decisive(),
        }
    )


def _template(
    name: str,
    role: Role,
    settings: JobSettings,
    context: JobContext,
    image: str,
    *,
    variables: Sequence[Mapping[str, Any]],
    annotations: Mapping[str, str],
) -> dict[str, Any]:
    """The pods of one role. `variables`: the settings' own."""
    owner, placement, of_streams = context.identity, context.placement[role.name], in_pod(context.streams)
    container = pod.Container(
        image=image,
        resources=role.resources,
        command=launcher.command_of(role, settings.program, _then(role, settings, context)),
        env=[
            *tf_config.environment(name, settings.roles(), role),
            *tpu.environment(name, role),
            *tf_config.data_service_environment(name, settings.roles(), role),
            *pod.variables(
                {
                    "PYTHONPATH": ":".join(_imported(image, settings, context)),
                    **_folders(name, settings, context.volumes),
                    **_writes(role, settings),
                    **_progress_deadline(role, settings),
                }
            ),
            *_gpus_asked_for(role),
            *pod.variables(role.env),
            *of_streams.env,
            *variables,
        ],
        ports=role.ports,
        volumes=mounts.of(settings.volumes, context.volumes),
        files={at: parts[0] for at, parts in context.bundles().items() if at not in context.archived},
        archives={at: parts for at, parts in context.bundles().items() if at in context.archived},
        python=launcher.python(settings.program),
        packages=_packages(image, settings, context, variables),
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
        annotations={**placement.annotations, **_metrics_annotations(settings), **annotations},
        grace_seconds=settings.grace_seconds,
        restart_policy="Never",
        placement=_placed(placement, role),
    )


def _imported(image: str, settings: JobSettings, context: JobContext) -> list[str]:
    """The entries of PYTHONPATH: the library, and the folder of the job's packages."""
    return [pod.IMPORTED, *([_packages_folder(image, settings, context)] if context.packages else [])]


def _packages_folder(image: str, settings: JobSettings, context: JobContext) -> str:
    """The folder of the packages, named by them and the image, whose Python they are for.

    Each namespace has its own: pods import what is there, so those of one team must not write it for another.
    """
    if (location := settings.checkpoints or settings.model) is None:
        raise ValueError("packages without a volume: the checks refuse that")
    volume = mounts.path_of(location.volume, settings.volumes, context.volumes)
    digest = digest_of([image, sorted(context.packages)], length=16)
    return f"{volume}/.tensorplane/packages/{context.namespace}/{digest}"


def _packages(
    image: str, settings: JobSettings, context: JobContext, variables: Sequence[Mapping[str, Any]]
) -> pod.Packages | None:
    """What installs the packages; None if the pods install none. `variables`: the settings' own, such as PIP_*."""
    if not context.packages:
        return None
    return pod.Packages(f"{pod.PACKAGES}/{_REQUIREMENTS}", _packages_folder(image, settings, context), variables)


def _placed(placement: Placement, role: Role) -> Mapping[str, Any]:
    """The parts of a pod's spec that select nodes."""
    if not (labels := tpu.selector(role)):
        return placement.spec
    return {**placement.spec, "nodeSelector": {**placement.spec.get("nodeSelector", {}), **labels}}


def _folders(run_name: str, settings: JobSettings, volumes: Mapping[str, Mountable]) -> dict[str, str]:
    """Variables with the output folders."""
    folders = {}
    if settings.model:
        folders["MODEL_DIR"] = mounts.inside(settings.model, settings.volumes, volumes)
    if settings.checkpoints:
        folders["CHECKPOINT_DIR"] = f"{mounts.inside(settings.checkpoints, settings.volumes, volumes)}/{run_name}"
        folders["TENSORPLANE_RUN"] = folders["CHECKPOINT_DIR"]
        if (steps := settings.checkpoints.steps) is None:
            folders["CHECKPOINT_INTERRUPTION_MINUTES"] = f"{settings.checkpoints.interruption_minutes:g}"
        else:
            folders["CHECKPOINT_STEPS"] = str(steps)
    if settings.tensorboard:
        folders["TENSORBOARD_DIR"] = f"{mounts.inside(settings.tensorboard, settings.volumes, volumes)}/{run_name}"
    return folders


def _writes(role: Role, settings: JobSettings) -> dict[str, str]:
    """Variables that make the first pod of a role the run's writer, which also ends the run at its deadline."""
    if not settings.checkpoints or not _is_first(role, settings):
        return {}
    return {"TENSORPLANE_WRITES": "true", **_run_deadline(settings)}


def _is_first(role: Role, settings: JobSettings) -> bool:
    """Whether the first pod of the role is the chief."""
    return role.name == next(each.name for each in settings.roles() if each.decides)


def _then(role: Role, settings: JobSettings, context: JobContext) -> launcher.Then | None:
    """What the first pod of the role does after the command; None for roles other than the chief's."""
    if settings.on_success is None or not _is_first(role, settings):
        return None
    folder = context.publish_to
    return launcher.Then(
        settings.on_success.command or (),
        mounts.inside(folder, settings.volumes, context.volumes) if folder else None,
    )


def _gpus_asked_for(role: Role) -> list[dict[str, str]]:
    """Variables for the library's `gpus.py`: how many GPUs TensorFlow should see."""
    is_gpu = role.resources.gpus and role.accelerator_resource == GPU_RESOURCE
    return pod.variables({"TENSORPLANE_GPUS": str(role.resources.gpus)}) if is_gpu else []


def _own_variables(settings: JobSettings, context: JobContext, secret: str | None) -> list[dict[str, Any]]:
    """The settings' variables by name; of those in the Secret, references to its keys."""
    existing = {name: value for name, value in sorted(settings.env.items()) if isinstance(value, SecretKey)}
    plain = {
        name: _plain(name, value)
        for name, value in sorted(settings.env.items())
        if name not in context.in_secret and name not in existing
    }
    return [
        *pod.variables(plain),
        *(_reference(name, str(secret), name) for name in sorted(context.in_secret)),
        *(_reference(name, value.secret, value.key) for name, value in existing.items()),
    ]


def _reference(variable: str, secret: str, key: str) -> dict[str, Any]:
    return {"name": variable, "valueFrom": {"secretKeyRef": {"name": secret, "key": key}}}


def _plain(name: str, value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"variable {name} is not a string: a value that another resource produces must be in a Secret")
    return value


def _run_deadline(settings: JobSettings) -> dict[str, str]:
    """Those of the pod that writes the checkpoints, which ends the run at its deadline."""
    if settings.total_deadline_seconds is None:
        return {}
    return {
        "TENSORPLANE_DEADLINE": str(settings.total_deadline_seconds),
        "TENSORPLANE_GRACE": str(settings.grace_seconds),
    }


def _progress_deadline(role: Role, settings: JobSettings) -> dict[str, str]:
    """Those of a role's pods, which end without progress. Programs of the library, such as servers, make no steps."""
    if settings.progress_deadline_seconds is None or role.program is not None:
        return {}
    return {"TENSORPLANE_PROGRESS_DEADLINE": str(settings.progress_deadline_seconds)}


_VARIABLE = "TENSORPLANE_METRICS_PORT"


def metrics_port(settings: JobSettings) -> int | None:
    """The port of the endpoint; None without one."""
    value = settings.env.get(_VARIABLE)
    return int(value) if isinstance(value, str) and value.isdecimal() else None


def _metrics_annotations(settings: JobSettings) -> Mapping[str, str]:
    """Annotations of the pods, for a Prometheus that discovers pods by them."""
    found = metrics_port(settings)
    return {PROMETHEUS_SCRAPE: "true", PROMETHEUS_PORT: str(found)} if found else {}
