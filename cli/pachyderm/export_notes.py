"""Settings of pipelines that Pachyderm has no equal for: what becomes of each, and what to do."""

from __future__ import annotations

from collections.abc import Iterator

from tensorplane.cli.pachyderm import key_globs
from tensorplane.cli.pachyderm.note import Note
from tensorplane.workloads.pipeline.settings import StageArgs, StageInput

_SELECT = "set schedulingSpec.nodeSelector in the spec"


def of_no_spec(at: str, stage: StageArgs) -> Note | None:
    """The note of a stage that becomes no spec; None for one that does. `at`: its path."""
    if stage.job:
        problem = "a training job has no equal, so this stage has no spec"
        return Note(at, "job", problem, "train with one program in a pipeline, or with Determined")
    if stage.publish:
        problem = "a model server has no equal, so this stage has no spec"
        return Note(at, "publish", problem, "serve what is in the repo of its input with a server of your own")
    return None


def of_stage(at: str, stage: StageArgs) -> Iterator[Note]:
    """Notes of a stage and its inputs. `at`: its path."""
    if stage.image is None:
        yield Note(at, "image", "is missing, and Pachyderm would take ubuntu:20.04", "set image")
    if stage.files:
        yield Note(at, "files", "left out: programs get no files", "build them into the image")
    if stage.queue:
        yield Note(at, "queue", "left out: Pachyderm has no queues", "set a quota of its namespace")
    if stage.program_resources.accelerator is not None:
        yield Note(at, "accelerator", "the number of GPUs is kept, and their model is left out", _SELECT)
    if stage.resources.node_group is not None:
        yield Note(at, "resources.nodeGroup", "left out", _SELECT)
    if stage.resources.extended:
        yield Note(at, "resources.extended", "left out", "set podPatch in the spec")
    if stage.may_fail:
        problem = "errCmd lets any number of datums fail"
        yield Note(at, "mayFail", problem, "look at them with `pachctl list datum`")
    if stage.server:
        problem = "left out: nothing sets MODEL_URL"
        yield Note(at, "server", problem, "set it in transform.env to the address of a server of your own")
    for name, source in stage.inputs.items():
        joined = stage.join == "name" and not source.split.is_whole
        yield from _of_input(at, f"inputs.{name}", source, joined=joined)


def _of_input(at: str, key: str, source: StageInput, *, joined: bool) -> Iterator[Note]:
    if source.split.batch:
        problem = "each file is a datum, because Pachyderm gives a program one at a time"
        yield Note(at, f"{key}.split", problem, "let the program work on one file")
    elif source.split.by == "file" and joined:
        problem = "folders that match the glob are datums, too"
        yield Note(at, f"{key}.split", problem, "give them other names")
    elif source.split.by == "file":
        problem = "with glob /*, files in a folder are one datum"
        yield Note(at, f"{key}.split", problem, "if all files are in folders, set glob to /*/*")
    if joined:
        yield from _of_key(at, key, source)
    if source.columns:
        yield Note(at, f"{key}.columns", "left out: repos have no schemas", "check them in the program")


def _of_key(at: str, key: str, source: StageInput) -> Iterator[Note]:
    by = source.split.by if source.split.batch is None else "file"
    if source.key is None:
        problem = "by default, a file without an ending in its name finds no partner in Pachyderm"
        if by == "directory":
            problem = "by default, the ending of a file at the top is part of its key in Pachyderm"
        yield Note(at, f"{key}.key", problem, "set key")
    elif problem := key_globs.differs(source.key, by) or "":
        yield Note(at, f"{key}.key", problem, "set key to another pattern")
