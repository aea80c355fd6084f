"""Checks of the model servers that stages of pipelines publish to, or whose models their programs ask."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from components.base.problems import Key, Problem
from workloads.family import Declared, WorkloadArgs
from workloads.model_server import checks as model_server_checks
from workloads.model_server import model_sources
from workloads.model_server.settings import ServerSettings
from workloads.pipeline.settings import PipelineSettings
from workloads.pipeline.stage_settings import StageArgs
from workloads.pods import checks as pods_checks

_OF_PUBLISH = frozenset({"inputs", "output", "publish", "retries", "timeout_seconds"})
"""The settings of a stage that publishes."""


def find_problems(stage: StageArgs, name: str, at: Key, declared: Declared) -> Iterator[Problem]:
    """Problems of a stage's server. `name`: that of the pipeline."""
    if stage.server:
        yield from model_server_checks.check_server_name(stage.server, (*at, "server"), declared)
    if not stage.publish:
        return
    where = (*at, "publish")
    for field in sorted(stage.model_fields_set - _OF_PUBLISH):
        key = StageArgs.model_fields[field].alias or field
        reason = "is about stages that run a program, and this one publishes a model; remove it, or publish"
        yield Problem((*at, key), reason, given=(where,))
    if len(stage.inputs) > 1:
        reason = f"{len(stage.inputs)} inputs, but one has the model; keep one"
        yield Problem((*at, "inputs"), reason, given=(where,))
    for key, source in stage.inputs.items():
        if not source.split.is_whole:
            reason = "is set, but this stage publishes all files together; remove it"
            yield Problem((*at, "inputs", key, "split"), reason, given=(where,))
    yield from model_server_checks.check_server_name(stage.publish, where, declared)
    if folder := declared.models.get(stage.publish):
        for problem in pods_checks.check_access(name, folder.volume, where, declared.volumes, read_only=False):
            yield replace(problem, given=(*problem.given, ("workloads", stage.publish.partition("/")[0])))


def find_problems_between(workloads: Mapping[Key, WorkloadArgs]) -> Iterator[Problem]:
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
