"""What a stack costs: the estimates of its node groups, queues and training jobs, from settings alone."""

from components.cost import groups, pods
from components.cost.estimate import Estimate
from components.queues import quota
from stack.resolved import ResolvedStack


def of(resolved: ResolvedStack) -> list[Estimate]:
    """The estimates that the stack's components register, without an engine: for settings that are not deployed."""
    return [
        *groups.of_fleet(resolved.fleet.groups.values()),
        *(quota.estimate(name, quotas) for name, quotas in sorted(resolved.quotas.items())),
        *(
            pods.run(name, workload.pod_sets(), resolved.fleet)
            for name, workload in sorted(resolved.workloads.items())
            if workload.has_runs
        ),
    ]
