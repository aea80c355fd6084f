"""Checks of a pipeline: of each stage, its inputs' keys and its model server, and of all together."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from tensorplane.components.base.model import NAME_LIMIT
from tensorplane.components.base.problems import Key, Problem, did_you_mean, unknown_name
from tensorplane.components.base.produced import Produced
from tensorplane.components.base.resolve_outputs import has_outputs
from tensorplane.components.datasets.settings import DatasetArgs
from tensorplane.components.queues.capacity import PodSet
from tensorplane.workloads.family import Declared, WorkloadArgs
from tensorplane.workloads.model_server import checks as model_server_checks
from tensorplane.workloads.model_server import model_sources
from tensorplane.workloads.model_server.settings import ServerSettings
from tensorplane.workloads.pipeline.join_key import JoinKey
from tensorplane.workloads.pipeline.run import ENTRY, HASH, STEPS
from tensorplane.workloads.pipeline.settings import PipelineSettings, StageArgs, StageInput
from tensorplane.workloads.pipeline.stage_pods import MODEL_URL, OUT, path_of
from tensorplane.workloads.pipeline.steps.agent import NAME_SUFFIX
from tensorplane.workloads.pipeline.triggers import checks as triggers_checks
from tensorplane.workloads.pods import checks as pods_checks
from tensorplane.workloads.pods import command, resources
from tensorplane.workloads.training_job import checks as training_job_checks
from tensorplane.workloads.training_job import queueing, tensorflow_image
from tensorplane.workloads.training_job.settings import JobSettings, SecretKey

_NAME_LIMIT = NAME_LIMIT - len("-") - HASH
"""Its runs, whose names are labels of their pods, have a hash after it."""
_OF_PROGRAMS = frozenset(
    {
        "command",
        "files",
        "image",
        "join",
        "may_fail",
        "parallel",
        "params",
        "queue",
        "resources",
        "retries",
        "server",
        "timeout_seconds",
    }
)
"""Settings of a stage that is no job."""
_OF_ARGO = "ARGO_"
_MOST_BYTES = command.MOST_VARIABLE_BYTES - 16 * 1024
"""Of a command with its parameters: the variable with them also has the stage's inputs and folders."""
_STAGE_LIMIT = 40
"""Pods have the names of run and stage, of which Argo shortens the end."""


def find_problems(
    settings: PipelineSettings, name: str, at: Key, pods: Mapping[str, PodSet], declared: Declared
) -> Iterator[Problem]:
    """Every problem of a pipeline. `pods`: those of each stage."""
    if len(name) > _NAME_LIMIT:
        reason = f"the name has {len(name)} characters; shorten it to {_NAME_LIMIT}, so that its runs' names"
        yield Problem(at, f"{reason} stay valid")
    for stage, args in settings.stages.items():
        path = (*at, "stages", stage)
        if len(stage) > _STAGE_LIMIT:
            reason = f"the name has {len(stage)} characters; shorten it to {_STAGE_LIMIT}, so that its pods' names"
            yield Problem(path, f"{reason} stay valid")
        yield from _datasets(args, name, path, declared)
        yield from _paths(args, path, declared)
        yield from _templates(args, path)
        yield from _check_server(args, name, path, declared)
        yield from _check_join_keys(args, path)
        if args.publish:
            continue
        if args.training:
            yield from _job(args, args.training, name, stage, path, declared)
            continue
        yield from _splits(args, path)
        if args.command is None:
            reason = "required setting is missing: program of each pod; set it, job or publish"
            yield Problem((*path, "command"), reason, given=((*path, "job"), (*path, "publish")))
        else:
            yield from _program(args, args.command, path, declared)
        yield from _resources(args, at, path, pods[stage], declared)
    yield from _names(settings, at)
    yield from _outputs(settings, at)
    yield from _cycles(settings, at)
    yield from triggers_checks.find_problems(settings, name, at, declared)


def _datasets(stage: StageArgs, name: str, at: Key, declared: Declared) -> Iterator[Problem]:
    for key, source in stage.inputs.items():
        path = (*at, "inputs", key)
        yield from _dataset(source.dataset, name, (*path, "dataset"), declared)
        if args := declared.datasets.get(source.dataset):
            yield from _columns(source, args, path)
    yield from _dataset(stage.output, name, (*at, "output"), declared)


