"""A spec as stages of a pipeline: one, or for a union one for each of its members and one that puts these together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from tensorplane.cli.pachyderm import amounts, command, expansion, inputs, unsupported
from tensorplane.cli.pachyderm.inputs import PFS, Leaf, Planned
from tensorplane.cli.pachyderm.names import labels
from tensorplane.cli.pachyderm.note import Note
from tensorplane.cli.pachyderm.repos import Repos
from tensorplane.cli.pachyderm.spec import Resources, Spec, Transform
from tensorplane.components.catalog.rows import GPU_RESOURCE
from tensorplane.core.errors import UserError

DEFAULT_IMAGE = "docker.io/library/ubuntu:20.04"
"""The image of specs without one."""
_GIB = 1 << 30
_MOST_PARALLEL = 1000
_DEFAULT_TRIES = 3
_LEAST_GIB = 0.03125
_ALL_PARTS = 1_000_000


@dataclass(frozen=True)
class Choice:
    """Settings that no spec has."""

    queue: str | None = None
    """Queue of stages with GPUs."""
    accelerator: str | None = None
    """Model of their GPUs."""


@dataclass
class Converted:
    """What becomes of a spec."""

    stages: dict[str, dict[str, Any]] = field(default_factory=dict)
    """By name, in the spelling of settings; none if it has no equal."""
    leaves: list[Leaf] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)


def convert(spec: Spec, repos: Repos, choice: Choice) -> Converted:
    """The stages of a spec. A UserError if it reads several inputs of one name, or an input that Pachyderm refuses."""
    made = Converted(notes=list(unsupported.notes(spec)))
    if spec.input is None or spec.service is not None or spec.spout is not None or spec.tf_job is not None:
        made.notes.append(_no_stage(spec, repos))
        return made
    if problems := list(inputs.find_problems(spec.input)):
        raise UserError(*(f"{spec.name}.{line}" for line in problems))
    transform = spec.transform or Transform()
    made.notes += command.notes(spec)
    made.notes += unsupported.of_inputs(spec.name, "input", spec.input)
    ways = inputs.alternatives(spec.input)
    made.leaves = list(dict.fromkeys(leaf for way in ways for leaf in way))
    made.notes += [note for leaf in made.leaves for note in repos.notes(spec, leaf)]
    name = repos.of_pipeline(spec)
    outputs = [name] if len(ways) == 1 else [repos.more(f"{name}-{number}") for number, _ in enumerate(ways, 1)]
    for leaves, output in zip(ways, outputs, strict=True):
        if twice := [name for name, count in Counter(leaf.name for leaf in leaves).items() if count > 1]:
            raise UserError(*(f"{spec.name}.input: several inputs have the name {one}; set name" for one in twice))
        names = labels(leaf.name for leaf in leaves)
        text = command.text_of(transform)
        planned = inputs.plan(
            spec.name, leaves, lambda leaf: repos.read(spec, leaf), [names[leaf.name] for leaf in leaves], text
        )
        made.notes += [note for note in planned.notes if note not in made.notes]
        made.stages[output] = _stage(spec, transform, planned, output, choice)
    made.notes += _limits(spec, split=any("split" in one for each in made.stages.values() for one in _inputs(each)))
    made.notes += _reserved(spec)
    made.notes += _reprocessed(spec)
    made.notes += _gpu(spec, choice)
    if len(ways) > 1:
        made.stages[name] = _together(outputs, name)
        problem = f"each member is a stage, and {name} puts their results together"
        made.notes.append(Note(spec.name, "input.union", problem, "compare files that several members make"))
    return made


def _inputs(stage: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return list(stage["inputs"].values())


def _stage(spec: Spec, transform: Transform, planned: Planned, output: str, choice: Choice) -> dict[str, Any]:
    plain = command.command(transform, planned.before, split=planned.is_split)
    words = [expansion.escaped(word, transform.env or {}) for word in plain] if plain else None
    limit, parallel = _timeout(spec, split=planned.is_split), spec.parallelism_spec
    tries = spec.datum_tries if spec.datum_tries and spec.datum_tries > 0 else _DEFAULT_TRIES
    optional = {
        "command": words,
        "params": dict(sorted((transform.env or {}).items())),
        "resources": _resources(spec, choice),
        **_accelerator(spec, choice),
        "join": planned.join,
        "parallel": min(parallel.constant or 0, _MOST_PARALLEL) if parallel and planned.is_split else None,
        "retries": tries - 1 if tries != _DEFAULT_TRIES else None,
        "timeoutSeconds": limit,
        "mayFail": _ALL_PARTS if planned.is_split and command.skips_failed(transform) else None,
    }
    return {
        "image": transform.image or DEFAULT_IMAGE,
        **{key: value for key, value in optional.items() if value or (key == "retries" and value == 0)},
        **_skipped(spec),
        "inputs": planned.inputs,
        "output": output,
        "outputPath": f"{PFS}/out",
    }


def _skipped(spec: Spec) -> dict[str, Any]:
    """Which datums are skipped: without a wish of the spec, an update leaves the results of those that are done."""
    if spec.reprocess_spec == "every_job":
        return {"cache": False}
    return {} if spec.reprocess else {"reprocess": "new"}


def _reprocessed(spec: Spec) -> Iterator[Note]:
    if spec.reprocess_spec not in (None, "", "until_success", "every_job"):
        problem = f"{spec.reprocess_spec!r} is left out (Pachyderm refuses it)"
        yield Note(spec.name, "reprocessSpec", problem, "set cache: false to skip no part")


def _together(members: list[str], output: str) -> dict[str, Any]:
    """A stage with the files of several datasets."""
    copied = " ".join(f"/in/{member}/." for member in members)
    return {
        "command": ["sh", "-c", f"cp -R --no-preserve=mode {copied} /out/"],
        "inputs": {member: {"dataset": member} for member in members},
        "output": output,
        "resources": {"cpus": 0.1, "memoryGib": 0.25},
    }


def _no_stage(spec: Spec, repos: Repos) -> Note:
    name = repos.of_pipeline(spec)
    if spec.service is not None:
        problem = "no stage: a stage ends, and a service does not"
        remedy = "serve models with kind: modelServer, and other things with a Deployment of your own"
        return Note(spec.name, "service", problem, remedy)
    if spec.spout is not None:
        problem = f"no stage: a spout has no end; dataset {name} is there for what it commits"
        remedy = "record a Kafka topic with kind: recorder (docs/streams.md), or commit with tensorplane.datasets"
        return Note(spec.name, "spout", problem, remedy)
    if spec.tf_job is not None:
        return Note(spec.name, "tfJob", "no stage", "write it as a stage with `job` (docs/pipelines.md#training-jobs)")
    return Note(spec.name, "input", "is missing, so there is no stage", f"commit to dataset {name} what it made")


def _timeout(spec: Spec, *, split: bool) -> int | None:
    """The seconds of a pod. Without parts, the job has one."""
    given = [spec.datum_timeout, None if split else spec.job_timeout]
    found = [amounts.seconds(one) for one in given if one]
    return min((one for one in found if one), default=None)


def _limits(spec: Spec, *, split: bool) -> Iterator[Note]:
    if spec.job_timeout and split:
        problem = "left out: a run has no limit, but each of its pods"
        yield Note(spec.name, "jobTimeout", problem, "set timeoutSeconds, or cancel with `tensorplane runs cancel`")
    for field_of, duration in (("datumTimeout", spec.datum_timeout), ("jobTimeout", spec.job_timeout)):
        if duration and amounts.seconds(duration) is None:
            yield Note(spec.name, field_of, f"{duration!r} is no duration, and left out", "set timeoutSeconds")
    if spec.parallelism_spec and (spec.parallelism_spec.constant or 0) > _MOST_PARALLEL:
        problem = f"is {_MOST_PARALLEL:,} here, the most pods at once"
        yield Note(spec.name, "parallelismSpec.constant", problem, "nothing to do")
    for field_of, resources in (("resourceRequests", spec.resource_requests), ("resourceLimits", spec.resource_limits)):
        if resources and resources.memory and amounts.memory(resources.memory) is None:
            problem = f"{resources.memory!r} is no size, and left out"
            yield Note(spec.name, f"{field_of}.memory", problem, "set resources.memoryGib")


def _reserved(spec: Spec) -> Iterator[Note]:
    """Notes of requests and limits that differ: memory is reserved up to its limit, and CPUs have none."""
    requests, limits = spec.resource_requests or Resources(), spec.resource_limits or Resources()
    if limits.cpu and requests.cpu not in (None, 0, limits.cpu):
        problem = "left out: programs may use idle CPUs beyond their request"
        yield Note(spec.name, "resourceLimits.cpu", problem, "nothing to do")
    if requests.memory and not limits.memory:
        problem = "is the limit, too: a program that uses more is stopped"
        yield Note(spec.name, "resourceRequests.memory", problem, "set resources.memoryGib to the most that it uses")
    elif requests.memory and amounts.memory(requests.memory) != amounts.memory(limits.memory or ""):
        problem = f"left out: the limit, {limits.memory}, is reserved"
        yield Note(spec.name, "resourceRequests.memory", problem, "nothing to do")


def _gpus(spec: Spec) -> tuple[str, str, int]:
    """Where the spec asks for GPUs, their type and number."""
    for field_of, resources in (("resourceLimits", spec.resource_limits), ("resourceRequests", spec.resource_requests)):
        if resources and resources.gpu and resources.gpu.number:
            return f"{field_of}.gpu", resources.gpu.type or GPU_RESOURCE, resources.gpu.number
    return "", "", 0


def _gpu(spec: Spec, choice: Choice) -> Iterator[Note]:
    key, kind, _ = _gpus(spec)
    if key and kind != GPU_RESOURCE:
        yield Note(spec.name, f"{key}.type", f"{kind} is left out", "use NVIDIA's GPUs, with resources.gpus")
    elif key and choice.queue is None:
        yield Note(spec.name, key, "GPUs need a queue, and specs have none", "import with --queue, or set queue")


def _accelerator(spec: Spec, choice: Choice) -> dict[str, Any]:
    _, kind, count = _gpus(spec)
    return {"accelerator": choice.accelerator, "queue": choice.queue} if count and kind == GPU_RESOURCE else {}


def _resources(spec: Spec, choice: Choice) -> dict[str, Any]:
    requests, limits = spec.resource_requests or Resources(), spec.resource_limits or Resources()
    memory = amounts.memory(limits.memory or requests.memory or "")
    _, kind, count = _gpus(spec)
    found = {
        "cpus": requests.cpu or limits.cpu,
        "memoryGib": max(round(memory / _GIB, 4), _LEAST_GIB) if memory else None,
        "gpus": count if kind == GPU_RESOURCE and (count > 1 or not choice.accelerator) else None,
    }
    return {key: value for key, value in found.items() if value}
