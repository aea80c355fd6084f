"""Nodes simulated by KWOK: without a machine, but for the scheduler like those of a cloud."""

from __future__ import annotations

import json
from typing import Any

from tensorplane.components.base import quantities
from tensorplane.components.base.labels import (
    ARCHITECTURE,
    HOSTNAME,
    PATCH_FORCE,
    SIMULATED,
    SIMULATED_VALUE,
    WAIT_FOR,
    ZONE,
)
from tensorplane.components.base.sdk import k8s, pulumi
from tensorplane.components.node_groups import node_size
from tensorplane.components.node_groups.shape import Shape
from tensorplane.components.node_groups.taint import Taint

TAINT = Taint(SIMULATED, SIMULATED_VALUE, "NoSchedule")
"""Taint that keeps real workloads away, because nothing runs on these nodes."""
SIZE = "tensorplane.dev/simulated-size"
"""Annotation with a node's resources, which KWOK copies into its status."""

_PODS = 110
_SECONDS_TO_READY = "60s"


def count(shape: Shape) -> int:
    """Number of nodes of a group: its `min`, but at least one, for the scheduler."""
    return max(shape.args.min, 1)


def declare(shape: Shape, opts: pulumi.ResourceOptions) -> list[k8s.core.v1.Node]:
    """The group's nodes, which KWOK makes Ready."""
    return [_declare(shape, index, opts) for index in range(count(shape))]


def manifest(shape: Shape, index: int) -> dict[str, Any]:
    """The manifest of one node."""
    name = f"{shape.name}-{index}"
    machine = node_size.like_a_machine(shape)
    size = {
        "cpu": quantities.cpus(machine.cpus),
        "memory": quantities.gibibytes(machine.memory_gib),
        "ephemeral-storage": quantities.gibibytes(shape.args.disk_gib),
        "pods": str(_PODS),
        **{resource: str(number) for resource, number in shape.resources.items()},
    }
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "labels": {
                HOSTNAME: name,
                "kubernetes.io/os": "linux",
                ARCHITECTURE: machine.arch,
                "type": "kwok",
                **_zone(shape, index),
                SIMULATED: TAINT.value,
                **shape.labels,
            },
            "annotations": {SIMULATED: TAINT.value, SIZE: json.dumps(size, sort_keys=True)},
        },
        "spec": {"taints": [{"key": t.key, "value": t.value, "effect": t.effect} for t in shape.taints]},
    }


def _zone(shape: Shape, index: int) -> dict[str, str]:
    """The zones in turn, as in a cloud."""
    zones = shape.args.zones
    return {ZONE: zones[index % len(zones)]} if zones else {}


def _declare(shape: Shape, index: int, opts: pulumi.ResourceOptions) -> k8s.core.v1.Node:
    made = manifest(shape, index)
    metadata: dict[str, Any] = made["metadata"]
    for_pulumi = {
        WAIT_FOR: "condition=Ready",
        # Kubernetes adds its own taints to this list.
        PATCH_FORCE: "true",
    }
    about: Any = {**metadata, "annotations": {**metadata["annotations"], **for_pulumi}}
    return k8s.core.v1.Node(
        metadata["name"],
        metadata=about,
        spec=made["spec"],
        opts=pulumi.ResourceOptions.merge(
            opts,
            pulumi.ResourceOptions(
                # A change of the machine replaces the node, as in a cloud.
                replace_on_changes=[f'metadata.annotations["{SIZE}"]'],
                delete_before_replace=True,
                custom_timeouts=pulumi.CustomTimeouts(create=_SECONDS_TO_READY, update=_SECONDS_TO_READY),
            ),
        ),
    )
