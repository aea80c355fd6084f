"""The pods of a pipeline's stage: the program with what keeps its result, or the job."""

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from tensorplane.components.base.model import Resources
from tensorplane.workloads.pipeline import stage_job
from tensorplane.workloads.pipeline.settings import KEEPER, StageArgs, StageInput
from tensorplane.workloads.pods import fence, pod, variables
from tensorplane.workloads.pods.files import Bundle, bundles, fits_one
from tensorplane.workloads.pods.mounts import Mountable
from tensorplane.workloads.pods.objects import Identity, Manifest
from tensorplane.workloads.training_job import lineage
from tensorplane.workloads.training_job import manifest as training_job_manifest
from tensorplane.workloads.training_job.context import JobContext
from tensorplane.workloads.training_job.manifest import JobManifest
from tensorplane.workloads.training_job.run import Recorded

IN, OUT = "/in", "/out"
"""Folders of a stage's program by default: its inputs, each in a folder of its name, and its results."""
ITEMS, SUMMARY, VERSION = "items", "summary", "version"
"""Outputs of steps (the library's `stages/steps.py`): the items that need a pod, counts, the commit."""
ITEM, ID, FOLDER_OUT = "item", "id", "out"
"""Parameters of a pod: the number of its item, a name that no other item has, and for a job the folder of its results.
Those with the folders of its inputs have `folder_of` names."""
KEEP = "keep"
"""The container that keeps the result of the program, once that has succeeded."""
MODEL_URL = "MODEL_URL"
"""Variable of a program with the address of the model of `server`."""
_STAGE = "TENSORPLANE_STAGE"
_VOLUMES = "/volumes"
_HELPER = Resources(cpus=0.1, memory_gib=0.25)
_GRACE_SECONDS = 30
_RUN = "{{workflow.name}}"


@dataclass(frozen=True)
class Stored:
    """A dataset in the pods."""

    volume: Mountable
    folder: str
    """Its folder, from the volume's root."""
    rules: Mapping[str, Any]
    """What commits need, as the library reads it."""
    others: tuple[str, ...] = ()
    """Folders of other datasets on the volume."""

    @property
    def root(self) -> str:
        """Its folder in the pods of steps."""
        return self.in_pod(self.folder)

    def in_pod(self, folder: str) -> str:
        """A folder of its volume in the pods of steps."""
        return f"{_VOLUMES}/{self.volume.claim}/{folder}"

    def mount(self, *, read_only: bool) -> pod.VolumeMount:
        """Its volume, where `root` is."""
        return self.volume.at(f"{_VOLUMES}/{self.volume.claim}", read_only=read_only)

    @property
    def roots_of_others(self) -> list[str]:
        """The folders of the other datasets in the pods of steps."""
        return [self.in_pod(folder) for folder in self.others]


@dataclass(frozen=True)
class Server:
    """A model server of a stage."""

    name: str
    model: str
    """The model's name for clients."""
    url: str
    """Of the model, in TensorFlow Serving's REST API."""
    volume: Mountable | None = None
    """The volume of its versions; None for a model from elsewhere."""
    folder: str = ""
    """Their folder, from the volume's root."""
    gated: bool = False
    """Whether a canary tries each version first."""


@dataclass(frozen=True)
class StageContext:
    """What the pods of one stage need besides its settings."""

    image: str
    placement: Mapping[str, Any] = field(default_factory=dict)
    """The parts of a pod's spec that select nodes."""
    queue_labels: Mapping[str, str] = field(default_factory=dict)
    """Labels that put a pod into its queue."""
    files: Mapping[str, bytes] = field(default_factory=dict)
    """The contents of its files, by path in the pod."""
    job: JobContext | None = None
    """Those of its job, if it is one."""
    server: Server | None = None
    """The model server that it publishes to, or that its program asks."""


