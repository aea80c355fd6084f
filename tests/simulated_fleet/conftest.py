"""The example of a simulated fleet, deployed once on a cluster of the tests' own, and pods to try on it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
import yaml

from tensorplane.components import versions
from tensorplane.components.base.labels import NODE_GROUP
from tensorplane.components.base.model import Resources
from tensorplane.components.clusters.embedded import Embedded
from tensorplane.components.node_groups import fleet
from tensorplane.components.node_groups import placement as node_placement
from tensorplane.components.node_groups.fleet import Fleet
from tensorplane.components.node_groups.settings import NodeGroupArgs
from tensorplane.core.kube import Kube
from tensorplane.core.kube_objects import Objects
from tensorplane.core.paths import PROJECT
from tensorplane.core.step import Step
from tensorplane.driver.update.stack import Stack
from tensorplane.embedded.instance import Instance
from tensorplane.workloads.pods import pod
from tests.support import simulated
from tests.support.simulated import Simulated
from tests.support.waiting import eventually

Settings = dict[str, Any]
_ACCOUNT = "digits-server"
"""A service account that the example has."""


CHANGING = {"changing": {"accelerator": "l4"}, "going": {"accelerator": "l4"}}
"""Groups that a test changes, and leaves so; their taints keep every pod off."""


@dataclass(frozen=True)
class Deployed:
    """The example after `pulumi up`."""

    cluster: Simulated
    settings: Settings
    kube: Kube
    namespace: str = "tensorplane-dev"

    @property
    def instance(self) -> Instance:
        """The cluster."""
        return self.cluster.instance

    def stack(self, settings: Settings) -> Stack:
        """The same stack with these settings."""
        return self.cluster.stack(yaml.safe_dump(settings))

    def groups(self) -> dict[str, str]:
        """The node group of each node that has one."""
        labels = {node["metadata"]["name"]: node["metadata"]["labels"] for node in self.kube.items("/api/v1/nodes")}
        return {name: found[NODE_GROUP] for name, found in labels.items() if NODE_GROUP in found}

    def pods(self, **query: str) -> list[dict[str, Any]]:
        """The pods of the stack."""
        return self.kube.items(f"/api/v1/namespaces/{self.namespace}/pods", **query)


@pytest.fixture(scope="package")
def deployed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployed]:
    """The example, with two groups more."""
    settings = yaml.safe_load((PROJECT / "examples" / "simulated-fleet.yaml").read_text())
    for name, group in CHANGING.items():
        taints = [{"key": "only", "value": name}]
        settings["config"]["tensorplane:nodeGroups"][name] = {**group, "min": 1, "max": 1, "taints": taints}
    images = [f"{versions.JOBSET.image}:{versions.JOBSET.image_tag}"]
    with simulated.cluster(tmp_path_factory.mktemp("fleet"), images, storage=True) as cluster:
        found = Deployed(cluster, settings, Kube.of(cluster.instance.kubeconfig))
        found.stack(settings).up(Step("pulumi up"))
        yield found


@pytest.fixture(scope="package")
def machines(deployed: Deployed) -> Fleet:
    """What the stack makes of its node groups."""
    groups: dict[str, Any] = deployed.settings["config"]["tensorplane:nodeGroups"]
    parsed = {name: NodeGroupArgs.model_validate(each, by_alias=True, by_name=False) for name, each in groups.items()}
    found, faults = fleet.of(parsed, Embedded().cluster_properties)
    assert not faults
    return found


class Trial:
    """Pods as the stack's workloads make them, and where the scheduler puts them."""

    def __init__(self, deployed: Deployed, machines: Fleet) -> None:
        self._deployed, self._machines = deployed, machines
        self._api = Objects(Kube.of(deployed.instance.kubeconfig))
        self._made: list[str] = []

    def goes(self, *places: str, interruptible: bool = False, **asked: Any) -> None:
        """Pods that ask for these resources, as many as places, go there: the group, the node where it is in none.

        "" is for nowhere. A pod that finds no node at first gets one as soon as the scheduler knows of the room.
        """
        self._settles(len(places), lambda found: found == sorted(places), interruptible=interruptible, **asked)

    def fills(self, places: set[str], count: int, **asked: Any) -> None:
        """So many pods that ask for these resources go to all of these places, and to no others."""
        self._settles(count, lambda found: set(found) == places, **asked)

    def _settles(
        self, count: int, holds: Callable[[list[str]], bool], *, interruptible: bool = False, **asked: Any
    ) -> None:
        names = [self._create(Resources(**asked), interruptible) for _ in range(count)]
        groups = self._deployed.groups()

        def found() -> list[str]:
            nodes = [self._pod(name)["spec"].get("nodeName", "") for name in names]
            return sorted(groups.get(node, node) for node in nodes)

        eventually(lambda: all(self._is_decided(name) for name in names) and holds(found()), about=found)

    def clear(self) -> None:
        """Deletes the pods, and waits until they are gone."""
        for name in self._made:
            self._deployed.kube.delete(self._path(name), gracePeriodSeconds="1")
        eventually(lambda: not any(self._deployed.kube.get(self._path(name)) for name in self._made))

    def _create(self, resources: Resources, interruptible: bool) -> str:
        placement = node_placement.spec(self._machines, resources, interruptible=interruptible)
        container = pod.Container(image="nothing.test/at-all", resources=resources)
        made = pod.template(_ACCOUNT, {}, container, grace_seconds=30, placement=placement)
        name = f"trial-{len(self._made)}"
        self._made.append(name)
        metadata = {"name": name, "namespace": self._deployed.namespace}
        self._api.apply({"apiVersion": "v1", "kind": "Pod", **made, "metadata": metadata}, manager="test")
        return name

    def _path(self, name: str) -> str:
        return f"/api/v1/namespaces/{self._deployed.namespace}/pods/{name}"

    def _pod(self, name: str) -> dict[str, Any]:
        found = self._deployed.kube.get(self._path(name))
        assert found
        return found

    def _is_decided(self, name: str) -> bool:
        found = self._pod(name)
        reasons = {one.get("reason") for one in found["status"].get("conditions", [])}
        return bool(found["spec"].get("nodeName")) or "Unschedulable" in reasons


@pytest.fixture
def trial(deployed: Deployed, machines: Fleet) -> Iterator[Trial]:
    """Pods to try, deleted afterwards."""
    made = Trial(deployed, machines)
    yield made
    made.clear()
