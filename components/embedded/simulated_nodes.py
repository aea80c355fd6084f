"""Nodes that KWOK plays the kubelet of: no machine, and for the scheduler the same as a cloud's."""

import json
from typing import get_args

import pulumi
import pulumi_kubernetes as k8s

from components import catalog, quantity
from components.catalog import Cloud
from components.node_group import SIMULATED, Shape, Taint

TAINT = Taint(SIMULATED, "fake", "NoSchedule")
"""Keeps away what is meant to run: nothing runs on these nodes."""
SIZE = "tensorplane.dev/simulated-size"
"""Annotation with a node's resources, which KWOK copies into its status as a kubelet would those of its machine."""

_CPUS, _MEMORY_GIB, _PODS = 16, 64, 110
_SECONDS_TO_READY = "60s"


def count(shape: Shape) -> int:
    """How many nodes a group gets: its `min`, and one where that is 0, for the scheduler to see."""
    return max(shape.args.min, 1)


def declare(shape: Shape, opts: pulumi.ResourceOptions) -> list[k8s.core.v1.Node]:
    """The group's nodes, Ready once KWOK has seen them."""
    return [_node(f"{shape.name}-{index}", shape, opts) for index in range(count(shape))]


def _node(name: str, shape: Shape, opts: pulumi.ResourceOptions) -> k8s.core.v1.Node:
    cpus, memory_gib, arch = _machine_like(shape)
    size = {
        "cpu": quantity.cpus(cpus),
        "memory": quantity.gibibytes(memory_gib),
        "ephemeral-storage": quantity.gibibytes(shape.args.disk_gib),
        "pods": str(_PODS),
        **{resource: str(number) for resource, number in shape.resources.items()},
    }
    return k8s.core.v1.Node(
        name,
        metadata={
            "name": name,
            "labels": {
                "kubernetes.io/hostname": name,
                "kubernetes.io/os": "linux",
                "kubernetes.io/arch": arch,
                "type": "kwok",
                SIMULATED: TAINT.value,
                **shape.labels,
            },
            "annotations": {
                SIMULATED: TAINT.value,
                SIZE: json.dumps(size, sort_keys=True),
                "pulumi.com/waitFor": "condition=Ready",
                # Kubernetes writes its own taints into the same list.
                "pulumi.com/patchForce": "true",
            },
        },
        spec={"taints": [{"key": t.key, "value": t.value, "effect": t.effect} for t in shape.taints]},
        opts=pulumi.ResourceOptions.merge(
            opts,
            pulumi.ResourceOptions(
                # Another machine is another node, as it is in a cloud.
                replace_on_changes=[f'metadata.annotations["{SIZE}"]'],
                delete_before_replace=True,
                custom_timeouts=pulumi.CustomTimeouts(create=_SECONDS_TO_READY, update=_SECONDS_TO_READY),
            ),
        ),
    )


def _machine_like(shape: Shape) -> tuple[float, float, str]:
    """Processors, memory in GiB and architecture: of the smallest machine that any cloud rents with these cards."""
    card = shape.accelerator
    if card is None:
        return _CPUS, _MEMORY_GIB, "amd64"
    rented = [machine for cloud in get_args(Cloud) for machine in catalog.offers(cloud, card.name, shape.per_node)]
    if not rented:
        return _CPUS * shape.per_node, max(_MEMORY_GIB, card.memory_gib) * shape.per_node, "amd64"
    smallest = min(rented, key=lambda machine: (machine.vcpus, machine.memory_gib))
    return smallest.vcpus, smallest.memory_gib, smallest.arch
