"""Settings of a pipeline, without the workload's kind."""

from collections.abc import Mapping
from typing import Annotated

from pydantic import Field

from components.base.model import Model, Name
from workloads.pipeline.input_settings import MAIN, StageInput
from workloads.pipeline.stage_settings import StageArgs
from workloads.pipeline.triggers.settings import TriggerArgs


class PipelineSettings(Model):
    """Stages that make versions of datasets from versions of others."""

    stages: Annotated[dict[Name, StageArgs], Field(min_length=1)]
    """Its stages. A stage that reads the output of another one runs after it."""

    triggers: Annotated[dict[Name, TriggerArgs], Field(default_factory=dict)]
    """What starts runs, by names of your choice: `new: {}` for each new version. Without any, only `tensorplane runs
    start` does. The same pipeline on the same versions is one run, until something else replaces what it made."""

    @property
    def writers(self) -> Mapping[str, str]:
        """The stage that writes each dataset; of two, the first."""
        return {stage.output: name for name, stage in reversed(self.stages.items())}

    def before(self, stage: StageArgs) -> dict[str, str]:
        """The stages whose output a stage reads, by the name of the input."""
        return {
            name: self.writers[each.dataset]
            for name, each in stage.inputs.items()
            if each.dataset in self.writers and each.branch == MAIN
        }

    @property
    def sources(self) -> dict[str, StageInput]:
        """What a run begins with: inputs that no stage writes, by the names of the run's parameters."""
        found = {}
        for stage in self.stages.values():
            made = self.before(stage)
            found.update({parameter(one): one for name, one in stage.inputs.items() if name not in made})
        return dict(sorted(found.items()))

    def counted(self, trigger: TriggerArgs) -> list[str]:
        """The parameters of a run whose datasets a trigger counts. Unknown names are left out."""
        asked = trigger.datasets
        return [name for name, one in self.sources.items() if asked is None or named(one) in asked]

    @property
    def published_to(self) -> list[str]:
        """The model servers that get models of its stages, as `SERVER` or `SERVER/MODEL`."""
        return sorted({stage.publish for stage in self.stages.values() if stage.publish})

    @property
    def servers(self) -> list[str]:
        """The names of the model servers that its pods ask."""
        found = {server for stage in self.stages.values() for server in (stage.publish, stage.server) if server}
        return sorted({each.partition("/")[0] for each in found})

    @property
    def datasets(self) -> list[str]:
        """All datasets that its stages read and write."""
        stages = self.stages.values()
        return sorted({one.dataset for stage in stages for one in stage.inputs.values()} | {*self.writers})


def named(source: StageInput) -> str:
    """A source as DATASET, or DATASET@BRANCH."""
    return source.dataset if source.branch == MAIN else f"{source.dataset}@{source.branch}"


def parameter(source: StageInput) -> str:
    """The name of the parameter of a run with the version of a source. Argo allows no dots in it."""
    if source.branch == MAIN:
        return source.dataset
    return f"{source.dataset}_{source.branch.replace('_', '__').replace('.', '_d')}"
