"""gpu-quota: the GPUs that a stack's workloads request stay within the stack's quota."""

from __future__ import annotations

from gpu_usage import facts_version
from gpu_usage.usage import Usage
from pulumi_policy import (
    EnforcementLevel,
    PolicyConfigSchema,
    ReportViolation,
    Severity,
    StackValidationArgs,
    StackValidationPolicy,
)


def _validate(args: StackValidationArgs, report: ReportViolation) -> None:
    # The stack is named, because `pulumi policy analyze` (3.246) panics on a violation without a resource.
    stack = next((one.urn for one in args.resources if one.resource_type == "pulumi:pulumi:Stack"), None)
    if refusal := facts_version.too_new(args.resources):
        report(refusal, stack)
        return
    quota = int(args.get_config().get("maxGpus", 0))
    usage = Usage(args, report)
    asked = usage.total()
    if asked.total() > quota:
        found = ", ".join(f"{who}: {gpus}" for who, gpus in sorted(asked.items()) if gpus)
        remedy = f"Request fewer in their settings, or raise gpu-quota.maxGpus in {usage.config}"
        report(f"The workloads request {asked.total()} GPUs; the quota is {quota}. {found}. {remedy}", stack)


_CHARTS = {"type": "object", "additionalProperties": {"type": "integer", "minimum": 0}, "default": {}}

POLICIES = [
    StackValidationPolicy(
        name="gpu-quota",
        display_name="GPU quota",
        description="The GPUs that a stack's workloads request stay within the stack's quota.",
        severity=Severity.HIGH,
        enforcement_level=EnforcementLevel.MANDATORY,
        tags=["gpu", "cost"],
        remediation_steps="Request fewer GPUs in the workloads' settings, or raise gpu-quota.maxGpus for the stack.",
        config_schema=PolicyConfigSchema(
            properties={"maxGpus": {"type": "integer", "minimum": 0, "default": 0}, "charts": _CHARTS}
        ),
        validate=_validate,
    )
]