def _dataset(dataset: str, name: str, at: Key, declared: Declared) -> Iterator[Problem]:
    """Problems of a dataset that is not declared, or whose volume pods and agent may not write to: they record there
    which parts they have worked on."""
    if dataset not in declared.datasets:
        yield unknown_name(at, "dataset", dataset, declared.datasets)
    elif args := declared.datasets[dataset]:
        given = (("datasets", dataset),)
        for account in (name, f"{name}{NAME_SUFFIX}"):
            for problem in pods_checks.check_access(account, args.volume, at, declared.volumes, read_only=False):
                yield replace(problem, given=(*problem.given, *given))


def _paths(stage: StageArgs, at: Key, declared: Declared) -> Iterator[Problem]:
    """Folders of a program that are the same, or one inside another. What a job writes to a volume inside its output's
    folder would be missing in the version.
    """
    keys = {(*at, "inputs", name, "path"): path_of(name, one) for name, one in stage.inputs.items()}
    keys[(*at, "outputPath")] = stage.output_path or OUT
    for name, mount in stage.job.volumes.items() if stage.job else ():
        volume = declared.volumes.get(name)
        if path := mount.path or (volume.path if volume else None):
            keys[(*at, "job", "volumes", name)] = path
    former: dict[Key, str] = {}
    for key, path in keys.items():
        near = next((other for other, one in former.items() if f"{path}/".startswith(f"{one}/")), None)
        near = near or next((other for other, one in former.items() if one.startswith(f"{path}/")), None)
        if near:
            reason = f"{path} overlaps {former[near]}, another folder of the stage; use one apart from it"
            yield Problem(key, reason, given=(near,))
        former[key] = path


def _columns(source: StageInput, args: DatasetArgs, at: Key) -> Iterator[Problem]:
    """Columns that the stage asks for, and the table does not have so."""
    given = (("datasets", source.dataset, "table"),)
    if source.columns and args.table is None:
        reason = f"dataset {source.dataset} is no table; remove columns, or set datasets.{source.dataset}.table"
        yield Problem((*at, "columns"), reason, given=given)
        return
    has = args.table.columns if args.table else {}
    for column, kind in source.columns.items():
        path = (*at, "columns", column)
        if column not in has:
            known = ", ".join(sorted(has))
            near = did_you_mean(column, has)
            yield Problem(path, f"table {source.dataset} has no such column; choose one of {known}{near}", given=given)
        elif has[column] != kind:
            reason = f"is {kind}, but table {source.dataset} has it as {has[column]}; set {has[column]}"
            yield Problem(path, reason, given=given)


def _splits(stage: StageArgs, at: Key) -> Iterator[Problem]:
    apart = [name for name, source in stage.inputs.items() if not source.split.is_whole]
    given = tuple((*at, "inputs", name, "split") for name in apart)
    if len(apart) > 1 and stage.join is None:
        names = " and ".join(apart)
        yield Problem((*at, "join"), f"missing, but {names} are both split; set cross or name", given=given)
    if len(apart) < 2 and stage.join:
        reason = f"is {stage.join}, but fewer than two inputs are split; remove it, or set their split"
        yield Problem((*at, "join"), reason, given=((*at, "inputs"),))
    if stage.join == "name":
        for name in apart:
            if stage.inputs[name].split.batch:
                reason = "is a batch, which has no name to join by; set file or directory, or join: cross"
                yield Problem((*at, "inputs", name, "split"), reason, given=((*at, "join"),))
    if stage.may_fail and not apart:
        reason = f"is {stage.may_fail}, but no input is split, so there is one part; remove it"
        yield Problem((*at, "mayFail"), reason, given=((*at, "inputs"),))
    if stage.reprocess == "new" and not stage.cache:
        reason = "is new, but cache is false, so no former result is used; remove one of them"
        yield Problem((*at, "reprocess"), reason, given=((*at, "cache"),))


def _names(settings: PipelineSettings, at: Key) -> Iterator[Problem]:
    """Stages whose templates would have the name of another one."""
    taken = {ENTRY} | {f"{stage}-{step}" for stage in settings.stages for step in STEPS}
    for stage in settings.stages:
        if stage in taken:
            yield Problem((*at, "stages", stage), "is also the name of a step of the pipeline; use another name")


