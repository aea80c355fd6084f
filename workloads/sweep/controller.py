"""The controller of one sweep (`agents/sweep`): its rights, what it mounts, and where it notes the results."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pulumi
import pulumi_kubernetes as k8s

from agents.sweep.spec import RUN as RUN
from agents.sweep.spec import RUN_SUFFIX as RUN_SUFFIX
from agents.sweep.spec import placeholder as placeholder
from components.agent import lease as agent_lease
from components.agent.agent import TO_API_SERVER, Agent, Mount, Rights
from components.base.labels import TRIAL, labels
from components.base.names import digest
from workloads.sweep import controller_objects
from workloads.sweep.controller_objects import (
    CONTROLLER,
    DESCRIPTION,
    FILE,
    NAME_SUFFIX,
    RESOURCES,
    RESULTS,
    RESULTS_SUFFIX,
    trial_run,
)

_TMP_MIB = 16


@dataclass(frozen=True)
class Request:
    """What a sweep asks of its controller."""

    name: str
    """The workload's name, which its trials have as a label."""
    image: str
    """An image with Python and Optuna."""
    claim: str
    """Claim of the volume with the checkpoints."""
    pod_labels: Mapping[str, str]
    """Labels of pods that mount it."""
    path: str
    """Where the volume is mounted, as in the trials' pods."""
    folder: str
    """Folder of the checkpoints, with the volume's path."""
    trials: int
    """The number of trials, which the controller may create."""
    trial: Mapping[str, Any]
    """The trials' volumes, model and queue, as in the settings: what publishing the best one requires."""


def declare(
    request: Request,
    run: pulumi.Output[str],
    description: pulumi.Output[Mapping[str, Any]],
    *,
    namespace: pulumi.Input[str],
    opts: pulumi.ResourceOptions,
) -> None:
    """Create the controller. `run`: of the sweep. `description`: what the agent's `Sweep.read` reads, but the logs."""
    name = f"{request.name}{NAME_SUFFIX}"
    results = _results(request, run, namespace, opts)
    agent = Agent(
        "sweep",
        name=name,
        component=CONTROLLER,
        namespace=namespace,
        image=request.image,
        resources=RESOURCES,
        rights=[Rights(name, [*_rules(run, request.trials), agent_lease.rule(name)], namespace)],
        egress=[TO_API_SERVER],
        leased=True,
        opts=opts,
    )
    text = description.apply(lambda found: json.dumps({**found, "logs": f"{request.folder}/logs"}, sort_keys=True))
    made = k8s.core.v1.ConfigMap(
        f"{request.name}-sweep",
        metadata={
            "name": text.apply(lambda content: f"{request.name}-sweep-{digest(content)}"),
            "namespace": namespace,
            "labels": labels(name, CONTROLLER),
        },
        immutable=True,
        data={FILE: text},
        opts=opts,
    )
    pod = agent.pod(
        [
            f"{DESCRIPTION}/{FILE}",
            run.apply(lambda resolved: f"{request.folder}/sweeps/{resolved}.journal"),
            namespace,
            request.name,
        ],
        mounts=[
            Mount({"name": "sweep", "config_map": {"name": made.metadata["name"]}}, DESCRIPTION),
            Mount(
                {"name": "checkpoints", "persistent_volume_claim": {"claim_name": request.claim}},
                request.path,
                read_only=False,
            ),
        ],
        tmp_mib=_TMP_MIB,
    )
    agent.deployment(pod, needed=[results], pod_labels=request.pod_labels)


def _rules(run: pulumi.Output[str], trials: int) -> Any:
    return controller_objects.rules(
        run.apply(lambda resolved: [f"{resolved}{RESULTS_SUFFIX}"]),
        run.apply(lambda resolved: [trial_run(resolved, number) for number in range(trials)]),
    )


def _results(
    request: Request, run: pulumi.Output[str], namespace: pulumi.Input[str], opts: pulumi.ResourceOptions
) -> "k8s.core.v1.ConfigMap":
    """The results of a run, which own its trials' JobSets: those of another run are deleted with its results."""
    return k8s.core.v1.ConfigMap(
        f"{request.name}-results",
        metadata={
            "name": run.apply(lambda resolved: f"{resolved}{RESULTS_SUFFIX}"),
            "namespace": namespace,
            "labels": labels(request.name, RESULTS),
            "annotations": {TRIAL: json.dumps(request.trial, sort_keys=True)},
        },
        opts=pulumi.ResourceOptions.merge(opts, pulumi.ResourceOptions(ignore_changes=["data"])),
    )
