"""gpu-quota: the GPUs that a stack's workloads request stay within the stack's quota."""

from __future__ import annotations

import math
from collections.abc import Iterator

from gpu_usage.usage import Usage
from stack_view import amounts
from stack_view.rule import Config, Finding, Rule, Severity
from stack_view.schemas import counts
from stack_view.view import Resource, View


def _quota(view: View, config: Config) -> Iterator[tuple[Resource | None, Finding]]:
    usage = Usage(view, config["charts"])
    for resource, error in usage.uncountable:
        yield resource, Finding(error.problem, error.remedy)
    quota, requested = config.get("maxGpus", math.inf if usage.home else 0), usage.requests.total()
    if requested > quota:
        found = amounts.largest_first(usage.by_name())
        remedy = f"Request fewer in their settings, or raise gpu-quota.maxGpus in {view.config}"
        yield (
            None,
            Finding(
                f"The workloads request {requested} GPUs", f"the quota is {quota:.12g}. {found}. {remedy}", requested
            ),
        )


POLICIES = [
    Rule(
        _quota,
        name="gpu-quota",
        description="Workloads request at most `maxGpus` GPUs: 0 by default; on the embedded cluster, any number.",
        remedy="Request fewer GPUs in the workloads' settings, or raise gpu-quota.maxGpus for the stack.",
        severity=Severity.HIGH,
        tags=["gpu", "cost"],
        config={"maxGpus": {"type": "integer", "minimum": 0}, "charts": counts()},
    )
]