def _job(stage: StageArgs, job: JobSettings, pipeline: str, key: str, at: Key, declared: Declared) -> Iterator[Problem]:
    """Problems of a stage that is a job."""
    given, name = ((*at, "job"),), f"{pipeline}-{key}"
    for field in sorted(stage.model_fields_set & _OF_PROGRAMS):
        key = StageArgs.model_fields[field].alias or field
        instead = "set it in job" if field in type(job).model_fields else "remove it"
        yield Problem((*at, key), f"is about the pods of a command, and this stage is a job; {instead}", given=given)
    for source_name, source in stage.inputs.items():
        if not source.split.is_whole:
            reason = "is set, but this stage is a job, whose pods work on all files together; remove it"
            yield Problem((*at, "inputs", source_name, "split"), reason, given=given)
    if name in declared.workloads:
        yield Problem(at, f"its job has the name {name}, as a workload has; use another name")
    yield from _produced(job, (*at, "job"), declared)
    if stage.accelerator is not None and stage.job and stage.job.resources.accelerator is not None:
        yield Problem((*at, "accelerator"), "conflicts with job.resources.accelerator; remove one of them", given=given)
        return
    for problem in training_job_checks.find_problems(job, name, (*at, "job"), declared, account=pipeline):
        yield _with_stage(problem, stage, (*at, "job"), at)


def _produced(job: JobSettings, at: Key, declared: Declared) -> Iterator[Problem]:
    """Values of other resources. A stage cannot have them: datasets record its pods, which must be known here."""
    unknown = "comes from another resource, whose name is not known here; set its name"
    if isinstance(job.image, Produced):
        yield Problem((*at, "image"), unknown)
    for variable, value in job.env.items():
        if isinstance(value, SecretKey) and isinstance(value.secret, Produced):
            yield Problem((*at, "env", variable, "secret"), unknown)
    for stream, use in job.streams.items():
        broker = args.broker_on(declared.cluster) if (args := declared.streams.get(stream)) else None
        if broker and has_outputs(broker.access(stream, use.client, "")):
            reason = f"the endpoint of stream {stream} has values of another resource, not known here; write them there"
            yield Problem((*at, "streams", stream), reason, given=(("streams", stream),))


def _program(stage: StageArgs, program: list[str], at: Key, declared: Declared) -> Iterator[Problem]:
    there = pods_checks.paths_in_pod(None, stage.files, declared.project)
    known = stage.image is None or bool(stage.files)
    yield from command.find_problems(program, there, at, (*at, "command"), files_known=known)
    yield from pods_checks.check_files(None, stage.files, at, declared.project)
    yield from _variables(stage, at)
    yield from _size(stage, program, at)
    if stage.program_resources.gpus and not declared.cluster.images.train_gpu:
        given = ((*at, "accelerator"), (*at, "resources", "gpus"), ("cluster",))
        remedy = "build an image for GPUs (docs/training-pods.md#an-image-for-gpus), and set it here"
        if stage.image is None:
            reason = "missing, but the default TensorFlow image does not support GPUs"
            yield Problem((*at, "image"), f"{reason}; {remedy}", given=given)
        elif tensorflow_image.sees_no_gpu(stage.image):
            yield Problem((*at, "image"), f"{stage.image!r} does not support GPUs; {remedy}", given=given)


def _templates(stage: StageArgs, at: Key) -> Iterator[Problem]:
    """Texts in which Argo would look for its own variables: all that the WorkflowTemplate has of a stage."""
    for key, text in _texts(stage.model_dump(by_alias=True, exclude_unset=True, exclude={"files"})):
        if "{{" in text:
            reason = "has {{, after which Argo expects a variable of its own; put this text into a file of `files`"
            yield Problem((*at, *key), reason)


def _texts(value: object, at: Key = ()) -> Iterator[tuple[Key, str]]:
    """The texts inside a value, with their paths."""
    if isinstance(value, str):
        yield at, value
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _texts(inner, (*at, str(key)))
    elif isinstance(value, list | tuple):
        for index, inner in enumerate(value):
            yield from _texts(inner, (*at, str(index)))


def _variables(stage: StageArgs, at: Key) -> Iterator[Problem]:
    """Parameters that the program would not get: it has other variables of these names."""
    for name in stage.params:
        path = (*at, "params", name)
        if name == MODEL_URL and stage.server:
            reason = f"is set by server to the address of {stage.server}; use another name, or remove server"
            yield Problem(path, reason, given=((*at, "server"),))
        elif name.startswith(_OF_ARGO):
            yield Problem(path, f"begins with {_OF_ARGO}, as variables that Argo sets itself; use another name")


