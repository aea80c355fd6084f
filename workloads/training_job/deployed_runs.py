"""The runs of the last deployment, from the stack's outputs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pulumi

from tensorplane.components.base import outputs as base_outputs
from tensorplane.workloads.family import WorkloadArgs
from tensorplane.workloads.training_job.run import Recorded

Runs = Mapping[str, Recorded]


def reference() -> pulumi.StackReference:
    """The stack itself, with the outputs of its last deployment."""
    name = f"{pulumi.get_organization()}/{pulumi.get_project()}/{pulumi.get_stack()}"
    return pulumi.StackReference("deployed", stack_name=name)


def of_jobs(workloads: Mapping[str, WorkloadArgs], deployed: pulumi.StackReference) -> pulumi.Output[Runs]:
    """The run of each job, by name; empty without jobs, so that other stacks read nothing."""
    return recorded(deployed) if any(each.has_runs for each in workloads.values()) else pulumi.Output.from_input({})


def recorded(deployed: pulumi.StackReference) -> pulumi.Output[Runs]:
    """The run of each job, by name; empty before the first deployment."""
    outputs = pulumi.Output.all(deployed.get_output(base_outputs.VERSION_KEY), deployed.get_output("workloads"))
    # A secret output makes all outputs secret. These only decide names; secret settings mark the objects as secret.
    return pulumi.Output.unsecret(outputs.apply(lambda both: of(*both)))


def of(version: float | None, workloads: Mapping[str, Mapping[str, Any]] | None) -> Runs:
    """The runs in the outputs of workloads. Outputs of a newer version are refused."""
    # Otherwise, runs would start a second time.
    if refusal := base_outputs.too_new(version):
        raise pulumi.RunError(refusal)
    return {name: _run(outputs) for name, outputs in (workloads or {}).items() if outputs.get("jobSet")}


def _run(outputs: Mapping[str, Any]) -> Recorded:
    run = outputs.get("run")
    if run is None:
        return Recorded(outputs["jobSet"])
    return Recorded(run["name"], run["decisive"], run["manifest"], run["kept"], run.get("library"))


def output(run: Recorded) -> base_outputs.Run:
    """The output of a run for the next deployment."""
    decisive = dict(run.decisive or {})
    return base_outputs.Run(
        name=run.name, decisive=decisive, manifest=run.manifest, kept=run.is_kept, library=run.library or ""
    )


def unchanged(is_kept: pulumi.Output[bool]) -> pulumi.ResourceOptions:
    """Options that keep an object of a run unchanged, if the run is kept.

    `ignore_changes` must be known at registration; a transform can wait until it is known.
    """

    async def ignore_changes(args: pulumi.ResourceTransformArgs) -> pulumi.ResourceTransformResult | None:
        if not await is_kept.future():
            return None
        ignored = pulumi.ResourceOptions(ignore_changes=["metadata", "spec", "data", "binaryData"])
        return pulumi.ResourceTransformResult(args.props, pulumi.ResourceOptions.merge(args.opts, ignored))

    return pulumi.ResourceOptions(transforms=[ignore_changes])
