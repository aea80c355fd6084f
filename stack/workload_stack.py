"""The resources of a workload stack: its workloads alone, on the cluster of its platform's stack."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pulumi

from tensorplane.components.base import encrypted, outputs, stack_name
from tensorplane.components.base.labels import STACK
from tensorplane.components.clusters.component import Cluster
from tensorplane.stack.resolved import ResolvedStack
from tensorplane.version import __version__
from tensorplane.workloads.component import Platform, Space
from tensorplane.workloads.training_job import deployed_runs


def build(resolved: ResolvedStack, platform: str) -> Mapping[str, Any]:
    """Creates the workloads and returns the stack's outputs. `platform`: the stack that has the cluster."""
    config = resolved.config
    cluster = Cluster("cluster", config.cluster, resolved.fleet, platform=platform)
    inside = pulumi.ResourceOptions(provider=cluster.provider)
    known = resolved.platform
    spaces = {team: _space(namespace) for team, namespace in known.teams.items()}
    namespace = _space(known.namespace)
    runs = deployed_runs.of_jobs(resolved.workloads, deployed_runs.reference())
    # The rest is there: the platform has created it.
    on = Platform(cluster, namespace, {}, {}, {}, spaces, known, (), runs, resolved.secret)
    workloads = {name: args.build(name, ("workloads", name), on, inside) for name, args in resolved.workloads.items()}
    return {
        outputs.VERSION_KEY: outputs.VERSION,
        outputs.PROGRAM_KEY: __version__,
        "platform": platform,
        "cluster": config.cluster.kind,
        "namespace": known.namespace,
        "gpus": sum(workload.gpus for workload in workloads.values()),
        "workloads": {name: encrypted.concealed(dict(workload.outputs)) for name, workload in workloads.items()},
    }


def _space(namespace: str) -> Space:
    # The namespace has objects of several stacks.
    return Space(namespace, namespace, labels={STACK: stack_name.current()})