@dataclass(frozen=True)
class Steps:
    """The pods of one stage."""

    owner: Identity
    name: str
    stage: StageArgs
    context: StageContext
    datasets: Mapping[str, Stored]
    image: str
    """Of the library's programs: any with Python 3.9 or newer."""
    library: Bundle
    placement: Mapping[str, Any]
    """The parts of the spec of a pod without a program of the user that select nodes."""

    @property
    def code(self) -> list[Bundle]:
        """ConfigMaps with the stage's files."""
        if self.context.job:
            return [each for parts in self.context.job.bundles().values() for each in parts]
        return bundles(f"{self.owner.name}-{self.name}", self.context.files)

    @property
    def decisive(self) -> dict[str, Any]:
        """What decides the stage's results besides its input."""
        if job := self._job():
            program = self.stage.job.program if self.stage.job else []
            return {"image": self.context.image, "command": program, "training": job.run.decisive, **self._paths}
        if self.stage.publish:
            return {"publish": self.stage.publish}
        code = bundles("code", self.context.files)
        return {
            "image": self.context.image,
            "command": self.stage.command,
            "params": dict(sorted(self.stage.params.items())),
            "code": [part.name for part in code],
            **self._paths,
            **({"server": self.stage.server} if self.stage.server else {}),
        }

    @property
    def _paths(self) -> dict[str, Any]:
        """Folders other than the default ones; empty if there are none."""
        inputs = {name: one.path for name, one in sorted(self.stage.inputs.items()) if one.path}
        paths = {**inputs, **({"": self.stage.output_path} if self.stage.output_path else {})}
        return {"paths": paths} if paths else {}

    @property
    def _out(self) -> str:
        return self.stage.output_path or OUT

    @property
    def description(self) -> dict[str, Any]:
        """The stage for its steps (the library's `stages/description.py`)."""
        output = self.datasets[self.stage.output]
        return {
            "pipeline": self.owner.name,
            "name": self.name,
            "decisive": self.decisive,
            "inputs": [self._input_spec(name, one) for name, one in sorted(self.stage.inputs.items())],
            "dataset": self.stage.output,
            "root": output.root,
            "folder": output.folder,
            "rules": output.rules,
            "others": output.roots_of_others,
            "join": self.stage.join,
            # What the server has meanwhile decides whether it gets the model again.
            "cache": self.stage.cache and not self.stage.publish,
            "reprocess": self.stage.reprocess,
            "may_fail": self.stage.may_fail,
            "shared_out": self.stage.job is not None,
            **({"publish": self._published()} if self.stage.publish else {}),
        }

    def _published(self) -> dict[str, Any]:
        """The server for its step (the library's `stages/publish.py`)."""
        if (server := self.context.server) is None or server.volume is None:
            raise ValueError(f"stage {self.name} publishes to no folder: the checks refuse that")
        return {
            "server": server.name,
            "model": server.model,
            "folder": f"{_VOLUMES}/{server.volume.claim}/{server.folder}",
            "url": server.url,
            "gated": server.gated,
        }

    def _input_spec(self, name: str, one: StageInput) -> dict[str, Any]:
        stored = self.datasets[one.dataset]
        return {
            "name": name,
            "dataset": one.dataset,
            "root": stored.root,
            "folder": stored.folder,
            "by": one.split.by,
            "batch": one.split.batch,
            **self._key(one),
        }

    def _key(self, one: StageInput) -> dict[str, Any]:
        """What an input's parts are joined by. Without a key, that of folders is said too: it was another one, so that
        such a stage is another one since then, which makes its output anew."""
        if one.key:
            return {"key": one.key.regex}
        return {"key": None} if self.stage.join == "name" and one.split.by == "directory" else {}

    def work(self) -> dict[str, Any]:
        """The pod that works on one item: the stage's program, and the container that keeps its result."""
        if self.stage.publish:
            return self._publish()
        code = self.code
        archived = not fits_one(self.context.files)
        program = pod.Container(
            image=self.context.image,
            resources=self.stage.program_resources,
            command=self.stage.command or (),
            env=variables.in_order(pod.variables({**dict(sorted(self.stage.params.items())), **self._requests()})),
            volumes=[self._mounted(name, one) for name, one in sorted(self.stage.inputs.items())],
            files={pod.APP: code[0]} if code and not archived else {},
            archives={pod.APP: code} if archived else {},
            scratch=[self._out],
            shared_memory=self.stage.program_resources.gpus > 1,
        )
        made = self._template(program, self.context.placement, self.context.queue_labels)
        (main,) = made["spec"]["containers"]
        keeper = self._container(
            KEEP, _RUN, _input(ITEM), self._out, main["name"], volumes=[self.stage.output], resources=KEEPER
        )
        fenced = self._template(keeper, {}, annotations=fence.of_stage([*program.volumes, *keeper.volumes]))
        both = _with_keeper(made, fenced, shared=("tmp", pod.folder_name(self._out)))
        return _unpacked_by_library(both, self.image) if archived else both

    def _requests(self) -> dict[str, str]:
        """The variable with the model that the program asks."""
        return {MODEL_URL: self.context.server.url} if self.context.server else {}

    def _publish(self) -> dict[str, Any]:
        """The pod that publishes a model, waits until the server serves it, and keeps that as the result."""
        ((name, one),) = self.stage.inputs.items()
        folder = self._mounted(name, one)
        step = self._container(
            "publish", _RUN, _input(ITEM), folder.path, OUT, volumes=[self.stage.output], resources=_HELPER
        )
        more = [folder, *self._of_server([each.claim for each in step.volumes])]
        step = replace(step, volumes=[*step.volumes, *more])
        return self._template(step, self.placement, annotations=fence.of_stage(step.volumes))

    def _of_server(self, mounted: Collection[str]) -> list[pod.VolumeMount]:
        """The volume of the server's versions, if it is not that of a dataset."""
        volume = self.context.server.volume if self.context.server else None
        if volume is None or volume.claim in mounted:
            return []
        return [volume.at(f"{_VOLUMES}/{volume.claim}", read_only=False)]

    def _job(self) -> JobManifest | None:
        """The stage's job, whose name has the item's."""
        if self.stage.training is None or self.context.job is None:
            return None
        name = Recorded(f"{self.context.job.name}-{_input(ID)}")
        return training_job_manifest.plan(
            self.stage.training, self.context.job, image=self.context.image, recorded=name
        )

    def job_set(self) -> Manifest:
        """The JobSet of a stage that is a job, with its inputs and a folder for its results."""
        if (job := self._job()) is None:
            raise ValueError(f"stage {self.name} is no job")
        output = self.datasets[self.stage.output].volume.at(self._out, read_only=False, folder=_input(FOLDER_OUT))
        inputs = [self._mounted(name, one) for name, one in sorted(self.stage.inputs.items())]
        return stage_job.with_folders(job.job_set, [*inputs, output], {_STAGE: self._origin()})

    def _origin(self) -> str:
        """What a model that the job publishes comes from, besides the job (the library's `declared_lineage.py`)."""
        stage = sorted(self.stage.inputs.items())
        inputs = [{"dataset": one.dataset, "folder": _input(folder_of(name))} for name, one in stage]
        return json.dumps({"pipeline": self.owner.name, "stage": self.name, "inputs": inputs})

    def _mounted(self, name: str, one: StageInput) -> pod.VolumeMount:
        return self.datasets[one.dataset].volume.at(path_of(name, one), read_only=True, folder=_input(folder_of(name)))

    def _container(self, *arguments: str, volumes: list[str], resources: Resources) -> pod.Container:
        # Without the other datasets, of which there may be many: the agent alone commits.
        about = json.dumps({**self.description, "others": []}, sort_keys=True)
        own = {"PYTHONPATH": pod.IMPORTED, "STAGE": about}
        mounted = {(one := self.datasets[name]).volume.claim: one.volume for name in volumes}
        return pod.Container(
            image=self.image,
            resources=resources,
            command=["python3", "-m", "tensorplane.stages", *arguments],
            env=[*pod.variables(own), lineage.node()],
            volumes=[one.at(f"{_VOLUMES}/{claim}", read_only=False) for claim, one in sorted(mounted.items())],
            files={pod.LIBRARY: self.library},
            scratch=[self._out] if self._out in arguments else [],
        )

    def _template(
        self,
        container: pod.Container,
        placement: Mapping[str, Any] | None = None,
        labels: Mapping[str, str] | None = None,
        annotations: Mapping[str, str] | None = None,
    ) -> dict[str, Any]:
        return pod.template(
            self.owner.name,
            {**self.owner.labels, **(labels or {})},
            container,
            grace_seconds=_GRACE_SECONDS,
            restart_policy="Never",
            placement=placement or {},
            annotations=annotations or {},
        )


