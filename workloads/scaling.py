"""What scales a model server or a scorer, as a child of its component."""

import pulumi
import pulumi_kubernetes as k8s

from workloads.manifests import scaling as manifests
from workloads.manifests.objects import Manifest
from workloads.owner import Owner
from workloads.settings.scaling import ScalingArgs
from workloads.settings.scorer import LagScalingArgs


def declare(owner: Owner, scaling: ScalingArgs, prometheus: str | None, needed: list[pulumi.Resource]) -> None:
    """Create the autoscaler. `prometheus`: URL of the server with the metrics; `needed`: the Deployment, and the
    controllers that the stack installs."""
    opts = pulumi.ResourceOptions(parent=owner.component, depends_on=needed)
    if scaling.controller == "keda":
        _scaled_object(owner, manifests.by_metrics(owner.identity, scaling, prometheus or ""), opts)
    else:
        spec = manifests.by_cpu(owner.identity, scaling)["spec"]
        k8s.autoscaling.v2.HorizontalPodAutoscaler(owner.name, metadata=owner.metadata(), spec=spec, opts=opts)


def declare_by_lag(
    owner: Owner, scaling: LagScalingArgs, prometheus: str | None, needed: list[pulumi.Resource]
) -> None:
    """Create the autoscaler of a scorer, as `declare` does for a server."""
    opts = pulumi.ResourceOptions(parent=owner.component, depends_on=needed)
    _scaled_object(owner, manifests.by_lag(owner.identity, scaling, prometheus or ""), opts)


def _scaled_object(owner: Owner, made: Manifest, opts: pulumi.ResourceOptions) -> None:
    k8s.apiextensions.CustomResource(
        owner.name,
        api_version=made["apiVersion"],
        kind=made["kind"],
        metadata=owner.metadata(),
        spec=made["spec"],
        opts=opts,
    )
