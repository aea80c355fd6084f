"""Asks the cluster and the settings about one run of a pipeline."""

from __future__ import annotations

from datetime import datetime

from tensorplane.cli import stack_config
from tensorplane.cli.access import Access
from tensorplane.cli.api_values import Object
from tensorplane.cli.kueue import workloads
from tensorplane.cli.kueue.objects import KUEUE, ClusterObjects
from tensorplane.cli.pipelines import details, pods, workflow
from tensorplane.cli.pipelines.cost import Prices
from tensorplane.cli.pipelines.details import Details
from tensorplane.cli.training_jobs import listing as jobs
from tensorplane.components.base.price import Usd
from tensorplane.components.node_groups.fleet import Fleet
from tensorplane.core.errors import UserError
from tensorplane.workloads.pipeline import run as pipeline_run
from tensorplane.workloads.pipeline.settings import StageArgs
from tensorplane.workloads.pipeline.workload import PipelineArgs


class Asker:
    """Answers about runs, with the prices of the settings as they are at the beginning."""

    def __init__(self, access: Access) -> None:
        self._access = access
        self._fleet, self._stages, self._missing = _settings(access.stack)

    def details(self, name: str, now: datetime) -> Details:
        """The newest run of a pipeline, or the run of this name. A UserError if there is none."""
        run, *_ = workflow.of_name(self._access, name)
        pipeline = workflow.pipeline_of(run)
        there = self._access.api.items(pipeline_run.path(pipeline_run.WORKFLOWS, self._access.namespace))
        others = workflow.chosen(there, pipeline)
        prices = Prices(self._fleet, self._stages.get(pipeline, {}), self._jobs(run, now), self._missing)
        return details.of(run, others, prices, now)

    def _jobs(self, run: Object, now: datetime) -> dict[str, Usd | None]:
        """What the jobs of its stages have cost so far."""
        api, found = self._access.api, dict[str, Usd | None]()
        templates = {node.get("templateName") for node in workflow.nodes(run).values()}
        for stage in workflow.stages(run):
            if f"{stage}-job" in templates:
                works = workloads.works(
                    ClusterObjects("", workloads=api.items(f"{KUEUE}/namespaces/{self._access.namespace}/workloads"))
                )
                flavors = api.items(f"{KUEUE}/resourceflavors")
                costs = [one.usd for one in jobs.list_jobs(pods.job_sets(api, run, stage), works, flavors, now)]
                known = [usd for usd in costs if usd is not None]
                found[stage] = sum(known, Usd(0, 0)) if len(known) == len(costs) else None
        return found


def _settings(stack: str) -> tuple[Fleet, dict[str, dict[str, StageArgs]], str]:
    """The stack's node groups, the stages of its pipelines, and why they are unknown; empty if they are not."""
    try:
        resolved = stack_config.load(stack_config.file(stack))
    except UserError as error:
        return Fleet(), {}, f"the settings of stack {stack} have faults ({str(error).splitlines()[0]})"
    declared = resolved.config.workloads.items()
    return (
        resolved.fleet,
        {name: dict(args.stages) for name, args in declared if isinstance(args, PipelineArgs)},
        "",
    )
