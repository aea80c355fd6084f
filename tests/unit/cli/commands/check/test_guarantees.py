"""GPUs that several stacks promise on one cluster, from recorded answers of its API server."""

from __future__ import annotations

from typing import Any

import pytest

from tensorplane import stack
from tensorplane.cli.commands.check import guarantees
from tensorplane.cli.commands.check.guarantees import GpuGuarantees, Guarantee
from tensorplane.components.base.settings import Settings
from tensorplane.stack import ResolvedStack

OURS = "tensorplane-dev"
L4 = {"tensorplane.dev/flavor": "l4", "tensorplane.dev/accelerator": "l4"}
T4 = {"tensorplane.dev/flavor": "t4", "tensorplane.dev/accelerator": "t4"}
EXISTING = {"kind": "existing", "context": "team"}


def resolved(gpus: dict[str, dict[str, int]], **more: Any) -> ResolvedStack:
    """A stack whose settings describe two nodes with four L4 each, and its queues with their GPUs."""
    tree: dict[str, Any] = {
        "cluster": EXISTING,
        "namespace": OURS,
        "nodeGroups": {"cards": {"accelerator": "l4", "perNode": 4, "max": 2}, "plain": {"max": 3}},
        "queues": {name: {"gpus": each, "cpus": 8, "memoryGib": 32} for name, each in gpus.items()},
        **more,
    }
    return stack.load(Settings({key: value for key, value in tree.items() if value is not None}))


def problems(
    config: ResolvedStack, *others: Guarantee, nodes: tuple[tuple[dict[str, str], int], ...] = ()
) -> list[str]:
    return [
        str(fault).removeprefix("tensorplane:") for fault in guarantees.problems(config, GpuGuarantees(nodes, others))
    ]


def test_what_others_leave_is_the_most() -> None:
    theirs = Guarantee("tensorplane-vision", L4, 6)
    assert problems(resolved({"train": {"l4": 8}}), theirs) == [
        "queues.train.gpus.l4: promises 8 GPUs, but of the cluster's 8, tensorplane-vision promises 6; "
        "lower it to 2, or lower the quotas there"
    ]
    assert problems(resolved({"train": {"l4": 2}}), theirs) == []


def test_promises_of_several_are_added_and_named() -> None:
    theirs = [
        Guarantee("tensorplane-a", L4, 2),
        Guarantee("tensorplane-a", L4, 2),
        Guarantee("ClusterQueue batch", {}, 4),
    ]
    assert problems(resolved({"train": {"l4": 1}}), *theirs) == [
        "queues.train.gpus.l4: promises 1 GPU, but of the cluster's 8, ClusterQueue batch promises 4, "
        "tensorplane-a promises 4; remove it, or lower the quotas there"
    ]


def test_own_queues_share_what_is_left_in_order() -> None:
    config = resolved({"first": {"l4": 3}, "second": {"l4": 3}})
    (line,) = problems(config, Guarantee("tensorplane-vision", L4, 4))
    assert line.startswith("queues.second.gpus.l4: promises 3 GPUs")
    assert "lower it to 1, or" in line


def test_other_nodes_do_not_count() -> None:
    assert problems(resolved({"train": {"l4": 8}}), Guarantee("tensorplane-vision", T4, 8)) == []


def test_without_others_the_settings_alone_decide() -> None:
    assert problems(resolved({"train": {"l4": 8}}), nodes=((L4, 4),)) == []


def test_nodes_of_other_groups_count_too() -> None:
    """Each stack may describe its own groups of the cluster."""
    nodes = tuple((dict(L4), 4) for _ in range(4))
    theirs = Guarantee("tensorplane-vision", L4, 8)
    assert problems(resolved({"train": {"l4": 8}}), theirs, nodes=nodes) == []
    (line,) = problems(resolved({"train": {"l4": 8}}), theirs, nodes=nodes[:3])
    assert "of the cluster's 12" in line
    assert "lower it to 4" in line


def test_without_node_groups_the_nodes_are_counted() -> None:
    config = resolved({"train": {"any": 3}}, nodeGroups=None)
    theirs = Guarantee("tensorplane-vision", L4, 2)
    (line,) = problems(config, theirs, nodes=((L4, 4),))
    assert line.startswith("queues.train.gpus.any: promises 3 GPUs, but of the cluster's 4,")
    assert problems(config, theirs) == [], "groups that are scaled to zero have an unknown number"


class Api:
    """The API server of a cluster with a queue of this stack, of another one, and of somebody else."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def items(self, path: str) -> list[dict[str, Any]]:
        self.asked.append(path)
        name = path.rpartition("/")[2]
        return {"resourceflavors": FLAVORS, "clusterqueues": QUEUES, "nodes": NODES}[name]


def _queue(name: str, flavor: str, gpus: object, **labels: str) -> dict[str, Any]:
    resources = [{"name": "cpu", "nominalQuota": "4"}, {"name": "nvidia.com/gpu", "nominalQuota": gpus}]
    groups = [{"coveredResources": [], "flavors": [{"name": flavor, "resources": resources}]}]
    return {"metadata": {"name": name, "labels": labels}, "spec": {"resourceGroups": groups}}


_PART = {"app.kubernetes.io/part-of": "tensorplane"}
FLAVORS: list[dict[str, Any]] = [
    {"metadata": {"name": "tensorplane-vision-l4"}, "spec": {"nodeLabels": L4}},
    {"metadata": {"name": "everything"}},
]
QUEUES: list[dict[str, Any]] = [
    _queue("tensorplane-dev-train", "tensorplane-dev-l4", "8", **_PART, **{"app.kubernetes.io/name": "train"}),
    _queue("tensorplane-dev-2-train", "tensorplane-vision-l4", "3", **_PART, **{"app.kubernetes.io/name": "train"}),
    _queue("tensorplane-vision-no", "tensorplane-vision-l4", 0, **_PART, **{"app.kubernetes.io/name": "no"}),
    _queue("batch", "everything", "1k"),
    {"metadata": {"name": "empty"}, "spec": {}},
]
NODES: list[dict[str, Any]] = [
    {"metadata": {"labels": L4}, "status": {"allocatable": {"cpu": "8", "nvidia.com/gpu": "4"}}},
    {"metadata": {"labels": {}}, "status": {"allocatable": {"cpu": "8"}}},
]


def test_facts_are_of_queues_that_are_not_the_stacks_own() -> None:
    facts = GpuGuarantees.of(Api(), OURS)  # type: ignore[arg-type]
    assert facts.of_others == (Guarantee("tensorplane-dev-2", L4, 3), Guarantee("ClusterQueue batch", {}, 1000))
    assert facts.nodes == ((L4, 4),)


@pytest.mark.parametrize(
    "more",
    [{"cluster": None}, {"queues": {"train": {"cpus": 1, "memoryGib": 4}}}],
    ids=["a cluster that one stack has", "no quota of GPUs"],
)
def test_no_other_stack_is_asked_for(more: dict[str, Any]) -> None:
    api = Api()
    assert list(guarantees.problems_in_cluster(resolved({"train": {"l4": 8}}, **more), api)) == []  # type: ignore[arg-type]
    assert api.asked == []


def test_live_facts_decide() -> None:
    (fault,) = guarantees.problems_in_cluster(resolved({"train": {"l4": 8}}), Api())  # type: ignore[arg-type]
    assert fault.path == ("queues", "train", "gpus", "l4")
