"""What scales a model server or a scorer, as a child of its component."""

from __future__ import annotations

import pulumi
import pulumi_kubernetes as k8s

from tensorplane.workloads.model_server.exposure.component import custom
from tensorplane.workloads.pods.owner import Owner
from tensorplane.workloads.scaling import manifest as manifests
from tensorplane.workloads.scaling.settings import ScalingArgs
from tensorplane.workloads.scorer.settings import LagScalingArgs


def declare(owner: Owner, scaling: ScalingArgs, prometheus: str, depends_on: list[pulumi.Resource]) -> None:
    """Creates the autoscaler. `prometheus`: URL of the server with the metrics; `depends_on`: the Deployment, and the
    controllers that the stack installs."""
    if scaling.by_metrics:
        custom(owner, manifests.by_metrics(owner.identity, scaling, prometheus), depends_on)
    else:
        spec = manifests.by_cpu(owner.identity, scaling)["spec"]
        opts = pulumi.ResourceOptions(parent=owner.component, depends_on=depends_on)
        k8s.autoscaling.v2.HorizontalPodAutoscaler(owner.name, metadata=owner.metadata(), spec=spec, opts=opts)


def declare_by_lag(
    owner: Owner, scaling: LagScalingArgs, lag: manifests.Lag, depends_on: list[pulumi.Resource]
) -> None:
    """Creates the autoscaler of a scorer, as `declare` does for a server."""
    if username := manifests.username(owner.identity, lag):
        depends_on = [*depends_on, owner.config_map(username)]
    for made in manifests.by_lag(owner.identity, scaling, lag):
        depends_on = [*depends_on, custom(owner, made, depends_on)]
