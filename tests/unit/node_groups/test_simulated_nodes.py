"""Node groups on the embedded cluster: nodes as a cloud's would be, and who gets onto them."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from tensorplane import images, toolchain
from tensorplane.components import catalog
from tensorplane.components.base.labels import SIMULATED
from tensorplane.components.base.model import Resources
from tensorplane.components.clusters.embedded import NODE, Embedded, simulated_nodes
from tensorplane.components.node_groups import placement as node_placement
from tensorplane.components.node_groups.fleet import Fleet, of
from tensorplane.components.node_groups.settings import NodeGroupArgs
from tensorplane.core.step import Step
from tensorplane.driver import up
from tensorplane.driver.requirements import Requirements
from tensorplane.driver.stack_settings import StackSettings
from tensorplane.driver.target import Target
from tensorplane.embedded import cluster
from tensorplane.embedded.cluster import kwok
from tensorplane.embedded.cluster.node_paths import NodePaths
from tensorplane.embedded.instance import Instance
from tests.support.rendered_files import rendered_tree
from tests.support.rendering import Registered, Rendered

GROUPS: dict[str, Any] = {
    "cpu": {"min": 2, "max": 4},
    "t4": {"accelerator": "t4", "max": 4, "spot": True, "labels": {"team": "a"}},
    "h100": {"accelerator": "h100-80gb", "perNode": 8, "max": 4, "taints": [{"key": "team", "value": "b"}]},
}
SERVER = {
    "kind": "modelServer",
    "model": {"volume": "models", "path": "m"},
    "resources": {"nodeGroup": "h100", "gpus": 1},
}


@pytest.fixture
def rendered() -> Rendered:
    job = {
        "kind": "trainingJob",
        "strategy": {"kind": "single"},
        "command": ["true"],
        "volumes": {"models": "/models"},
        "checkpoints": {"volume": "models"},
    }
    workloads = {"server": SERVER, "job": job}
    settings = {"nodeGroups": GROUPS, "volumes": {"models": {"sizeGib": 1}}, "workloads": workloads}
    return rendered_tree(settings)


def _size(node: Registered) -> dict[str, str]:
    size: dict[str, str] = json.loads(node.inputs["metadata"]["annotations"]["tensorplane.dev/simulated-size"])
    return size


def test_a_group_has_its_least_number_of_nodes_and_at_least_one(rendered: Rendered) -> None:
    nodes = {node.name: node.options["parent"] for node in rendered.all("Node")}
    assert nodes == {"cpu-0": "cpu", "cpu-1": "cpu", "t4-0": "t4", "h100-0": "h100"}


def test_a_node_has_the_labels_taints_and_resources_of_its_group(rendered: Rendered) -> None:
    node = rendered.one("Node", "h100-0")
    machine = catalog.offers("eks", "h100-80gb", 8)[0]
    assert _size(node)["nvidia.com/gpu"] == "8"
    assert int(_size(node)["cpu"]) <= machine.vcpus
    labels = node.inputs["metadata"]["labels"]
    assert labels["tensorplane.dev/accelerator"] == "h100-80gb"
    assert labels["kubernetes.io/hostname"] == "h100-0"
    assert [(taint["key"], taint["value"]) for taint in node.inputs["spec"]["taints"]] == [
        ("nvidia.com/gpu", "present"),
        ("kwok.x-k8s.io/node", "fake"),
        ("team", "b"),
    ]
    assert "nvidia.com/gpu" not in _size(rendered.one("Node", "cpu-0"))
    assert rendered.one("Node", "t4-0").inputs["metadata"]["labels"]["team"] == "a"


def test_everything_else_comes_after_the_nodes_and_goes_before_them(rendered: Rendered) -> None:
    provider = rendered.one("kubernetes", "cluster")
    assert provider.options["dependsOn"] == [f"Node {node.name}" for node in rendered.all("Node")]
    assert {node.options["provider"] for node in rendered.all("Node")} == {"cluster-nodes"}
    assert rendered.one("Deployment", "server").options["provider"] == "cluster"


def test_a_stack_without_groups_has_no_node_and_one_provider() -> None:
    rendered = rendered_tree({})
    assert rendered.all("Node") == []
    assert [provider.name for provider in rendered.all("kubernetes")] == ["cluster"]


def test_kwok_looks_for_what_the_nodes_have(rendered: Rendered) -> None:
    annotations = rendered.one("Node", "cpu-0").inputs["metadata"]["annotations"]
    [selector] = [one for one in kwok.arguments(NodePaths(Instance("test"))) if "annotation-selector" in one]
    assert selector.endswith(f"={SIMULATED}={annotations[SIMULATED]}")
    [stage] = [each for each in yaml.safe_load_all(kwok.stages()) if each["spec"]["resourceRef"]["kind"] == "Node"]
    assert f'index .metadata.annotations "{simulated_nodes.SIZE}"' in stage["spec"]["next"]["statusTemplate"]
    assert simulated_nodes.SIZE in annotations


@pytest.fixture(scope="module")
def fleet() -> Fleet:
    parsed = {name: NodeGroupArgs.model_validate(each, by_alias=True, by_name=False) for name, each in GROUPS.items()}
    return of(parsed, Embedded().cluster_properties)[0]


def _gets_in(fleet: Fleet, group: str, placement: Mapping[str, Any], gpus: int) -> bool:
    shape = fleet.groups[group]
    tolerated = {(one["key"], one["effect"]) for one in placement.get("tolerations", [])}
    wanted = placement.get("nodeSelector", {}).items()
    has_room = gpus <= shape.resources.get("nvidia.com/gpu", 0)
    return has_room and wanted <= shape.labels.items() and {(t.key, t.effect) for t in shape.taints} <= tolerated


@pytest.mark.parametrize(
    ("asked", "interruptible", "groups"),
    [
        ({}, True, set()),
        ({"nodeGroup": "cpu"}, False, {"cpu"}),
        ({"gpus": 1}, False, set()),
        ({"gpus": 1, "accelerator": "t4"}, True, {"t4"}),
        ({"gpus": 8, "nodeGroup": "h100"}, False, {"h100"}),
    ],
)
def test_only_those_that_ask_for_a_groups_machines_leave_the_real_node(
    fleet: Fleet, asked: dict[str, Any], interruptible: bool, groups: set[str]
) -> None:
    resources = Resources.model_validate(asked, by_alias=True, by_name=False)
    placement = node_placement.spec(fleet, resources, interruptible=interruptible)
    assert {name for name in fleet.groups if _gets_in(fleet, name, placement, resources.gpus)} == groups


def test_a_name_too_long_for_its_nodes_is_one_line() -> None:
    name = "g" * 61
    args = NodeGroupArgs.model_validate({"min": 11, "max": 11}, by_alias=True, by_name=False)
    shapes = of({name: args}, Embedded().cluster_properties)[0].groups
    [fault] = Embedded().check(shapes)
    assert str(fault).endswith("the name has 61 characters; shorten it to 60, so that its node names stay valid")


def test_a_group_with_the_name_of_several_real_nodes_is_refused() -> None:
    shapes = of({NODE: NodeGroupArgs(accelerator="t4", max=3)}, Embedded().cluster_properties)[0].groups
    assert list(Embedded(nodes=1).check(shapes)) == []
    [fault] = Embedded(nodes=2).check(shapes)
    assert str(fault) == (
        "tensorplane:nodeGroups.tensorplane: the cluster's own nodes have names like this; choose another name"
    )


@pytest.mark.parametrize(
    ("groups", "had", "wanted"), [({}, False, False), ({"cpu": {"max": 1}}, False, True), ({}, True, True)]
)
def test_make_up_builds_and_starts_kwok_only_where_there_are_or_were_node_groups(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, groups: dict[str, Any], had: bool, wanted: bool
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    config = NodePaths(Instance("test")).kwok_config
    if had:
        config.parent.mkdir(parents=True)
        config.touch()
    asked: list[bool] = []

    def record(*_: Any, simulated_nodes: bool, **__: Any) -> list[Any]:
        asked.append(simulated_nodes)
        return []

    monkeypatch.setattr(StackSettings, "section", lambda _, name: groups if name == "nodeGroups" else {})
    monkeypatch.setattr(toolchain, "tasks", record)
    monkeypatch.setattr(images, "tasks", lambda **_: [])
    monkeypatch.setattr(cluster, "start", record)
    target = Target("", Instance("test"))
    requirements = Requirements(StackSettings("dev", target.home), target.instance)
    [start] = [task for task in up._preparation(target, requirements) if task.name == "cluster"]
    start.run(Step("cluster"))
    assert asked == [wanted, wanted]
    assert {"kwok", "gpu charts"} <= set(start.after)
