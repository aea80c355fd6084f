"""Pods near to each other: what Kueue is told of levels of the network, and what settings of it cannot work."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import yaml

import stack
from components.settings import Settings
from tests.unit import rendering
from tests.unit.rendering import PROJECT, Registered
from tests.unit.test_bad_settings import faults_of

CPUS = {"queues": {"research": {"cpus": 1, "memoryGib": 1}}}
EXAMPLE = yaml.safe_load((PROJECT / "examples" / "queues.yaml").read_text())["config"]


def tree(**job: Any) -> dict[str, Any]:
    """The example with levels of the network, and something changed in its job."""
    found = {key.removeprefix("tensorplane:"): copy.deepcopy(value) for key, value in EXAMPLE.items()}
    found["topology"] = ["zone", "host"]
    for name, zones in (("turing", ["a", "b"]), ("ampere", ["a"]), ("hopper", ["a"])):
        found["nodeGroups"][name]["zones"] = zones
    found["workloads"]["search"] |= job
    return found


def built(settings: dict[str, Any]) -> list[Registered]:
    return rendering.run(lambda: stack.build(stack.StackConfig.load(Settings(settings)))).resources


def of_kind(found: list[Registered], kind: str) -> dict[str, dict[str, Any]]:
    return {one.name: dict(one.inputs) for one in found if one.type.endswith(f":{kind}")}


def pods_of(found: list[Registered]) -> dict[str, str]:
    (job,) = of_kind(found, "JobSet").values()
    (replicated,) = job["spec"]["replicatedJobs"]
    annotations: dict[str, str] = replicated["template"]["spec"]["template"]["metadata"].get("annotations", {})
    return annotations


def test_kinds_with_gpus_have_the_levels_and_others_have_none() -> None:
    found = built(tree())
    ((name, topology),) = of_kind(found, "Topology").items()
    assert [level["nodeLabel"] for level in topology["spec"]["levels"]] == [
        "topology.kubernetes.io/zone",
        "kubernetes.io/hostname",
    ]
    kinds = {flavor: inputs["spec"].get("topologyName") for flavor, inputs in of_kind(found, "ResourceFlavor").items()}
    assert kinds.pop("tensorplane-dev-cpu") is None
    assert set(kinds.values()) == {name}
    used = of_kind(found, "ClusterQueue")["tensorplane-dev-research"]["spec"]["resourceGroups"][0]["flavors"]
    assert {flavor["name"] for flavor in used} == {"tensorplane-dev-cpu", *kinds}


def test_other_levels_are_other_objects_because_levels_can_never_change() -> None:
    wide = {**tree(), "topology": ["zone"]}
    assert not of_kind(built(tree()), "Topology").keys() & of_kind(built(wide), "Topology").keys()
    assert "tensorplane-dev-t4" in of_kind(built({**tree(), "topology": []}), "ResourceFlavor")


@pytest.mark.parametrize(
    ("within", "annotation"),
    [
        (None, {"kueue.x-k8s.io/podset-unconstrained-topology": "true"}),
        ("zone", {"kueue.x-k8s.io/podset-required-topology": "topology.kubernetes.io/zone"}),
        (
            {"level": "host", "required": False},
            {"kueue.x-k8s.io/podset-preferred-topology": "kubernetes.io/hostname"},
        ),
    ],
)
def test_pods_with_gpus_say_how_near_they_must_be(within: Any, annotation: dict[str, str]) -> None:
    assert pods_of(built(tree(within=within))) == annotation


def test_without_levels_pods_say_nothing_of_them() -> None:
    assert pods_of(built({**tree(), "topology": []})) == {}


def test_nodes_take_turns_between_their_zones() -> None:
    nodes = of_kind(built(tree()), "Node")
    zones = {name: node["metadata"]["labels"]["topology.kubernetes.io/zone"] for name, node in nodes.items()}
    assert (zones["turing-0"], zones["turing-1"], zones["hopper-1"]) == ("a", "b", "a")


@pytest.mark.parametrize(
    ("changes", "job", "says"),
    [
        ({"topology": ["zoen"]}, {}, "topology: unknown level 'zoen', have zone, host (did you mean zone?)"),
        ({"topology": ["host", "zone"]}, {}, "topology: got host, zone: need them from wide to narrow: zone, host"),
        ({"topology": ["zone", "zone"]}, {}, "topology: got zone, zone: need each level once"),
        ({"topology": []}, {"within": "zone"}, "workloads.search.within: given, and the stack names no levels"),
        ({}, {"within": "hots"}, "workloads.search.within: got hots, and topology has zone, host (did you mean host?)"),
        ({}, {"within": "host"}, "workloads.search.within: 2 worker pods of 4 GPUs, and one host takes 1 of them"),
        (CPUS, {"within": "zone", "queue": None}, "workloads.search.within: given without a queue"),
        (
            {},
            {"within": "zone", "resources": {"gpus": 4, "accelerator": "t4"}},
            "workloads.search.within: 2 worker pods of 4 GPUs, and one zone takes 1 of them: need a wider level, or "
            "{level: zone, required: false}",
        ),
    ],
)  # fmt: skip
def test_what_cannot_work_is_one_line(changes: dict[str, Any], job: dict[str, Any], says: str) -> None:
    (line,) = faults_of({**tree(**job), **changes})
    assert line.startswith(f"tensorplane:{says}")


def test_groups_that_come_and_go_have_no_levels() -> None:
    settings = tree()
    settings["nodeGroups"]["turing"]["min"] = 0
    (line,) = faults_of(settings)
    assert line.startswith("tensorplane:nodeGroups.turing.min: got 0 with max 2, and topology is given")
