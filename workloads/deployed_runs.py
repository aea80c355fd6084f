"""The runs of the stack's jobs as they were deployed last, from the stack's own outputs."""

from collections.abc import Mapping
from typing import Any

import pulumi

from components.base import facts
from workloads.base import WorkloadArgs
from workloads.manifests.run import Recorded

Runs = Mapping[str, Recorded]


def recorded(workloads: Mapping[str, WorkloadArgs]) -> pulumi.Output[Runs]:
    """The run of each job by the job's name; none before the stack is deployed first."""
    if not any(workload.has_runs for workload in workloads.values()):
        return pulumi.Output.from_input({})
    name = f"{pulumi.get_organization()}/{pulumi.get_project()}/{pulumi.get_stack()}"
    deployed = pulumi.StackReference("deployed", stack_name=name)
    outputs = pulumi.Output.all(deployed.get_output(facts.VERSION_KEY), deployed.get_output("workloads"))
    # A secret among the outputs makes all of them secret. They only decide a name; settings make objects secret.
    return pulumi.Output.unsecret(outputs.apply(lambda both: of(*both)))


def of(version: float | None, workloads: Mapping[str, Mapping[str, Any]] | None) -> Runs:
    """The runs among the outputs of workloads; those of facts that are too new are refused."""
    # Taken for new ones, runs would begin again beside those that are there.
    if refusal := facts.too_new(version):
        raise pulumi.RunError(refusal)
    return {name: _run(outputs) for name, outputs in (workloads or {}).items() if outputs.get("jobSet")}


def _run(outputs: Mapping[str, Any]) -> Recorded:
    run = outputs.get("run")
    if run is None:
        return Recorded(outputs["jobSet"])
    return Recorded(run["name"], run["decisive"], run["manifest"], run["kept"])


def fact(run: Recorded) -> facts.Run:
    """What the next deployment reads of a run."""
    return facts.Run(name=run.name, decisive=dict(run.decisive or {}), manifest=run.manifest, kept=run.kept)


def unchanged(kept: pulumi.Output[bool]) -> pulumi.ResourceOptions:
    """Options by which an object of a run stays as it was deployed, if the run is kept.

    What changes of a resource are ignored must be known when it is registered. Transforms can wait until it is.
    """

    async def ignore_changes(args: pulumi.ResourceTransformArgs) -> pulumi.ResourceTransformResult | None:
        if not await kept.future():
            return None
        ignored = pulumi.ResourceOptions(ignore_changes=["metadata", "spec", "data", "binaryData"])
        return pulumi.ResourceTransformResult(args.props, pulumi.ResourceOptions.merge(args.opts, ignored))

    return pulumi.ResourceOptions(transforms=[ignore_changes])
