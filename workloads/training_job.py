"""Training jobs: a strategy's pods as a JobSet with TF_CONFIG, admitted by a queue, restarted as a gang."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import pulumi
import pulumi_kubernetes as k8s
from pydantic import AfterValidator, Field

from components import node_room, quantity, versions
from components.faults import Fault, Key, unknown_name
from components.fleet import Fleet
from components.image import Image
from components.model import Argument, In, Name, RelativePath, Resources, argument, refuse
from components.queue import DEFAULT
from components.queue.room import PodSet
from components.volume import Volume
from workloads import (
    Declared,
    Platform,
    Workload,
    WorkloadArgs,
    files,
    job_set,
    mounts,
    pod,
    process,
    queueing,
    streams,
    tf_config,
)
from workloads.owner import Owner
from workloads.strategies import Strategy
from workloads.tf_config import Role

_PYTHON = re.compile(r"(.*/)?python(3(\.\d+)?)?")
_LAUNCH = f"{pod.LIBRARY}/runtime/launch.py"
_OURS = (
    "TF_CONFIG",
    "TF_TASK_INDEX",
    "MODEL_DIR",
    "CHECKPOINT_DIR",
    "CHECKPOINT_STEPS",
    "STREAMS",
    "PYTHONPATH",
    "TENSORPLANE_STEPS",
    "HOME",
    "USER",
)


def _variable(name: str) -> str:
    if name in _OURS:
        refuse("another name: tensorplane sets this variable itself")
    if not name.replace("_", "a").isidentifier() or not name.isascii():
        refuse("letters, digits and underscores, beginning with a letter or an underscore")
    return name


Variable = Annotated[str, AfterValidator(_variable)]
Text = Annotated[str, Field(coerce_numbers_to_str=True), AfterValidator(argument)]


class Checkpoints(mounts.Location):
    """Where runs keep what they need to resume."""

    path: RelativePath = "checkpoints"
    """Folder on it. Every run has a folder of its own inside, named like the run."""
    every_steps: Annotated[int, Field(ge=1)] = 100
    """Steps between two checkpoints: CHECKPOINT_STEPS, and what a node that vanishes costs at most."""
    save_seconds: Annotated[float, Field(gt=0, le=86400)] = 20
    """How long saving one takes at most. Who may be stopped for others needs `graceSeconds` for it."""


class TrainingJobArgs(WorkloadArgs):
    """Settings of a training job. A changed job is a new run, with a name of its own; what it wrote stays."""

    kind: Literal["trainingJob"] = "trainingJob"

    command: Annotated[list[Argument], Field(min_length=1)]
    """What every pod runs, in the directory of `files`."""
    strategy: Strategy
    """How the job spreads over pods: a strategy of `tf.distribute`."""
    image: In[Image] | None = None
    """Container image; by default TensorFlow at tensorplane's version, with GPU support where GPUs are asked for."""
    files: Annotated[dict[files.Target, files.Source], Field(default_factory=dict)]
    """Code and small data: path in the pod -> file of the project, or `package:NAME/PATH`. At most 1 MiB in all."""
    env: Annotated[dict[Variable, In[Text]], Field(default_factory=dict)]
    """Environment variables, beside TF_CONFIG, MODEL_DIR and CHECKPOINT_DIR.

    One set with `pulumi config set --secret` is encrypted in the state; in the cluster it is in a Secret, to which the
    pods refer.
    """
    volumes: Annotated[dict[Name, mounts.MountArgs], Field(default_factory=dict)]
    """Volumes and where the pods see them: `models: /models`."""
    model: mounts.Location | None = None
    """Where the trained model goes: MODEL_DIR. Versions are folders in it, numbered from 1."""
    checkpoints: Checkpoints | None = None
    """Where checkpoints go: CHECKPOINT_DIR."""
    streams: Annotated[dict[Name, streams.StreamUseArgs], Field(default_factory=dict)]
    """Streams by the names of their volumes, which it reads in a consumer group or writes: `events: {group: trainer}`.
    `runtime.stream.Topic.from_environment` knows them."""
    queue: str | None = None
    """Queue that admits the job. Without one it starts at once."""
    within: queueing.Within | None = None
    """The part of the network that all its pods with GPUs are in, such as `zone`: a level of the stack's `topology`."""
    attempt: Annotated[int, Field(ge=1)] = 1
    """Raise it to run the same job again: a run of its own, with checkpoints of its own, in place of the one before."""
    max_restarts: Annotated[int, Field(ge=0, le=1000)] = 3
    """Restarts of the whole job after failures. Those after evictions are not counted.

    Nor is an end with exit code 75: a pod that was asked to stop and saved, which is how tensorplane's `runtime` ends.
    The failure of a pod whose peer's node has vanished is counted. A command that runs Python and fails twice in the
    same way before its first step ends the job at once.
    """
    grace_seconds: Annotated[int, Field(ge=0, le=86400)] = 30
    """Seconds between SIGTERM and SIGKILL: no shorter than saving a checkpoint takes."""

    @property
    def interruptible(self) -> bool:
        return self.checkpoints is not None

    def check(self, name: str, declared: Declared) -> Iterator[Fault]:
        at = ("workloads", name)
        longest = job_set.longest_name(self.strategy.roles())
        if len(name) > longest:
            yield Fault(at, f"the name has {len(name)} characters, at most {longest} leave room for those of its pods")
        together = any(pods.together for pods in self.pod_sets())
        yield from declared.fleet.check(
            self.resources, (*at, "resources"), interruptible=self.interruptible, together=together
        )
        if self.queue is None:
            yield from self._check_count((*at, "resources"), (*at, "strategy", "workers"), declared.fleet)
        yield from process.check(self.command, self.env, at)
        yield from files.check(self.files, (*at, "files"))
        yield from mounts.check(self.volumes, (*at, "volumes"), declared.volumes, declared.cluster, account=name)
        yield from streams.check(self.streams, (*at, "streams"), declared.volumes)
        for key, place in (("model", self.model), ("checkpoints", self.checkpoints)):
            if place:
                yield from mounts.check_location(place, (*at, key), self.volumes, declared.volumes, declared.cluster)
        if self.within and self.queue is None:
            yield Fault((*at, "within"), "given without a queue, and it is Kueue that places such pods: need a queue")
        if self.queue is not None:
            if self.queue not in declared.queues:
                yield unknown_name((*at, "queue"), "queue", self.queue, declared.queues)
            elif room := declared.rooms.get(self.queue):
                yield from queueing.check_within(at, room, self.pod_sets(), self.within)
                yield from queueing.check(at, room, self.pod_sets(), self.contract, self.grace_seconds)
        elif DEFAULT in declared.queues:
            # On every cluster, and nothing that a job could say would keep it out.
            reason = f"missing, and Kueue puts jobs without a queue into the queue named {DEFAULT}, at priority 0"
            remedy = f"set queue, or give queue {DEFAULT} another name"
            yield Fault((*at, "queue"), f"{reason}; {remedy}", given=(("queues", DEFAULT),))

    def _check_count(self, at: Key, where: Key, fleet: Fleet) -> Iterator[Fault]:
        """A job without a queue starts at once, all of it."""
        for pods in self.pod_sets():
            shapes = fleet.taking(pods.resources, interruptible=self.interruptible)
            yield from node_room.count_faults(pods.resources, pods.count, at, where, shapes)

    @property
    def gpus_beside_queues(self) -> int:
        return 0 if self.queue else self.total().gpus

    @property
    def contract(self) -> queueing.Contract | None:
        """How the job gets over being stopped."""
        if self.checkpoints is None:
            return None
        return queueing.Contract(self.checkpoints.every_steps, self.checkpoints.save_seconds)

    def mounts(self) -> Mapping[str, Key]:
        return {volume: ("volumes", volume) for volume in self.volumes}

    def pod_sets(self) -> list[PodSet]:
        roles = self.strategy.roles()
        accelerated = sum(role.replicas for role in roles if role.accelerated)
        return [
            PodSet(
                role.name,
                role.replicas,
                self.resources if role.accelerated else _without_gpus(self.resources),
                together=role.accelerated and accelerated > 1,
                interruptible=self.interruptible,
            )
            for role in roles
        ]

    def total(self) -> "Total":
        """What the job's pods ask for together, each rounded as Kubernetes will see it."""
        roles = self.strategy.roles()
        pods = sum(role.replicas for role in roles)
        accelerated = sum(role.replicas for role in roles if role.accelerated)
        return Total(
            pods=pods,
            cpus=pods * quantity.millicores(self.resources.cpus) / 1000,
            memory_gib=pods * quantity.mebibytes(self.resources.memory_gib) / 1024,
            gpus=accelerated * self.resources.gpus,
        )

    def places(self, run: str, volumes: Mapping[str, Volume]) -> dict[str, str]:
        """The variables that tell the code where to write."""
        places = {}
        if self.model:
            places["MODEL_DIR"] = mounts.inside(self.model, self.volumes, volumes)
        if self.checkpoints:
            places["CHECKPOINT_DIR"] = f"{mounts.inside(self.checkpoints, self.volumes, volumes)}/{run}"
            places["CHECKPOINT_STEPS"] = str(self.checkpoints.every_steps)
        return places

    def build(self, name: str, platform: Platform, opts: pulumi.ResourceOptions) -> "TrainingJob":
        return TrainingJob(name, self, platform=platform, opts=opts)


