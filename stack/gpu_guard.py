"""Who gets GPUs and their like on the stack's cluster, and how the cluster enforces it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tensorplane.components.admission import gpu_guard, job_policies
from tensorplane.components.admission.namespaces import Spaces
from tensorplane.components.admission.policy import AdmissionPolicy
from tensorplane.components.base import outputs as base_outputs
from tensorplane.components.base.sdk import pulumi
from tensorplane.components.catalog import GPU_RESOURCE
from tensorplane.components.teams import team as teams_team
from tensorplane.stack.resolved import ResolvedStack

if TYPE_CHECKING:
    from tensorplane.components.namespace.component import Namespace

_WARNS = (
    "gpusInOtherNamespaces: pods with GPUs that no queue and no setting gives them are only warned about, because an"
    " earlier version deployed this stack; look with: tensorplane check --cluster, then set it to deny, warn or allow"
)


@dataclass(frozen=True)
class Guard:
    """What becomes of pods with accelerators that nobody gave them: `deny` or `warn`."""

    own: pulumi.Output[str]
    """In the stack's own namespace, where there are no queues. The next deployment reads it in the outputs."""
    other: pulumi.Output[str] | None
    """In namespaces that no stack manages; None: nothing."""


def chosen(resolved: ResolvedStack, deployed: pulumi.StackReference) -> Guard:
    """Deny on a new cluster. A stack that an earlier version deployed may have pods that restart: it warns, until the
    settings say otherwise."""
    if written := resolved.config.gpus_in_other_namespaces:
        other = pulumi.Output.from_input(str(written)) if _is_elsewhere(resolved) else None
        return Guard(pulumi.Output.from_input("deny"), other)
    # Every version has this output.
    outputs = pulumi.Output.all(deployed.get_output("workloads"), deployed.get_output(base_outputs.GPU_GUARD_KEY))
    action = pulumi.Output.unsecret(outputs.apply(lambda both: _of(*both)))
    return Guard(action, action if _is_elsewhere(resolved) else None)


def _is_elsewhere(resolved: ResolvedStack) -> bool:
    """Whether pods in namespaces that no stack manages are judged, too."""
    written = resolved.config.gpus_in_other_namespaces
    return written != "allow" if written else resolved.config.cluster.kind != "existing"


def _of(workloads: Mapping[str, Any] | None, recorded: str | None) -> str:
    action = recorded or ("deny" if workloads is None else "warn")
    if action == "warn":
        pulumi.log.warn(_WARNS)
    return action


def declare(
    resolved: ResolvedStack,
    guard: Guard,
    namespace: Namespace,
    teams: Mapping[str, pulumi.Input[str]],
    opts: pulumi.ResourceOptions,
) -> list[pulumi.Resource]:
    """Creates quotas and policies; jobs depend on what is returned. `teams`: the teams' namespaces."""
    spaces = spaces_of(resolved)
    own = None if resolved.config.queues else guard.own
    _limits(resolved, own, namespace, teams, opts)
    return [*gpu_guard.declare(spaces, own, guard.other, opts), *job_policies.declare(spaces, opts)]


def _limits(
    resolved: ResolvedStack,
    action: pulumi.Output[str] | None,
    namespace: Namespace,
    teams: Mapping[str, pulumi.Input[str]],
    opts: pulumi.ResourceOptions,
) -> None:
    """ResourceQuotas as a second line of defence: what pods of each namespace may hold, with or without a queue."""
    config, quotas = resolved.config, resolved.quotas
    unqueued = (workload.accelerators_without_queue for workload in config.workloads.values())
    own = sum(unqueued, _gpus(teams_team.gpus_at_most(config.queues, quotas, None)))
    gpu_guard.limit(namespace.plain_name, namespace.name, own, opts, action)
    for name, inside in teams.items():
        offered, wanted = teams_team.gpus_at_most(config.queues, quotas, name), config.teams[name].gpus
        gpu_guard.limit(name, inside, _gpus(offered if wanted is None else wanted), opts)


def _gpus(count: int) -> Counter[str]:
    return Counter({GPU_RESOURCE: count})


def policies(resolved: ResolvedStack) -> list[AdmissionPolicy]:
    """All of the guard that the cluster has once the stack is deployed."""
    spaces = spaces_of(resolved)
    other = [gpu_guard.other_policy(spaces)] if _is_elsewhere(resolved) else []
    return [*gpu_guard.own_policies(spaces), *other, *job_policies.policies(spaces)]


def spaces_of(resolved: ResolvedStack) -> Spaces:
    """The namespaces in which only queues give GPUs, and the declared workloads without a queue."""
    config, quotas = resolved.config, resolved.quotas
    return Spaces(
        stack=config.namespace_name,
        teams={
            space: [queue for queue, one in config.queues.items() if name in one.teams]
            for name, space in config.team_namespaces.items()
        },
        unqueued=[name for name, workload in config.workloads.items() if workload.accelerators_without_queue],
        kinds={name: [each.flavor for each in found] for name, found in quotas.items()},
        only_job_sets=config.controllers.kueue == "chart",
        pods="argo_workflows" in config.controllers_of_workloads,
        installs_jobset=config.controllers.jobset == "chart" and "jobset" in config.controllers_of_workloads,
    )
