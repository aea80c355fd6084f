"""Node groups come and go: what holds bytes is the same before and after, and hangs on none of them."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tensorplane import stack
from tests.support import rendering
from tests.support.rendered_files import rendered_file
from tests.support.rendering import PROJECT, Registered, settings_of

HOLDING = (
    "kubernetes:core/v1:PersistentVolume",
    "kubernetes:storage.k8s.io/v1:",
    "tensorplane:index:Volume",
    "aws:efs/",
    "aws:fsx/",
    "aws:s3/",
    "azure-native:netapp:",
    "azure-native:storage",
    "gcp:filestore/",
    "gcp:lustre/",
    "gcp:storage/",
)
"""Claims, volumes, classes, file systems and buckets; beside them whatever is protected or kept, and no cluster."""
GROUPS = ("nodeGroup:NodeGroup", "nodePool:NodePool", ":NodeGroup", ":AgentPool", ":NodePool", "core/v1:Node")
FILES = sorted([*(PROJECT / "examples").glob("*.yaml"), *PROJECT.glob("Pulumi.*.yaml")])


def _with_both() -> list[Path]:
    trees = ((path, settings_of(path).tree) for path in FILES)
    return [path for path, tree in trees if tree.get("nodeGroups") and tree.get("volumes")]


def _one_of_each_kind() -> Iterator[Any]:
    """Those files, of which `make test` replaces the groups in the first of each kind of cluster."""
    kinds: set[str] = set()
    for path in _with_both():
        kind = settings_of(path).tree.get("cluster", {}).get("kind", "embedded")
        marks = [pytest.mark.nightly("another stack on such a cluster: two builds")] if kind in kinds else []
        kinds.add(kind)
        yield pytest.param(path, id=path.stem, marks=marks)


def _replaced(tree: Any) -> dict[str, Any]:
    """The same settings with other node groups in the place of all of these."""
    other: dict[str, Any] = copy.deepcopy(tree)
    other["nodeGroups"] = {f"{name}-new": group for name, group in other["nodeGroups"].items()}
    for queue in other.get("queues", {}).values():
        # A group with a taint of its own is a kind of machine by itself, named after it.
        named = tuple(f"-{group}" for group in tree["nodeGroups"])
        counts = queue.get("gpus", {}).items()
        queue["gpus"] = {f"{kind}-new" if kind.endswith(named) else kind: count for kind, count in counts}
    for workload in other.get("workloads", {}).values():
        if name := workload.get("resources", {}).get("nodeGroup"):
            workload["resources"]["nodeGroup"] = f"{name}-new"
    return other


def _groups(found: list[Registered]) -> set[str]:
    """As dependencies name them."""
    return {_name(one) for one in found if one.type.endswith(GROUPS)}


def _data(found: list[Registered]) -> list[Registered]:
    return [one for one in found if one.type.startswith(HOLDING) or _is_kept(one)]


def _is_kept(one: Registered) -> bool:
    # AKS has its first node group in the cluster itself, which is protected like the volumes.
    return any(one.options.get(key) for key in ("protect", "retainOnDelete")) and not one.type.endswith("Cluster")


@pytest.mark.parametrize("path", list(_one_of_each_kind()))
def test_replacing_every_node_group_touches_nothing_that_holds_bytes(path: Path) -> None:
    settings = settings_of(path)
    other = replace(settings, tree=_replaced(settings.tree))
    before = rendered_file(path).resources
    after = rendering.run(lambda: stack.build(stack.load(other))).resources
    assert _groups(before)
    assert not _groups(before) & _groups(after), "each of them is another one"
    assert _data(before)
    assert _data(before) == _data(after)


@pytest.mark.parametrize("path", _with_both(), ids=lambda path: path.stem)
def test_nothing_that_holds_bytes_hangs_on_a_node_group(path: Path) -> None:
    """Whatever is below a node group, or takes a value of it, may be replaced with it."""
    found = rendered_file(path).resources
    hanging = _groups(found)
    while more := {_name(one) for one in found if one.hangs_on & hanging} - hanging:
        hanging |= more
    assert not {_name(one) for one in _data(found)} & hanging


def _name(one: Registered) -> str:
    return f"{one.type.split(':')[-1]} {one.name}"
