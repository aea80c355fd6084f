"""What the stages of a run have cost: the price of what their pods asked for, for the time that they ran. Pure.

Argo notes how long each pod held its memory, which leaves out what a pod waited for its queue and its image.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from tensorplane.cli.api_values import Object
from tensorplane.cli.pipelines import stage_spec, workflow
from tensorplane.components.base.model import Resources
from tensorplane.components.base.price import Usd
from tensorplane.components.catalog import GPU_RESOURCE
from tensorplane.components.cost import pods
from tensorplane.components.cost.estimate import HOUR
from tensorplane.components.node_groups.fleet import Fleet
from tensorplane.components.queues.capacity import PodSet
from tensorplane.workloads.pipeline.settings import KEEPER, OVERHEAD, StageArgs

_GIB = 2**30
_UNIT = 100 * 2**20
"""Bytes of which Argo counts the seconds."""
_EXECUTOR_BYTES = (OVERHEAD.memory_gib - KEEPER.memory_gib) * _GIB


@dataclass(frozen=True)
class Prices:
    """What the price of a pipeline's pods follows from."""

    fleet: Fleet = field(default_factory=Fleet)
    stages: Mapping[str, StageArgs] = field(default_factory=dict)
    """The settings of the pipeline's stages: which GPUs they ask for."""
    jobs: Mapping[str, Usd | None] = field(default_factory=dict)
    """What the jobs of stages that are jobs have cost; None where that is unknown."""
    missing: str = ""
    """Why nothing of this is known; empty if it is."""


@dataclass(frozen=True)
class Cost:
    """The cost of a stage so far."""

    usd: Usd | None = None
    missing: str = ""
    """Why it is unknown; empty if it is known, or nothing has run."""


def of(run: Object, stage: str, prices: Prices, now: datetime) -> Cost:
    """The cost of a stage so far."""
    if prices.missing:
        return Cost(missing=prices.missing)
    total, ran = Usd(0, 0), False
    for template, seconds in _seconds(run, stage, now):
        ran = True
        estimate = pods.run(stage, [_pods(run, stage, template, prices.stages.get(stage))], prices.fleet)
        hourly = estimate.figures[HOUR]
        if hourly is None:
            return Cost(missing=estimate.missing)
        total += hourly * (seconds / 3600)
    if stage in prices.jobs:
        job = prices.jobs[stage]
        if job is None:
            return Cost(missing="the price of the nodes of its job is unknown")
        total, ran = total + job, True
    return Cost(total) if ran else Cost()


def total(costs: Iterator[Cost]) -> Usd | None:
    """The cost of all; None if that of one is unknown, or nothing has run."""
    found = [cost for cost in costs if cost.usd or cost.missing]
    known = [cost.usd for cost in found if cost.usd]
    return sum(known, Usd(0, 0)) if known and len(known) == len(found) else None


def _seconds(run: Object, stage: str, now: datetime) -> Iterator[tuple[str, float]]:
    """Seconds that the pods of each template have run. The pod that waits for a job asks for next to nothing."""
    found: dict[str, float] = {}
    for node in workflow.nodes(run).values():
        step = workflow.step_of(node, stage)
        if node["type"] == "Pod" and step not in ("", "job"):
            template = node["templateName"]
            found[template] = found.get(template, 0.0) + _ran(run, node, now)
    yield from found.items()


def _ran(run: Object, node: workflow.Node, now: datetime) -> float:
    if node["phase"] in ("Pending", "Running"):
        return (workflow.seconds(node, now) or 0.0) if node["phase"] == "Running" else 0.0
    held = (node.get("resourcesDuration") or {}).get("memory", 0) * _UNIT
    return float(held / (stage_spec.requests(run, node["templateName"]).get("memory", 0) + _EXECUTOR_BYTES))


def _pods(run: Object, stage: str, template: str, args: StageArgs | None) -> PodSet:
    """A pod of a template. Which GPUs it has, only the settings say."""
    requested = stage_spec.requests(run, template)
    sizes = {"cpus": requested.get("cpu", 0.0), "memory_gib": requested.get("memory", 0.0) / _GIB}
    gpus = int(requested.get(GPU_RESOURCE, 0))
    of_program = args.program_resources if args and gpus else Resources()
    resources = of_program.model_copy(update={**sizes, "gpus": gpus})
    retried = args is None or args.retries > 0
    return PodSet(stage, 1, resources, together=False, interruptible=retried)
