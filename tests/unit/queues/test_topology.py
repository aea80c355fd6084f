"""Pods near to each other: what Kueue is told of levels of the network, and what settings of it cannot work."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import yaml

from tensorplane.components.base.labels import FENCED
from tests.support.problems import problems_of
from tests.support.rendered_files import rendered_tree
from tests.support.rendering import PROJECT, Registered

CPUS = {"queues": {"research": {"cpus": 1, "memoryGib": 1}}}
EXAMPLE = yaml.safe_load((PROJECT / "examples" / "queues.yaml").read_text())["config"]


def tree(**job: Any) -> dict[str, Any]:
    """The example with levels of the network, and something changed in its job."""
    found = {key.removeprefix("tensorplane:"): copy.deepcopy(value) for key, value in EXAMPLE.items()}
    found["topology"] = ["zone", "host"]
    for name, zones in (("turing", ["a", "b"]), ("ampere", ["a"]), ("hopper", ["a"])):
        found["nodeGroups"][name]["zones"] = zones
    found["workloads"]["search"] |= job
    found["workloads"]["search"] = {
        key: value for key, value in found["workloads"]["search"].items() if value is not None
    }
    return found


def built(settings: dict[str, Any]) -> list[Registered]:
    return rendered_tree(settings).resources


def of_kind(found: list[Registered], kind: str) -> dict[str, dict[str, Any]]:
    return {one.name: dict(one.inputs) for one in found if one.type.endswith(f":{kind}")}


def pods_of(found: list[Registered]) -> dict[str, str]:
    (job,) = of_kind(found, "JobSet").values()
    (replicated,) = job["spec"]["replicatedJobs"]
    annotations: dict[str, str] = replicated["template"]["spec"]["template"]["metadata"].get("annotations", {})
    return {key: value for key, value in annotations.items() if key != FENCED}


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


def by_default(**changes: Any) -> dict[str, Any]:
    """The example, whose groups all have a fixed number of nodes, with nothing said of levels."""
    found = {**tree(), **changes}
    del found["topology"]
    return found


def test_where_no_group_with_gpus_grows_kueue_sees_the_room_on_each_host() -> None:
    found = built(by_default())
    (levels,) = of_kind(found, "Topology").values()
    assert levels["spec"]["levels"] == [{"nodeLabel": "kubernetes.io/hostname"}]
    assert pods_of(found) == {"kueue.x-k8s.io/podset-unconstrained-topology": "true"}


@pytest.mark.parametrize(
    "changes",
    [
        {"nodeGroups": {**tree()["nodeGroups"], "turing": {"accelerator": "t4", "perNode": 4, "min": 1, "max": 2}}},
        {"controllers": {"kueue": "present"}},
    ],
)
def test_nodes_that_a_pod_has_to_ask_for_are_not_waited_for(changes: dict[str, Any]) -> None:
    found = built(by_default(**changes))
    assert of_kind(found, "Topology") == {}
    assert pods_of(found) == {}


def test_other_groups_may_grow() -> None:
    groups = {**tree()["nodeGroups"], "plain": {"min": 1, "max": 2}}
    assert of_kind(built(by_default(nodeGroups=groups)), "Topology")


def test_a_queue_that_shares_nothing_is_told_of_room_that_others_leave() -> None:
    queues = {"alone": {"gpus": {"t4": 8}, "cohort": "none"}}
    settings = {**by_default(), "queues": queues, "workloads": {}}
    (queue,) = of_kind(built(settings), "ClusterQueue").values()
    assert queue["spec"]["cohortName"] == "tensorplane-dev"
    (flavor,) = queue["spec"]["resourceGroups"][0]["flavors"]
    assert {(each["borrowingLimit"], each["lendingLimit"]) for each in flavor["resources"]} == {("0", "0")}
    (plain,) = of_kind(built({**settings, "topology": []}), "ClusterQueue").values()
    assert "cohortName" not in plain["spec"]


def test_nodes_take_turns_between_their_zones() -> None:
    nodes = of_kind(built(tree()), "Node")
    zones = {name: node["metadata"]["labels"]["topology.kubernetes.io/zone"] for name, node in nodes.items()}
    assert (zones["turing-0"], zones["turing-1"], zones["hopper-1"]) == ("a", "b", "a")


@pytest.mark.parametrize(
    ("changes", "job", "says"),
    [
        ({"topology": ["zoen"]}, {}, "topology: unknown level 'zoen'; choose one of zone, host (did you mean"),
        ({"topology": ["host", "zone"]}, {}, "topology: host, zone is not ordered from wide to narrow; use zone,"),
        ({"topology": ["zone", "zone"]}, {}, "topology: zone, zone repeats a level; list each level once"),
        ({"topology": []}, {"within": "zone"}, "workloads.search.within: is set, but the stack has no topology;"),
        ({}, {"within": "hots"}, "workloads.search.within: unknown level hots; choose one of zone, host (did you"),
        ({}, {"within": "host"}, "workloads.search.within: 2 worker pods of 4 GPUs do not fit into one host, which"),
        (CPUS, {"within": "zone", "queue": None}, "workloads.search.within: is set but queue is not, and only"),
        (
            {},
            {"within": "zone", "resources": {"gpus": 4, "accelerator": "t4"}},
            "workloads.search.within: 2 worker pods of 4 GPUs do not fit into one zone, which has room for 1; set a",
        ),
    ],
)  # fmt: skip
def test_what_cannot_work_is_one_line(changes: dict[str, Any], job: dict[str, Any], says: str) -> None:
    (line,) = problems_of({**tree(**job), **changes})
    assert line.startswith(f"tensorplane:{says}")


def test_groups_that_come_and_go_have_no_levels() -> None:
    settings = tree()
    settings["nodeGroups"]["turing"]["min"] = 0
    (line,) = problems_of(settings)
    assert line.startswith("tensorplane:nodeGroups.turing.min: min is 0 and max is 2, but with topology Kueue only")
