"""What pods cost: their share of the nodes that they may run on."""

from __future__ import annotations

import pytest

from tensorplane.components.base.model import Resources
from tensorplane.components.clusters.eks import Eks
from tensorplane.components.cost import pods as cost
from tensorplane.components.node_groups import fleet
from tensorplane.components.node_groups.fleet import Fleet
from tensorplane.components.node_groups.settings import NodeGroupArgs
from tensorplane.components.queues.capacity import PodSet


@pytest.fixture(scope="module")
def machines() -> Fleet:
    groups = {
        "cpu": NodeGroupArgs.model_validate({"machine": "m7i.2xlarge", "min": 1, "max": 4}),
        "old": NodeGroupArgs.model_validate({"accelerator": "t4", "perNode": 1, "min": 0, "max": 4}),
        "new": NodeGroupArgs.model_validate({"accelerator": "h100-80gb", "perNode": 8, "min": 0, "max": 2}),
    }
    found, wrong = fleet.of(groups, Eks(region="us-west-2").cluster_properties)
    assert not wrong
    return found


def _pods(count: int = 1, **resources: object) -> PodSet:
    return PodSet("worker", count, Resources.model_validate(resources), together=True, interruptible=False)


def _hourly(machines: Fleet, group: str) -> float:
    found = machines.groups[group].hourly_usd
    assert found
    return found


def test_a_pod_with_all_gpus_of_a_node_costs_the_node(machines: Fleet) -> None:
    found = cost.of([_pods(2, gpus=8, accelerator="h100-80gb")], machines)
    assert found
    assert found.low == found.high == pytest.approx(2 * _hourly(machines, "new"))


def test_a_pod_with_one_of_eight_gpus_costs_an_eighth(machines: Fleet) -> None:
    found = cost.of([_pods(gpus=1, accelerator="h100-80gb")], machines)
    assert found
    assert found.low == pytest.approx(_hourly(machines, "new") / 8)


def test_a_pod_that_takes_half_of_the_memory_costs_half(machines: Fleet) -> None:
    found = cost.of([_pods(cpus=1, memoryGib=16)], machines)
    assert found
    assert found.low == pytest.approx(_hourly(machines, "cpu") / 2)


def test_a_choice_of_accelerators_has_a_range(machines: Fleet) -> None:
    found = cost.of([_pods(gpus=1)], machines)
    assert found
    assert found.low == pytest.approx(min(_hourly(machines, "old"), _hourly(machines, "new") / 8))
    assert found.high == pytest.approx(max(_hourly(machines, "old"), _hourly(machines, "new") / 8))


def test_without_prices_the_cost_is_unknown() -> None:
    assert cost.of([_pods()], Fleet()) is None