def _size(stage: StageArgs, program: list[str], at: Key) -> Iterator[Problem]:
    """Problem of a command and parameters that do not fit into one variable of what keeps the results, in JSON."""
    sizes = {"command": len(json.dumps(program)), "params": len(json.dumps(stage.params))}
    if (size := sum(sizes.values())) > _MOST_BYTES:
        reason = f"command and params have {size:,} bytes in JSON, more than the {_MOST_BYTES:,} of a stage"
        largest = max(sizes, key=lambda key: sizes[key])
        yield Problem(
            (*at, largest), f"{reason}; move large values to `files`", given=((*at, "command"), (*at, "params"))
        )


def _resources(stage: StageArgs, at: Key, path: Key, pods: PodSet, declared: Declared) -> Iterator[Problem]:
    """Problems of the stage's pods on the nodes, and in its queue. `at`: the pipeline's path; `path`: the stage's."""
    if stage.accelerator is not None and stage.resources.accelerator is not None:
        reason = "conflicts with resources.accelerator; remove one of them"
        yield Problem((*path, "accelerator"), reason, given=((*path, "resources"),))
        return
    found = [_with_stage(problem, stage, path, path) for problem in resources.find_problems([pods], at, declared)]
    yield from found
    yield from tensorflow_image.check_gpu_support([pods], stage.image, at, declared)
    if stage.queue is None:
        if stage.program_resources.gpus:
            key = "accelerator" if stage.accelerator else "resources"
            remedy = "set queue to one with a quota of GPUs"
            reason = f"missing, but its pods use GPUs, which the queues share; {remedy}"
            yield Problem((*path, "queue"), reason, given=((*path, key), ("queues",)))
    elif stage.queue not in declared.queues:
        yield unknown_name((*path, "queue"), "queue", stage.queue, declared.queues)
    elif (capacity := declared.capacities.get(stage.queue)) and not found:
        # Kueue admits each pod by itself.
        one = [replace(pods, count=1)]
        yield from queueing.never_admitted(path, capacity, one)
        yield from queueing.above_share(at, capacity, one)


def _with_stage(problem: Problem, stage: StageArgs, at: Key, stage_at: Key) -> Problem:
    """A problem of the accelerator, where the settings have it. `at`: the path of the pods' resources."""
    inside, outside = (*at, "resources", "accelerator"), (*stage_at, "accelerator")
    if stage.accelerator is None:
        return problem
    cause = [outside] if any(inside[: len(each)] == each for each in problem.given) else []
    return replace(problem, path=outside if problem.path == inside else problem.path, given=(*problem.given, *cause))


def _outputs(settings: PipelineSettings, at: Key) -> Iterator[Problem]:
    """Two stages with one output, of which each would replace what the other made."""
    writers: dict[str, str] = {}
    for name, stage in settings.stages.items():
        if (other := writers.setdefault(stage.output, name)) != name:
            reason = f"is {stage.output}, which stage {other} writes too; use a dataset for each"
            yield Problem((*at, "stages", name, "output"), reason, given=((*at, "stages", other, "output"),))


def _cycles(settings: PipelineSettings, at: Key) -> Iterator[Problem]:
    """Stages that wait for each other, each circle once."""
    after = {name: settings.before(stage) for name, stage in settings.stages.items()}
    reported: set[str] = set()
    for name in settings.stages:
        circle = _circle(name, after)
        if circle and not reported & {*circle}:
            reported |= {*circle}
            source = next(key for key, before in after[name].items() if before == circle[1])
            path = (*at, "stages", name, "inputs", source, "dataset")
            if len(circle) == 2:
                reason = f"is {settings.stages[name].output}, the output of this stage; read another dataset"
            else:
                reason = f"makes a circle of stages, {' -> '.join(reversed(circle))}; remove one of these inputs"
            given = tuple((*at, "stages", each, key) for each in circle[1:] for key in ("inputs", "output"))
            yield Problem(path, reason, given=given)


def _circle(start: str, after: Mapping[str, Mapping[str, str]]) -> Sequence[str]:
    """The shortest way from a stage over those before it back to itself; empty if there is none."""
    ways = [[start]]
    visited: set[str] = set()
    for way in ways:
        for before in after[way[-1]].values():
            if before == start:
                return [*way, start]
            if before not in visited:
                visited.add(before)
                ways.append([*way, before])
    return []