def _input(parameter: str) -> str:
    """What Argo replaces by a parameter of the template."""
    return f"{{{{inputs.parameters.{parameter}}}}}"


def path_of(name: str, source: StageInput) -> str:
    """The folder in which a program has an input."""
    return source.path or f"{IN}/{name}"


def folder_of(source: str) -> str:
    """The parameter of a pod with the folder of an input."""
    return f"in-{source}"


def _with_keeper(made: dict[str, Any], keeper: dict[str, Any], shared: Collection[str]) -> dict[str, Any]:
    """A pod with the container of another one, whose other volumes get names of their own. `shared`: volumes that both
    have."""

    def renamed(each: Mapping[str, Any]) -> dict[str, Any]:
        return {**each, "name": each["name"] if each["name"] in shared else f"{KEEP}-{each['name']}"}

    (container,) = keeper["spec"]["containers"]
    container = {**container, "name": KEEP, "volumeMounts": [renamed(each) for each in container["volumeMounts"]]}
    more = [renamed(each) for each in keeper["spec"]["volumes"] if each["name"] not in shared]
    spec = made["spec"]
    labels = {**keeper["metadata"]["labels"], **made["metadata"]["labels"]}
    annotations = {**keeper["metadata"].get("annotations", {}), **made["metadata"].get("annotations", {})}
    return {
        "metadata": {"labels": labels, **({"annotations": annotations} if annotations else {})},
        "spec": {
            **spec,
            "containers": [*spec["containers"], container],
            "volumes": pod.agreeing([*spec["volumes"], *more]),
            **({"affinity": affinity} if (affinity := _affinity(made, keeper)) else {}),
        },
    }


def _unpacked_by_library(made: dict[str, Any], image: str) -> dict[str, Any]:
    """A pod whose archives are unpacked with the keeper's library and image: the program's may be without Python."""
    spec = made["spec"]
    (keeper,) = (one for one in spec["containers"] if one["name"] == KEEP)
    library = [mount for mount in keeper["volumeMounts"] if mount["mountPath"] == pod.LIBRARY]
    first = [
        {**one, "image": image, "volumeMounts": [*one["volumeMounts"], *library]} for one in spec["initContainers"]
    ]
    return {**made, "spec": {**spec, "initContainers": first}}


def _affinity(made: dict[str, Any], keeper: dict[str, Any]) -> dict[str, Any]:
    """Both pods' affinity: to nodes, and to pods with the same volumes of one node."""
    found = {**made["spec"].get("affinity", {})}
    for kind, rules in keeper["spec"].get("affinity", {}).items():
        merged = {**found.get(kind, {})}
        for when, terms in rules.items():
            merged[when] = [*merged.get(when, []), *(term for term in terms if term not in merged.get(when, []))]
        found[kind] = merged
    return found
