"""Fields of Pachyderm's specs that have no equal: what becomes of each, and what to do."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pydantic.alias_generators import to_camel

from tensorplane.cli.pachyderm.note import Note
from tensorplane.cli.pachyderm.spec import DEFAULT_PROJECT, Input, Part, Spec

_NOTHING = "nothing to do"
_NODES = "set resources.nodeGroup, whose taints the pods tolerate"

WITHOUT_COUNTERPART: Mapping[str, tuple[str, str]] = {
    "autoscaling": ("left out: there are pods only while there are parts to work on", _NOTHING),
    "datumSetSpec.number": (
        "left out: each part has a pod",
        "if the program can work on several files at once, set split to {batch: …}",
    ),
    "datumSetSpec.perWorker": ("left out: each part has a pod", _NOTHING),
    "datumSetSpec.sizeBytes": ("left out: batches are counted in files", "set split to {batch: …}"),
    "determined": ("left out", "for training jobs, use a stage with `job`"),
    "dryRun": ("left out: it is about the command", "see changes with `tensorplane preview`"),
    "egress.URL": (
        "left out: versions stay in the dataset",
        "copy them with `tensorplane data get`, or to a bucket in a stage of your own",
    ),
    "egress.objectStorage": (
        "left out: versions stay in the dataset",
        "copy them with `tensorplane data get`, or to a bucket in a stage of your own",
    ),
    "egress.sqlDatabase": (
        "left out: versions stay in the dataset",
        "load them into the database with a program of your own, after `tensorplane data get`",
    ),
    "maximumExpectedUptime": ("left out", "set timeoutSeconds, which stops pods"),
    "metadata.annotations": ("left out", _NOTHING),
    "metadata.labels": ("left out", _NOTHING),
    "parallelismSpec.coefficient": ("left out: it is of Pachyderm 1", "set parallel, the most pods at once"),
    "podPatch": ("left out: pods cannot be patched", "look for settings that do the same in docs/pipelines.md"),
    "podSpec": ("left out: pods cannot be patched", "look for settings that do the same in docs/pipelines.md"),
    "resourceLimits.disk": ("left out", "give nodes disks that hold /pfs/out of their pods"),
    "resourceRequests.disk": ("left out", "give nodes disks that hold /pfs/out of their pods"),
    "s3Out": ("left out: there is no gateway of S3", "let the program write files to /pfs/out"),
    "salt": (
        "left out: results are kept by stage and input",
        "to work on all inputs again, set reprocess: all",
    ),
    "schedulingSpec.nodeSelector": ("left out", _NODES),
    "schedulingSpec.priorityClassName": ("left out: queues have priorities", "set queue"),
    "sidecarResourceLimits": ("left out: there is no sidecar of this kind", _NOTHING),
    "sidecarResourceRequests": ("left out: there is no sidecar of this kind", _NOTHING),
    "tolerations": ("left out", _NODES),
    "transform.datumBatching": (
        "left out: the program would ask Pachyderm for its next datum",
        "let it work on all files in its input, and set split to {batch: …}",
    ),
    "transform.debug": ("left out", "see what a run does with `tensorplane runs`"),
    "transform.dockerfile": ("left out: images are not built here", "build and push it"),
    "transform.imagePullSecrets": (
        "left out",
        "add imagePullSecrets to the `default` ServiceAccount (docs/training-pods.md#images)",
    ),
    "transform.memoryVolume": ("left out: /pfs/out is on the node's disk", _NOTHING),
    "transform.secrets": (
        "left out: programs of stages get no Secrets",
        "make it a stage with `job`, whose `env` takes {secret: NAME, key: KEY}",
    ),
    "transform.user": ("left out: all programs run as user 65532", "let the image work with any user"),
    "update": ("left out: it is about the command", _NOTHING),
}
"""Fields by their path in the spec."""

OF_INPUTS: Mapping[str, tuple[str, str]] = {
    "emptyFiles": ("left out: the files have their contents, and are not copied", _NOTHING),
    "lazy": ("left out: files are mounted, not copied", _NOTHING),
    "reference": ("left out", _NOTHING),
    "s3": ("left out: there is no gateway of S3", "let the program read files in /pfs"),
    "commit": (
        "left out: a run begins with the newest version of a branch",
        "make a branch of it with `tensorplane data branch`, and set branch",
    ),
    "start": ("left out", _NOTHING),
}
"""Fields of inputs by their name."""

CONVERTED = frozenset(
    {
        "description",
        "input",
        "datumTimeout",
        "datumTries",
        "jobTimeout",
        "outputBranch",
        "parallelismSpec.constant",
        "pipeline.name",
        "pipeline.project",
        "reprocess",
        "reprocessSpec",
        "resourceLimits.cpu",
        "resourceLimits.gpu.number",
        "resourceLimits.gpu.type",
        "resourceLimits.memory",
        "resourceRequests.cpu",
        "resourceRequests.gpu.number",
        "resourceRequests.gpu.type",
        "resourceRequests.memory",
        "service",
        "spout",
        "tfJob",
        "transform.acceptReturnCode",
        "transform.cmd",
        "transform.env",
        "transform.errCmd",
        "transform.errStdin",
        "transform.image",
        "transform.stdin",
        "transform.workingDir",
    }
)
"""Fields that have an equal, or of which the conversion tells more."""


def notes(spec: Spec) -> Iterator[Note]:
    """Notes of the fields that are set, apart from the input's."""
    if spec.project != DEFAULT_PROJECT:
        yield Note(spec.name, "pipeline.project", "left out: datasets and stages have no projects", _NOTHING)
    for path, value in _given(spec):
        if path == "input" or path.startswith("input."):
            continue
        if known := _nearest(path):
            if _says_something(value):
                yield Note(spec.name, known, *WITHOUT_COUNTERPART[known])
        elif not any(f"{path}.".startswith(f"{one}.") for one in CONVERTED):
            yield Note(spec.name, path, "unknown, and left out", "compare it with Pachyderm's pipeline specification")


