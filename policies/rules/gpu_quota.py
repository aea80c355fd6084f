"""gpu-quota: the GPUs that a stack's workloads ask for stay within the stack's quota."""

from __future__ import annotations

from collections.abc import Iterator

from pulumi_policy import (
    EnforcementLevel,
    PolicyConfigSchema,
    PolicyResource,
    ReportViolation,
    Severity,
    StackValidationArgs,
    StackValidationPolicy,
)
from pulumi_policy.proxy import UnknownValueError

from rules import pod_gpus

# Components that register what they ask for as `gpus`. Others with such an output hold capacity (queues, node groups).
WORKLOADS = frozenset(
    {
        "tensorplane:index:ModelServer",
        "tensorplane:index:Pipeline",
        "tensorplane:index:Sweep",
        "tensorplane:index:TrainingJob",
    }
)


def _validate(args: StackValidationArgs, report: ReportViolation) -> None:
    quota = int(args.get_config().get("maxGpus", 0))
    asked: dict[str, int] = {}
    for resource in _counted(args.resources):
        who = f"{resource.name} ({_kind(resource)})"
        try:
            gpus = _gpus(resource)
        except UnknownValueError as unknown:
            path = ".".join(unknown.props)
            report(
                f"{who}: how many GPUs it asks for is not known before the update (`{path}`). {_ADVICE}", resource.urn
            )
        except pod_gpus.UncountableError as reason:
            report(f"{who}: {reason}. {_ADVICE}", resource.urn)
        else:
            asked[who] = asked.get(who, 0) + gpus
    total = sum(asked.values())
    if total > quota:
        found = ", ".join(f"{who}: {gpus}" for who, gpus in sorted(asked.items()) if gpus)
        message = f"The workloads ask for {total} GPUs; the quota is {quota}. {found}. {_change(args.resources)}"
        report(message, _stack(args.resources))


_ADVICE = "Give `gpus` as a plain number in the workload's settings"


def _stack(resources: list[PolicyResource]) -> str | None:
    # Named, because `pulumi policy analyze` (3.246) panics on a violation without a resource.
    return next((resource.urn for resource in resources if resource.resource_type == "pulumi:pulumi:Stack"), None)


def _change(resources: list[PolicyResource]) -> str:
    stack = resources[0].urn.split(":")[2]
    return f"Ask for fewer in their settings, or raise gpu-quota.maxGpus in policies/config.{stack}.json"


def _counted(resources: list[PolicyResource]) -> Iterator[PolicyResource]:
    """What counts, each GPU once: a workload stands for all that it made; what it made counts where it says nothing."""
    silent = {each.urn: each for each in resources if each.resource_type in WORKLOADS and not _registers(each)}
    for resource in resources:
        above = list(_ancestors(resource))
        if any(_registers(owner) for owner in above):
            silent.pop(resource.urn, None)
            continue
        if _registers(resource) or resource.resource_type.startswith("kubernetes:"):
            yield resource
        if _registers(resource) or pod_gpus.is_pod_bearing(resource.resource_type):
            for owner in above:
                silent.pop(owner.urn, None)
    yield from silent.values()


def _gpus(resource: PolicyResource) -> int:
    if _registers(resource):
        return pod_gpus.whole_number(resource.props["gpus"])
    if resource.resource_type in WORKLOADS:
        raise pod_gpus.UncountableError("it registers no `gpus`, and has no pods that could be counted instead")
    return pod_gpus.count(_kind(resource), resource.props)


def _registers(resource: PolicyResource) -> bool:
    # Not `in`: that reads the value, and reading an unknown one raises.
    return resource.resource_type in WORKLOADS and any(name == "gpus" for name in resource.props)


def _ancestors(resource: PolicyResource) -> Iterator[PolicyResource]:
    while parent := resource.parent:
        yield parent
        resource = parent


def _kind(resource: PolicyResource) -> str:
    return resource.resource_type.rpartition(":")[2]


POLICIES = [
    StackValidationPolicy(
        name="gpu-quota",
        display_name="GPU quota",
        description="The GPUs that a stack's workloads ask for stay within the stack's quota.",
        severity=Severity.HIGH,
        enforcement_level=EnforcementLevel.MANDATORY,
        tags=["gpu", "cost"],
        remediation_steps="Ask for fewer GPUs in the workloads' settings, or raise gpu-quota.maxGpus for the stack.",
        config_schema=PolicyConfigSchema(properties={"maxGpus": {"type": "integer", "minimum": 0, "default": 0}}),
        validate=_validate,
    )
]