@dataclass(frozen=True)
class Total:
    """What several pods ask for together."""

    pods: int
    cpus: float
    memory_gib: float
    gpus: int

    def props(self) -> dict[str, float]:
        """As policies read them."""
        return {"pods": self.pods, "cpus": self.cpus, "memoryGib": self.memory_gib, "gpus": self.gpus}


class TrainingJob(Workload):
    """A run of a training job."""

    def __init__(
        self, name: str, args: TrainingJobArgs, *, platform: Platform, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        total = args.total()
        image = platform.guarded(name, args.image or platform.cluster.args.images.training(args.resources.gpus))
        room = platform.rooms.get(args.queue) if args.queue else None
        stake = queueing.at_stake(room, args.pod_sets(), args.contract, args.grace_seconds) if room else None
        props: dict[str, Any] = {"strategy": args.strategy.kind, "image": image, "queue": args.queue, **total.props()}
        if stake:
            props["mayBeStopped"] = stake
        super().__init__("tensorplane:index:TrainingJob", name, props, opts)
        owner = Owner(self, name, platform.namespace, "training")
        code = {
            pod.APP: files.bundle(f"{name}-files", {to: files.located(source) for to, source in args.files.items()}),
            f"{pod.LIBRARY}/runtime": files.runtime_library(name),
        }
        code = {at: content for at, content in code.items() if content.content}
        hidden = platform.secret_env(name, args.env)
        secret = owner.secret(f"{name}-env", {key: args.env[key] for key in sorted(hidden)}) if hidden else None
        made = pulumi.Output.all(image=image, secret=secret and secret.metadata["name"]).apply(
            lambda known: _run(
                owner, args, platform, code, known["image"], pod.environment(args.env, hidden, known["secret"])
            )
        )
        # A secret among the settings makes everything derived from it secret; the name tells nothing of it.
        run = pulumi.Output.unsecret(made.apply(lambda made: made[0]))
        needed: list[pulumi.Resource] = [
            *(owner.config_map(content) for content in code.values()),
            owner.service_account(),
            owner.allow_peers(),
            *(platform.volumes[volume] for volume in sorted(args.volumes)),
            *(platform.streams[stream] for stream in sorted(args.streams)),
            *platform.controllers,
            *([platform.queues[args.queue]] if args.queue else []),
        ]
        k8s.apiextensions.CustomResource(
            name,
            api_version=versions.JOBSET_API,
            kind="JobSet",
            metadata=owner.metadata(run, labels=_queue_labels(args, platform)),
            spec=made.apply(lambda made: made[1]),
            # `suspend` is Kueue's: true until it admits the job.
            opts=pulumi.ResourceOptions(parent=self, depends_on=needed, ignore_changes=["spec.suspend"]),
        )
        self.gpus = total.gpus
        self.outputs = {"kind": args.kind, "jobSet": run, "queue": args.queue, "pods": total.pods, "gpus": total.gpus}
        self.register_outputs(dict(self.outputs))


def _network_cards(platform: Platform, pods: PodSet) -> Mapping[str, str]:
    """The cards that lead to the job's pods on other nodes."""
    if not pods.together:
        return {}
    return platform.cluster.network_cards(pods.resources, interruptible=pods.interruptible)


def _queue_labels(args: TrainingJobArgs, platform: Platform) -> Mapping[str, str]:
    return platform.queues[args.queue].labels if args.queue else {}


def _without_gpus(resources: Resources) -> Resources:
    """What a pod beside the accelerated ones may use. A group that was named for its GPUs is not its own."""
    if not resources.gpus:
        return resources
    return resources.model_copy(update={"gpus": 0, "accelerator": None, "node_group": None})


def _run(
    owner: Owner,
    args: TrainingJobArgs,
    platform: Platform,
    code: Mapping[str, files.Bundle],
    image: str,
    env: Sequence[Mapping[str, Any]],
) -> tuple[str, dict[str, Any]]:
    """The name and the spec of the run that these settings come to."""
    roles = args.strategy.roles()
    of_streams = streams.in_pod(args.streams, platform.streams)

    sets = {pods.role: pods for pods in args.pod_sets()}

    def template_of(run: str, role: Role) -> dict[str, Any]:
        pods = sets[role.name]
        container = pod.Container(
            image=image,
            resources=pods.resources,
            command=_launched(args.command),
            env=[
                *tf_config.environment(run, roles, role),
                *pod.variables({"PYTHONPATH": pod.LIBRARY, **args.places(run, platform.volumes)}),
                *of_streams.env,
                *env,
            ],
            ports={"tensorflow": tf_config.PORT} if role.in_cluster else {},
            volumes=mounts.of(args.volumes, platform.volumes),
            files=code,
            secrets=of_streams.secrets,
            network_cards=_network_cards(platform, pods),
            # NCCL passes what GPUs of one pod have computed through it, where they are not wired to each other.
            shared_memory=pods.resources.gpus > 1,
        )
        return pod.template(
            owner.name,
            {**owner.labels, **of_streams.labels},
            container,
            annotations={
                **queueing.nearness(platform.rooms.get(args.queue or ""), pods, args.within),
                **platform.cluster.undisturbed(pods.resources, interruptible=pods.interruptible),
            },
            grace_seconds=args.grace_seconds,
            restart_policy="Never",
            placement=platform.cluster.fleet.placement(
                pods.resources,
                interruptible=args.interruptible,
                together=pods.together,
                queued=args.queue is not None,
            ),
        )

    def spec(run: str) -> dict[str, Any]:
        return job_set.spec(
            run,
            roles,
            lambda role: template_of(run, role),
            deciding=args.strategy.deciding(),
            max_restarts=args.max_restarts,
        )

    # What is not set leaves the name as it is.
    again = {"attempt": str(args.attempt)} if args.attempt > 1 else {}
    return job_set.named_by_content(owner.name, spec, {**_queue_labels(args, platform), **again})


def _launched(command: Sequence[str]) -> list[str]:
    """The command below the launcher of `runtime/`. What runs Python has one to run that, too; other images may not."""
    return [command[0], "-I", _LAUNCH, *command] if _PYTHON.fullmatch(command[0]) else list(command)
