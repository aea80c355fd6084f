"""Pods that the node of this machine cannot hold, from a recorded answer."""

from __future__ import annotations

import copy
from typing import Any

import pytest

import stack
from cli.commands.check import node_sizes
from components.base.settings import Settings
from tests.support.faults import put
from tests.support.rendering import PROJECT, settings_of


class Api:
    """The API server of a machine with two cores and 8 GiB."""

    def items(self, path: str) -> list[dict[str, Any]]:
        assert path == "/api/v1/nodes"
        return [{"status": {"allocatable": {"cpu": "2", "memory": "8388608Ki"}}}]


def _told(**changes: Any) -> list[str]:
    tree = copy.deepcopy(settings_of(PROJECT / "Pulumi.dev.yaml").tree)
    del tree["workloads"]["digits"]["queue"]
    for path, value in changes.items():
        put(tree, path, value)
    config = stack.load(Settings(tree))
    return [str(fault) for fault in node_sizes.faults(config, Api())]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("key", "value", "says"),
    [
        ("cpus", 5, "this machine has only 2 cores for pods; set less, or deploy to a larger cluster"),
        ("memoryGib", 8.5, "this machine has only 8 GiB for pods; set less, or deploy to a larger cluster"),
    ],
)
def test_a_pod_larger_than_the_machine_is_one_line(key: str, value: float, says: str) -> None:
    assert _told(**{f"workloads/digits/resources/{key}": value}) == [
        f"tensorplane:workloads.digits.resources.{key}: {says}"
    ]


def test_a_pod_of_the_machines_size_and_simulated_nodes_are_accepted() -> None:
    assert _told(**{"workloads/digits/resources/cpus": 2, "workloads/digits/resources/memoryGib": 8}) == []
    assert _told(nodeGroups={"cards": {"accelerator": "t4", "max": 1}}, **{"workloads/digits/resources/cpus": 5}) == []


def test_node_sizes_of_other_clusters_are_not_checked() -> None:
    other = {"kind": "existing", "context": "team"}
    assert _told(cluster=other, **{"workloads/digits/resources/cpus": 5}) == []
