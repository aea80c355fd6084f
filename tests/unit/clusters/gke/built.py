"""What the tests of GKE share: settings in short, and what a cluster with some node groups registers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pulumi

from tensorplane.components.clusters.gke import Gke
from tensorplane.components.node_groups.resolve import resolve
from tensorplane.components.node_groups.settings import NodeGroupArgs
from tensorplane.components.node_groups.shape import Shape
from tests.support import rendering
from tests.support.rendering import Rendered

CPU: Mapping[str, Any] = {"machine": "n2-standard-8", "min": 2, "max": 4}


def cluster(**settings: Any) -> Gke:
    """Settings of a cluster: the required ones, and those that are given."""
    return Gke.model_validate({"project": "acme-ml", "region": "us-central1", **settings})


def shapes(args: Gke, groups: Mapping[str, Mapping[str, Any]]) -> dict[str, Shape]:
    """The groups' shapes on the cluster."""
    found = {}
    for name, settings in groups.items():
        shape, faults = resolve(name, NodeGroupArgs.model_validate({"max": 4, **settings}), args.cluster_properties)
        assert shape is not None, [str(fault) for fault in faults]
        found[name] = shape
    return found


def rendered(groups: Mapping[str, Mapping[str, Any]], **settings: Any) -> Rendered:
    """What a cluster with these groups registers, whether or not its region sells them all."""
    args = cluster(**settings)
    made = shapes(args, groups)
    return rendering.run(lambda: {"native": args.connect("cluster", made, pulumi.ResourceOptions()).native.cluster.id})


def problems(groups: Mapping[str, Mapping[str, Any]] | None = None, **settings: Any) -> list[str]:
    """What GKE's own checks find."""
    args = cluster(**settings)
    return [str(fault) for fault in args.check(shapes(args, groups or {"cpu": CPU}))]
