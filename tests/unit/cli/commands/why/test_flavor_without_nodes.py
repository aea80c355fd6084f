"""What `tensorplane why` says of flavors none of whose nodes takes pods, with the recording of a real Kueue."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from tensorplane.agents.quota_return.flavors import TAINT
from tensorplane.cli.kueue.objects import ClusterObjects
from tensorplane.components.base.labels import FLAVOR
from tests.unit.cli.commands.why.test_why import answer, borrowed_by_research

H100 = "h100-80gb"
CORDONED = "No node of h100-80gb takes pods: hopper-0 is cordoned, hopper-1 is cordoned"
RECLAIMED = "Queue production is guaranteed 4 a100-80gb and holds 0: Kueue preempts jobs that borrow the rest."


def _objects(
    change: Callable[[dict[str, Any]], object], *, tainted: bool = True, placed: bool = True
) -> ClusterObjects:
    """Others borrow the A100 of queue production, whose job high3 waits; `change` of each node with H100."""
    facts = borrowed_by_research()
    flavors, nodes = copy.deepcopy([*facts.flavors]), copy.deepcopy([*facts.nodes])
    for flavor in flavors if placed else ():
        if "nodeTaints" in flavor["spec"]:
            flavor["spec"]["topologyName"] = "near"
        if tainted and flavor["metadata"]["name"].endswith(H100):
            flavor["spec"]["nodeTaints"].append({"key": TAINT, "effect": "NoSchedule"})
    for node in nodes:
        if node["metadata"]["labels"].get(FLAVOR) == H100:
            change(node)
    return replace(facts, flavors=flavors, nodes=nodes)


def _cordon(node: dict[str, Any]) -> None:
    node["spec"]["unschedulable"] = True


def test_flavor_and_nodes_are_named_beside_who_holds_what_is_guaranteed() -> None:
    found = answer("high3", _objects(_cordon))
    assert found.state == "waiting"
    assert [row[0] for row in found.rows] == ["a100-80gb"]
    assert "high2-aaaa 4 (queue research" in found.rows[0][-1]
    assert found.after[-2:] == (RECLAIMED, f"{CORDONED}; the job does not get it until one does.")


def test_until_kueue_passes_it_over_nothing_is_taken_back() -> None:
    found = answer("high3", _objects(_cordon, tainted=False))
    assert found.after[-1] == f"{CORDONED}; Kueue does not pass it over yet."
    assert RECLAIMED not in found.after


def test_a_job_for_this_flavor_alone_waits_for_its_nodes() -> None:
    facts = _objects(_cordon)
    for one in facts.workloads:
        if "high3" in one["metadata"]["name"]:
            one["spec"]["podSets"][0]["template"]["spec"]["nodeSelector"] = {FLAVOR: H100}
    found = answer("high3", facts)
    assert (found.state, found.rows) == ("waiting", ())
    assert found.after == (f"{CORDONED}; the job does not get it until one does.",)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda node: node["status"].update(conditions=[]), ": hopper-0 is not Ready, hopper-1 is not Ready"),
        (lambda node: node["metadata"]["labels"].pop(FLAVOR), ": there is none"),
    ],
    ids=["not Ready", "gone"],
)
def test_other_reasons_why_no_node_takes_pods(change: Callable[[dict[str, Any]], object], why: str) -> None:
    after = answer("high3", _objects(change)).after
    assert after[-1] == f"No node of h100-80gb takes pods{why}; the job does not get it until one does."


def test_who_may_not_list_nodes_hears_it_from_the_agents_taint() -> None:
    after = answer("high3", replace(_objects(_cordon), nodes=())).after
    assert after[-1] == "No node of h100-80gb takes pods; the job does not get it until one does."
    assert "No node" not in " ".join(answer("high3", replace(_objects(_cordon, tainted=False), nodes=())).after)


def test_flavors_whose_groups_scale_take_part_without_a_node() -> None:
    found = answer("high3", _objects(_cordon, tainted=False, placed=False))
    assert [row[0] for row in found.rows] == [H100, "a100-80gb"]
    assert "No node" not in " ".join(found.after)
