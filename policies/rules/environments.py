"""What an environment may have at all: its own kinds of clusters, and facts that these rules understand."""

from __future__ import annotations

from collections.abc import Iterator

from gpu_usage import facts_version
from stack_view.rule import Config, Finding, Rule, Severity, of_each
from stack_view.schemas import strings
from stack_view.view import Resource, View

_CLUSTER = "tensorplane:index:Cluster"
# Clusters of clouds, whoever registers them.
_CLOUDS = {
    "aws:eks/cluster:Cluster": "eks",
    "gcp:container/cluster:Cluster": "gke",
    "azure-native:containerservice:ManagedCluster": "aks",
}


def _clusters(resource: Resource, view: View, config: Config) -> Iterator[Finding]:
    kind = resource.body.get("kind") if resource.type == _CLUSTER else _CLOUDS.get(resource.type)
    if kind is not None and config["clusters"] and kind not in config["clusters"]:
        problem = f"a cluster of kind {kind}; {view.stack} may have {', '.join(config['clusters'])}"
        yield Finding(problem, f"change `cluster.kind`, or add it to `clusters` in {view.config}")


def _version(resource: Resource, view: View, config: Config) -> Iterator[Finding]:
    if refusal := facts_version.too_new([resource]):
        problem, _, remedy = refusal.partition("; ")
        yield Finding(problem, remedy)


POLICIES = [
    Rule(
        of_each(_clusters),
        name="environment-clusters",
        description="The stack has only clusters of the kinds in `clusters`; empty allows all.",
        remedy="Use a cluster of an allowed kind.",
        severity=Severity.HIGH,
        tags=["environments"],
        config={"clusters": strings()},
    ),
    Rule(
        of_each(_version),
        name="facts-version",
        description="The stack's components register facts that these rules understand.",
        remedy="Use the policies of the stack's tensorplane.",
        severity=Severity.CRITICAL,
        tags=["environments"],
        needs_view=False,
    ),
]