def of_input(pipeline: str, at: str, part: Part) -> Iterator[Note]:
    """Notes of the fields that an input sets."""
    for field, value in part.model_dump(by_alias=True, exclude_none=True).items():
        if field in OF_INPUTS and _says_something(value):
            yield Note(pipeline, f"{at}.{field}", *OF_INPUTS[field])
    yield from _unknown(pipeline, at, part)


def of_inputs(pipeline: str, at: str, given: Input) -> Iterator[Note]:
    """Notes of unknown fields beside the kind of an input, in all that are in it."""
    yield from _unknown(pipeline, at, given)
    for kind in ("cross", "join", "group", "union"):
        for index, member in enumerate(getattr(given, kind) or ()):
            yield from of_inputs(pipeline, f"{at}.{kind}[{index}]", member)


def _unknown(pipeline: str, at: str, part: Part) -> Iterator[Note]:
    for field in part.model_extra or {}:
        yield Note(pipeline, f"{at}.{field}", "unknown, and left out", "compare it with Pachyderm's documentation")
    for name, inner in part:
        if isinstance(inner, Part) and not isinstance(part, Input):
            yield from _unknown(pipeline, f"{at}.{to_camel(name)}", inner)


def _says_something(value: Any) -> bool:
    return value not in (None, False, "", 0, [], {})


def _nearest(path: str) -> str | None:
    return next((one for one in WITHOUT_COUNTERPART if f"{path}.".startswith(f"{one}.")), None)


def _given(part: Part) -> Iterator[tuple[str, Any]]:
    """The paths of all values that are set, without those below a path of the table."""
    paths: set[str] = set()
    for path, value in _leaves(part.model_dump(by_alias=True, exclude_none=True)):
        shown = _nearest(path) or path
        if shown not in paths:
            paths.add(shown)
            yield shown, value


def _leaves(tree: Mapping[str, Any], at: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in tree.items():
        path = f"{at}{key}"
        if isinstance(value, Mapping) and path not in WITHOUT_COUNTERPART:
            yield from _leaves(value, f"{path}.")
        else:
            yield path, value
