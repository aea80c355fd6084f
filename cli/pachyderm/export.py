"""Pipelines as Pachyderm's specs, one for each stage."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Sequence
from typing import Any

from tensorplane.cli import stack_config
from tensorplane.cli.pachyderm import creation, expansion, export_notes, export_triggers, key_globs
from tensorplane.cli.pachyderm.names import unused
from tensorplane.cli.pachyderm.note import Note
from tensorplane.cli.pachyderm.spec import MASTER
from tensorplane.components.base.problems import did_you_mean
from tensorplane.components.catalog.rows import GPU_RESOURCE
from tensorplane.core.errors import UserError
from tensorplane.workloads.pipeline.settings import MAIN, PipelineSettings, StageArgs, StageInput
from tensorplane.workloads.pipeline.stage_pods import OUT, path_of

_PFS = "/pfs"
_GLOBS = {"whole": "/", "directory": "/*", "file": "/*"}
_JOINED = {"directory": "/(*)", "file": "/(**?).*"}
_SKIPS = ["true"]


def exported(pipelines: Sequence[str], stack: str) -> tuple[str, list[str]]:
    """The specs as text, and a line for each setting that has no equal. A UserError for names that are no pipelines."""
    declared = stack_config.load(stack_config.file(stack)).config.workloads
    known = {name: found for name, one in declared.items() if (found := _pipeline(one))}
    if not known:
        raise UserError(f"Pulumi.{stack}.yaml: has no pipelines; name another stack with --stack")
    if unknown := [name for name in pipelines if name not in known]:
        choices = ", ".join(known)
        raise UserError(
            *(f"{one}: is no pipeline; choose one of {choices}{did_you_mean(one, known)}" for one in unknown)
        )
    notes: list[Note] = []
    chosen = {name: settings for name, settings in known.items() if name in (pipelines or known)}
    made = creation.ordered([one for name, settings in chosen.items() for one in specs(name, settings, notes)])
    documents = [json.dumps(one, indent=2, ensure_ascii=False) + "\n" for one in made]
    lines = [f"{note}" for note in notes]
    if repos := creation.needed(made):
        create = "create each first with `pachctl create repo NAME`"
        lines.append(f"repos: no spec writes {', '.join(repos)}; {create}")
    return "---\n".join(documents), lines


def _pipeline(workload: object) -> PipelineSettings | None:
    return workload if isinstance(workload, PipelineSettings) else None


def specs(pipeline: str, settings: PipelineSettings, notes: list[Note]) -> Iterator[dict[str, Any]]:
    """The specs of the stages that have one, in their order. `notes` gets what has no equal."""
    if not settings.triggers:
        notes.append(
            Note(pipeline, "triggers", "there are none, but Pachyderm runs at every commit", "commit to another branch")
        )
    if any(stage.command and stage.cache and stage.reprocess == "all" for stage in settings.stages.values()):
        problem = "all has no equal: after an update, Pachyderm skips inputs that it had already"
        notes.append(Note(pipeline, "reprocess", problem, "use `pachctl update pipeline --reprocess`"))
    for name, stage in settings.stages.items():
        at = f"{pipeline}.stages.{name}"
        if without := export_notes.of_no_spec(at, stage):
            notes.append(without)
            continue
        notes += export_notes.of_stage(at, stage)
        notes += _of_branches(at, settings, stage)
        yield _spec(pipeline, settings, stage, notes)


def _of_branches(at: str, settings: PipelineSettings, stage: StageArgs) -> Iterator[Note]:
    for name, source in stage.inputs.items():
        if source.branch == MASTER:
            there = _branch(settings, source)
            problem = f"{MASTER} is {there} there, because {MASTER} is what {MAIN} becomes"
            yield Note(at, f"inputs.{name}.branch", problem, f"commit to {there}")


def _spec(pipeline: str, settings: PipelineSettings, stage: StageArgs, notes: list[Note]) -> dict[str, Any]:
    made: dict[str, Any] = {"pipeline": {"name": stage.output}, "transform": _transform(stage)}
    made["input"] = _input(pipeline, settings, stage, notes)
    made |= _limits(stage)
    if not stage.cache:
        made["reprocessSpec"] = "every_job"
    return made


def _transform(stage: StageArgs) -> dict[str, Any]:
    made: dict[str, Any] = {"image": stage.image} if stage.image else {}
    moved = {path_of(name, one): f"{_PFS}/{name}" for name, one in stage.inputs.items()}
    moved[stage.output_path or OUT] = f"{_PFS}/out"
    other = {path: there for path, there in moved.items() if path != there}
    folders = sorted({folder for path in other if (folder := path.rpartition("/")[0])})
    links = [f"mkdir -p {' '.join(map(shlex.quote, folders))}"] if folders else []
    links += [f"ln -sfn {shlex.quote(there)} {shlex.quote(path)}" for path, there in other.items()]
    words = [expansion.expanded(word, stage.params) for word in stage.command or ()]
    made["cmd"] = ["sh", "-c", "\n".join([*links, 'exec "$0" "$@"']), *words] if links else words
    if stage.params:
        made["env"] = dict(stage.params)
    if stage.may_fail:
        made["errCmd"] = list(_SKIPS)
    return made


def _limits(stage: StageArgs) -> dict[str, Any]:
    resources = stage.program_resources
    amounts: dict[str, Any] = {"cpu": resources.cpus, "memory": f"{round(resources.memory_gib * 1024)}Mi"}
    limits: dict[str, Any] = {"memory": amounts["memory"]}
    if resources.gpus:
        limits["gpu"] = {"type": GPU_RESOURCE, "number": resources.gpus}
    made: dict[str, Any] = {"resourceRequests": amounts, "resourceLimits": limits, "datumTries": stage.retries + 1}
    if any(not one.split.is_whole for one in stage.inputs.values()):
        made["parallelismSpec"] = {"constant": stage.parallel}
    if stage.timeout_seconds:
        made["datumTimeout"] = f"{stage.timeout_seconds}s"
    return made


def _input(pipeline: str, settings: PipelineSettings, stage: StageArgs, notes: list[Note]) -> dict[str, Any]:
    before = settings.before(stage)
    joined = stage.join == "name"
    apart = [name for name, one in stage.inputs.items() if joined and not one.split.is_whole]
    found = {name: {"pfs": _pfs(settings, name, one, joined=name in apart)} for name, one in stage.inputs.items()}
    for name, one in stage.inputs.items():
        if name not in before and settings.triggers:
            made, more = export_triggers.starts(pipeline, settings, one)
            notes += [note for note in more if note not in notes]
            if "trigger" in made:
                # Pachyderm makes the branch of a trigger, which names the one that it follows.
                made["trigger"] = {"branch": found[name]["pfs"].pop("branch"), **made["trigger"]}
            found[name]["pfs"] |= made
    members: list[dict[str, Any]] = [{"join": [found[name] for name in apart]}] if apart else []
    members += [one for name, one in found.items() if name not in apart]
    return members[0] if len(members) == 1 else {"cross": members}


def _branch(settings: PipelineSettings, source: StageInput) -> str:
    """The branch of an input. `main` is `master` there, so that a `master` gets another name."""
    if source.branch == MASTER:
        used = {one.branch for stage in settings.stages.values() for one in stage.inputs.values()}
        return unused(MASTER, used)
    return MASTER if source.branch == MAIN else source.branch


def _pfs(settings: PipelineSettings, name: str, source: StageInput, *, joined: bool) -> dict[str, Any]:
    by = source.split.by if source.split.batch is None else "file"
    made = {"name": name, "repo": source.dataset, "branch": _branch(settings, source)}
    if joined and source.key:
        captured = "/".join(f"${number + 1}" for number in range(source.key.groups))
        return {**made, "glob": key_globs.glob(source.key, by), "joinOn": captured}
    if joined:
        return {**made, "glob": _JOINED[by], "joinOn": "$1"}
    return {**made, "glob": _GLOBS[by]}
