"""A node group of Karpenter: a NodePool selects machines, an EC2NodeClass configures them."""

from typing import Any

import pulumi
import pulumi_aws as aws
import pulumi_kubernetes as k8s

from tensorplane.components import versions
from tensorplane.components.base.labels import ARCHITECTURE, INSTANCE_TYPE, TENSORPLANE, ZONE
from tensorplane.components.clusters.eks import control_plane
from tensorplane.components.clusters.eks.context import Context
from tensorplane.components.clusters.eks.karpenter import Karpenter
from tensorplane.components.clusters.eks.launch_template import METADATA_HOPS, ROOT_DEVICE
from tensorplane.components.clusters.eks.network import Subnets
from tensorplane.components.clusters.eks.zones import zones_of
from tensorplane.components.node_groups.component import NodeGroup
from tensorplane.components.node_groups.shape import Shape

_CLASS_GROUP = "karpenter.k8s.aws"


def node_pool(
    context: Context,
    cluster: aws.eks.Cluster,
    subnets: Subnets,
    controller: Karpenter,
    provider: k8s.Provider,
    component: NodeGroup,
) -> k8s.apiextensions.CustomResource:
    """The pool. It is deleted before its controller, which terminates the machines."""
    shape = component.shape
    zones = zones_of(shape, context.args)
    metadata = {"name": shape.name, "labels": TENSORPLANE}
    node_class = k8s.apiextensions.CustomResource(
        shape.name,
        api_version=f"{_CLASS_GROUP}/v1",
        kind="EC2NodeClass",
        metadata=metadata,
        spec={
            "amiSelectorTerms": [{"alias": versions.KARPENTER_IMAGE}],
            "role": controller.node_role.role.name,
            "subnetSelectorTerms": [{"id": subnet} for subnet in subnets.of(zones)],
            "securityGroupSelectorTerms": [{"id": control_plane.security_group(cluster)}],
            "metadataOptions": {
                "httpEndpoint": "enabled",
                "httpTokens": "required",
                "httpPutResponseHopLimit": METADATA_HOPS,
            },
            "blockDeviceMappings": [
                {
                    "deviceName": ROOT_DEVICE,
                    "ebs": {
                        "volumeSize": f"{shape.args.disk_gib}Gi",
                        "volumeType": "gp3",
                        "encrypted": True,
                        "deleteOnTermination": True,
                    },
                }
            ],
            "tags": {"Name": f"{context.cluster_name}-{shape.name}", **context.tags},
            **_reservation(shape),
        },
        opts=pulumi.ResourceOptions(parent=component, provider=provider, depends_on=[controller.release]),
    )
    return k8s.apiextensions.CustomResource(
        shape.name,
        api_version="karpenter.sh/v1",
        kind="NodePool",
        metadata=metadata,
        spec={
            "template": {"metadata": {"labels": dict(shape.labels)}, "spec": _template(shape, zones)},
            "disruption": _disruption(shape),
            "limits": {"nodes": shape.args.max},
        },
        opts=pulumi.ResourceOptions(parent=component, provider=provider, depends_on=[node_class]),
    )


def _reservation(shape: Shape) -> dict[str, Any]:
    reserved = shape.args.reserved
    return {"capacityReservationSelectorTerms": [{"id": reserved.id}]} if reserved else {}


def _template(shape: Shape, zones: tuple[str, ...]) -> dict[str, Any]:
    return {
        "nodeClassRef": {"group": _CLASS_GROUP, "kind": "EC2NodeClass", "name": shape.name},
        "requirements": [
            {"key": key, "operator": "In", "values": values} for key, values in _requirements(shape, zones).items()
        ],
        "taints": [_taint(shape, index) for index in range(len(shape.declared_taints))],
        "expireAfter": _oldest(shape),
    }


def _oldest(shape: Shape) -> str:
    """The age at which a node is drained. Draining waits for pods that must not be disrupted, without a time limit.

    By default, nodes with accelerators have no maximum age, because they may be in the middle of a long run.
    """
    if days := shape.args.max_age_days:
        return f"{24 * days}h"
    return "Never" if shape.accelerator else "720h"


def _taint(shape: Shape, index: int) -> dict[str, str]:
    taint = shape.declared_taints[index]
    return {"key": taint.key, "value": taint.value, "effect": taint.effect}


def _requirements(shape: Shape, zones: tuple[str, ...]) -> dict[str, list[str]]:
    machine, args = shape.machine, shape.args
    unreserved = "spot" if args.spot else "on-demand"
    capacity = "reserved" if args.reserved else unreserved
    # Without `machine`, any with the accelerators: the pod decides the size.
    others = () if args.machine else shape.alternatives
    machines = [machine, *(other for other in others if machine and other.arch == machine.arch)] if machine else []
    return {
        INSTANCE_TYPE: [one.name for one in machines],
        ARCHITECTURE: sorted({one.arch for one in machines}),
        "karpenter.sh/capacity-type": [capacity],
        ZONE: list(zones),
    }


def _disruption(shape: Shape) -> dict[str, Any]:
    if shape.accelerator:
        # Moving a training job costs more than its node: only nodes without work are taken away. A new image reaches
        # the nodes that come after them.
        return {
            "consolidationPolicy": "WhenEmpty",
            "consolidateAfter": "10m",
            "budgets": [{"nodes": "0", "reasons": ["Drifted"]}, {"nodes": "100%", "reasons": ["Empty"]}],
        }
    return {"consolidationPolicy": "WhenEmptyOrUnderutilized", "consolidateAfter": "1m"}
