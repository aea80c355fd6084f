"""Checks that no object of a pipeline has the name of another: the engine, or Kubernetes, would take only one."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from tensorplane.components.base.problems import Key, Problem
from tensorplane.workloads.family import WorkloadArgs
from tensorplane.workloads.pipeline.manifest import EXECUTOR_SUFFIX
from tensorplane.workloads.pipeline.settings import PipelineSettings, StageArgs
from tensorplane.workloads.pipeline.steps.agent import NAME_SUFFIX as STEPS_SUFFIX
from tensorplane.workloads.pipeline.triggers.agent import NAME_SUFFIX as TRIGGERS_SUFFIX
from tensorplane.workloads.scorer.settings import ScorerSettings

_API_SUFFIX, _SERVER_SUFFIX = "-api", "-server"


class _Object(NamedTuple):
    kind: str
    name: str
    """Without the hash that some names end with: Pulumi knows them without it."""


def find_problems(workloads: Mapping[Key, WorkloadArgs]) -> Iterator[Problem]:
    """Problems of workloads and stages whose objects have names of a pipeline's objects."""
    taken: dict[_Object, Key] = {}
    for at, pipeline in workloads.items():
        if not isinstance(pipeline, PipelineSettings):
            continue
        yield from _of_others(at, workloads)
        for made in _own(at[-1], pipeline):
            taken.setdefault(made, at)
    for at, pipeline in workloads.items():
        if isinstance(pipeline, PipelineSettings):
            for name, stage in pipeline.stages.items():
                yield from _stage(f"{at[-1]}-{name}", stage, (*at, "stages", name), taken)


def _of_others(at: Key, workloads: Mapping[Key, WorkloadArgs]) -> Iterator[Problem]:
    """Other workloads with the name of a pipeline's service account or NetworkPolicy."""
    pipeline = at[-1]
    if (other := (*at[:-1], f"{pipeline}{EXECUTOR_SUFFIX}")) in workloads:
        yield Problem(other, f"is also the name of the executor of pipeline {pipeline}; use another name", given=(at,))
    other = (*at[:-1], f"{pipeline}{_API_SUFFIX}")
    if _asks_servers(workloads.get(other)):
        problem = f"its NetworkPolicy {other[-1]}{_SERVER_SUFFIX} has the name of one of pipeline {pipeline}"
        yield Problem(other, f"{problem}; use another name", given=(at,))


def _asks_servers(workload: WorkloadArgs | None) -> bool:
    if isinstance(workload, PipelineSettings):
        return bool(workload.servers)
    return isinstance(workload, ScorerSettings)


def _stage(name: str, stage: StageArgs, at: Key, taken: dict[_Object, Key]) -> Iterator[Problem]:
    """The problem of a stage whose objects have a name that is taken, and is taken now. `name`: with the pipeline's."""
    for made in _of_stage(name, stage):
        if (other := taken.setdefault(made, at)) != at:
            of = f"stage {other[-1]} of pipeline {other[-3]}" if other[-2] == "stages" else f"pipeline {other[-1]}"
            problem = f"its {made.kind} {made.name} has the name of one of {of}"
            yield Problem(at, f"{problem}; use another name", given=(other,))
            return


def _own(name: str, pipeline: PipelineSettings) -> Iterator[_Object]:
    """The objects of a pipeline, besides those of its stages, that could have the name of a stage's."""
    for suffix in ("-runtime", STEPS_SUFFIX):
        yield _Object("ConfigMap", f"{name}{suffix}")
    for suffix in ("", "-kept", "-settings") if pipeline.triggers else ():
        yield _Object("ConfigMap", f"{name}{TRIGGERS_SUFFIX}{suffix}")


def _of_stage(name: str, stage: StageArgs) -> Iterator[_Object]:
    if (job := stage.job) is None:
        if stage.files:
            yield _Object("ConfigMap", name)
        return
    yield _Object("NetworkPolicy", f"{name}-peers")
    parts = {"runtime": True, "files": bool(job.sources), "packages": bool(job.packages)}
    yield from (_Object("ConfigMap", f"{name}-{part}") for part, exists in parts.items() if exists)