def _check_join_keys(stage: StageArgs, at: Key) -> Iterator[Problem]:
    """Keys that nothing is joined by, and those to which no name can be equal. `at`: the path of the stage."""
    stated = {name: one.key for name, one in stage.inputs.items() if one.key}
    for name, key in stated.items():
        yield from _join_key(stage, stage.inputs[name], key, (*at, "inputs", name))
    texts = {
        name: stated[name].groups if name in stated else 1 for name, one in stage.inputs.items() if _is_joined(one)
    }
    if stage.join == "name" and len({*texts.values()}) > 1:
        most = max(texts, key=lambda name: texts[name])
        least = next(name for name, count in texts.items() if count != texts[most])
        reason = f"has {texts[most]} pairs of parentheses, but the key of {least} is {_count_of_texts(texts[least])}"
        given = tuple((*at, "inputs", name, "key") for name in texts if name != most)
        remedy = "give each key of the stage the same number of parentheses"
        yield Problem((*at, "inputs", most, "key"), f"{reason}; {remedy}", given=given)


def _join_key(stage: StageArgs, source: StageInput, key: JoinKey, at: Key) -> Iterator[Problem]:
    path = (*at, "key")
    if stage.join != "name":
        reason = "is set, but only join: name compares keys; set that, or remove key"
        yield Problem(path, reason, given=((*at[:-2], "join"),))
    elif source.split.is_whole:
        reason = "is set, but the input is not split, so it has no parts to join; set its split, or remove key"
        yield Problem(path, reason, given=((*at, "split"),))
    elif source.split.by == "directory" and key.pattern and "/" in key.pattern:
        reason = f"{key.pattern!r} has a slash, but parts of split: directory are at the top of the dataset"
        yield Problem(path, f"{reason}; remove it, or set split: file", given=((*at, "split"),))


def _is_joined(source: StageInput) -> bool:
    return not source.split.is_whole


def _count_of_texts(texts: int) -> str:
    return "one text" if texts == 1 else f"{texts} texts"


_OF_PUBLISH = frozenset({"inputs", "output", "publish", "retries", "timeout_seconds"})
"""The settings of a stage that publishes."""


def _check_server(stage: StageArgs, name: str, at: Key, declared: Declared) -> Iterator[Problem]:
    """Problems of a stage's server. `name`: that of the pipeline."""
    if stage.server:
        yield from model_server_checks.check_server_name(stage.server, (*at, "server"), declared)
    if not stage.publish:
        return
    path = (*at, "publish")
    for field in sorted(stage.model_fields_set - _OF_PUBLISH):
        key = StageArgs.model_fields[field].alias or field
        reason = "is about stages that run a program, and this one publishes a model; remove it, or publish"
        yield Problem((*at, key), reason, given=(path,))
    if len(stage.inputs) > 1:
        reason = f"{len(stage.inputs)} inputs, but one has the model; keep one"
        yield Problem((*at, "inputs"), reason, given=(path,))
    for key, source in stage.inputs.items():
        if not source.split.is_whole:
            reason = "is set, but this stage publishes all files together; remove it"
            yield Problem((*at, "inputs", key, "split"), reason, given=(path,))
    yield from model_server_checks.check_server_name(stage.publish, path, declared)
    if folder := declared.models.get(stage.publish):
        for problem in pods_checks.check_access(name, folder.volume, path, declared.volumes, read_only=False):
            yield replace(problem, given=(*problem.given, ("workloads", stage.publish.partition("/")[0])))


def check_servers_between(workloads: Mapping[Key, WorkloadArgs]) -> Iterator[Problem]:
    """Problems of a pipeline and its servers: one that does not let it in, or that would never serve what it gets."""
    by_name = {at[-1]: one for at, one in workloads.items()}
    for at, pipeline in workloads.items():
        if not isinstance(pipeline, PipelineSettings):
            continue
        for server in pipeline.servers:
            found = by_name.get(server)
            clients = found.clients if isinstance(found, ServerSettings) else None
            if clients is not None and at[-1] not in {client.workload for client in clients}:
                reason = f"does not let in pipeline {at[-1]}; add {{workload: {at[-1]}}}"
                yield Problem((*at[:-1], server, "clients"), reason, given=(at,))
        for name, stage in pipeline.stages.items():
            model = model_sources.served(stage.publish, by_name) if stage.publish else None
            if model and model.policy.specific:
                key = "pin" if model.pin else "versions"
                reason = (
                    f"{stage.publish} serves only the versions that its {key} names, so the stage would wait for ever"
                )
                given = (("workloads", str(stage.publish).partition("/")[0]),)
                yield Problem((*at, "stages", name, "publish"), f"{reason}; remove {key} there", given=given)
