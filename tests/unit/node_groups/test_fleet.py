"""A stack's node groups together: what tells them apart, and what leads each pod to the right one."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tensorplane.components.base.model import Resources
from tensorplane.components.base.problems import Note, Problem
from tensorplane.components.clusters.aks import Aks
from tensorplane.components.clusters.eks import Eks
from tensorplane.components.clusters.gke import Gke
from tensorplane.components.node_groups import fleet, placement
from tensorplane.components.node_groups.checks import pods, unreached
from tensorplane.components.node_groups.cluster_properties import ClusterProperties
from tensorplane.components.node_groups.fleet import Fleet
from tensorplane.components.node_groups.settings import NodeGroupArgs
from tests.support.problems import problems_of

OWN = ClusterProperties("existing", None, None)
EKS = Eks(region="us-west-2").cluster_properties
GROUPS: dict[str, dict[str, Any]] = {
    "cpu": {"min": 1},
    "old": {"accelerator": "t4"},
    "new": {"accelerator": "h100-80gb", "perNode": 8},
    "cheap": {"accelerator": "t4", "spot": True},
    "team": {
        "accelerator": "h100-80gb",
        "perNode": 8,
        "taints": [{"key": "team", "value": "a", "effect": "NoExecute"}],
    },
}


def made(groups: dict[str, dict[str, Any]], site: ClusterProperties = OWN) -> tuple[Fleet, list[str]]:
    """The fleet of some settings, and the lines about what is wrong with it."""
    parsed = {
        name: NodeGroupArgs.model_validate({"max": 4, **settings}, by_alias=True, by_name=False)
        for name, settings in groups.items()
    }
    found, faults = fleet.of(parsed, site)
    return found, [str(fault).removeprefix("tensorplane:") for fault in faults]


def lines(faults: Iterable[Problem | Note]) -> list[str]:
    """Faults as people read them."""
    return [str(fault).removeprefix("tensorplane:") for fault in faults]


def takes(spec: dict[str, Any], found: Fleet, gpus: int = 0) -> set[str]:
    """The groups that a scheduler would consider: labels match, every taint is tolerated, the GPUs are there."""
    tolerated = {(t["key"], t["effect"]) for t in spec.get("tolerations", [])}
    selector = spec.get("nodeSelector", {}).items()
    return {
        name
        for name, shape in found.groups.items()
        if selector <= shape.labels.items()
        and all((t.key, t.effect) in tolerated for t in shape.taints)
        and gpus <= shape.resources.get("nvidia.com/gpu", 0)
    }


@pytest.mark.parametrize(
    ("asked", "interruptible", "groups"),
    [
        ({}, False, {"cpu"}),
        ({}, True, {"cpu"}),
        ({"gpus": 1}, False, {"old", "new"}),
        ({"gpus": 1}, True, {"old", "new", "cheap"}),
        ({"gpus": 1, "accelerator": "t4"}, False, {"old"}),
        ({"gpus": 1, "accelerator": "t4"}, True, {"old", "cheap"}),
        ({"gpus": 8, "accelerator": "h100-80gb"}, True, {"new"}),
        ({"gpus": 8, "node_group": "team"}, False, {"team"}),
        ({"gpus": 1, "node_group": "cheap"}, True, {"cheap"}),
    ],
)
def test_a_pod_may_go_where_it_is_meant_to_and_nowhere_else(
    asked: dict[str, Any], interruptible: bool, groups: set[str]
) -> None:
    found, wrong = made(GROUPS)
    assert wrong == []
    resources = Resources(**asked)
    assert takes(placement.spec(found, resources, interruptible=interruptible), found, resources.gpus) == groups


def test_a_gpu_pod_tolerates_the_usual_taint_also_where_no_group_is_declared() -> None:
    assert placement.spec(Fleet(), Resources(gpus=1), interruptible=False) == {
        "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}]
    }
    assert placement.spec(Fleet(), Resources(), interruptible=True) == {}


_TAINT = st.fixed_dictionaries(
    {"key": st.sampled_from(["team", "a/b", "x"]), "effect": st.sampled_from(["NoSchedule", "NoExecute"])}
)


@given(st.lists(st.lists(_TAINT, max_size=3), min_size=1, max_size=5))
def test_a_daemon_set_reaches_every_node_whatever_its_taints(taints: list[list[dict[str, str]]]) -> None:
    groups = {f"g{i}": {"accelerator": "t4", "labels": {"i": str(i)}, "taints": own} for i, own in enumerate(taints)}
    found, _ = made(groups)
    assert takes({"tolerations": found.tolerations}, found) == set(groups)


@pytest.mark.parametrize(
    ("asked", "line"),
    [
        ({"accelerator": "t4"}, "r.accelerator: accelerator is set but gpus is 0; set gpus to 1 or more"),
        (
            {"gpus": 1, "accelerator": "t44"},
            "r.accelerator: no node group has 't44'; choose one of h100-80gb, t4 (did you mean t4?)",
        ),
        (
            {"gpus": 1, "node_group": "odl"},
            "r.nodeGroup: no node group is named 'odl'; choose one of cheap, cpu, new, old, team (did you mean old?)",
        ),
        ({"gpus": 2, "accelerator": "t4"}, "r.gpus: the largest node with t4 has 1 GPU; set gpus to 1 or less"),
        ({"gpus": 16}, "r.gpus: the largest node has 8 GPUs; set gpus to 8 or less"),
    ],
)
def test_what_no_group_has_is_refused(asked: dict[str, Any], line: str) -> None:
    found, _ = made(GROUPS)
    assert [
        str(f).removeprefix("tensorplane:")
        for f in pods.find_problems(found, Resources(**asked), ("r",), interruptible=False)
    ] == [line]


def test_groups_that_nothing_tells_apart_are_refused() -> None:
    _, wrong = made({"one": {"accelerator": "t4"}, "two": {"accelerator": "t4", "min": 2}})
    assert wrong == [
        "nodeGroups.two: the scheduler cannot distinguish it from one; change its machine, zones, labels or "
        "taints, or merge the two groups"
    ]


def test_azures_own_taint_keeps_nothing_from_spot_nodes_that_may_run_there() -> None:
    cpu, t4 = {"machine": "Standard_D8s_v5", "min": 1}, {"accelerator": "t4", "spot": True}
    found, faults = made({"cpu": cpu, "cheap": t4}, Aks(region="westeurope").cluster_properties)
    assert faults == []
    taint = {"key": "kubernetes.azure.com/scalesetpriority", "operator": "Exists", "effect": "NoSchedule"}
    assert taint in found.tolerations
    resources = Resources.model_validate({"gpus": 1, "accelerator": "t4"})
    assert takes(placement.spec(found, resources, interruptible=True), found, gpus=1) == {"cheap"}
    assert takes(placement.spec(found, resources, interruptible=False), found, gpus=1) == set()
    assert [t.key for t in found.groups["cheap"].declared_taints] == ["nvidia.com/gpu", "tensorplane.dev/spot"]


@pytest.mark.parametrize("difference", [{"spot": True}, {"labels": {"x": "y"}}, {"taints": [{"key": "x"}]}])
def test_one_difference_is_enough(difference: dict[str, Any]) -> None:
    assert made({"one": {"accelerator": "t4"}, "two": {"accelerator": "t4", **difference}})[1] == []


@pytest.mark.parametrize(
    ("asked", "interruptible", "line"),
    [
        (
            {"gpus": 1, "node_group": "cheap"},
            False,
            "r.nodeGroup: cheap is spot and accepts only training jobs with checkpoints; set checkpoints, or "
            "choose another group",
        ),
        (
            {"node_group": "old"},
            True,
            "r.nodeGroup: old accepts only pods with GPUs; set gpus to 1 or more, or choose a group without "
            "accelerator",
        ),
        (
            {"gpus": 1, "accelerator": "l4"},
            False,
            "r.accelerator: no node group with l4 accepts the pod: sl4 (spot, for training jobs with checkpoints "
            "only), tl4 (taint team, tolerated with nodeGroup: tl4); meet a condition, or declare a group",
        ),
        (
            {"gpus": 4, "accelerator": "tpu-v5e"},
            True,
            "r.accelerator: workloads cannot request tpu-v5e; choose one of h100-80gb, l4, t4",
        ),
    ],
)
def test_a_pod_that_every_group_keeps_off_is_refused(asked: dict[str, Any], interruptible: bool, line: str) -> None:
    more: dict[str, dict[str, Any]] = {
        "sl4": {"accelerator": "l4", "spot": True},
        "tl4": {"accelerator": "l4", "taints": [{"key": "team"}]},
        "chips": {"accelerator": "tpu-v5e", "perNode": 4},
    }
    found, wrong = made({**GROUPS, **more})
    assert wrong == []
    assert lines(pods.find_problems(found, Resources(**asked), ("r",), interruptible=interruptible)) == [line]


def test_nothing_is_concluded_from_a_group_that_is_at_fault_itself() -> None:
    found, wrong = made({"new": {"accelerator": "h100-80gb", "perNode": 3}}, EKS)
    assert [line.split(":")[0] for line in wrong] == ["nodeGroups.new.perNode"]
    for asked in ({"gpus": 1, "node_group": "new"}, {"gpus": 8, "accelerator": "h100-80gb"}, {"gpus": 2}):
        assert (
            lines(pods.find_problems(found, Resources.model_validate(asked, by_name=True), ("r",), interruptible=False))
            == []
        )


@given(
    st.dictionaries(
        st.sampled_from("abcdefgh"),
        st.tuples(st.sampled_from(["", "t4", "l4", "h100-80gb"]), st.booleans(), st.booleans()),
        min_size=1,
    ),
    st.sampled_from([None, "t4", "l4", "h100-80gb"]),
    st.sampled_from([None, *"abcdefgh"]),
    st.booleans(),
    st.integers(0, 9),
)
def test_a_pod_is_refused_or_some_group_takes_it(
    drawn: dict[str, tuple[str, bool, bool]], card: str | None, group: str | None, interruptible: bool, gpus: int
) -> None:
    groups: dict[str, dict[str, Any]] = {
        name: {
            **({"accelerator": accelerator, "perNode": 8 if "h100" in accelerator else 1} if accelerator else {}),
            "spot": spot,
            "labels": {"own": name},
            "taints": [{"key": "team", "value": name}] if tainted else [],
        }
        for name, (accelerator, spot, tainted) in drawn.items()
    }
    found, wrong = made(groups)
    assert wrong == []
    resources = Resources(gpus=gpus, accelerator=card, node_group=group)
    refused = list(pods.find_problems(found, resources, ("r",), interruptible=interruptible))
    took = takes(placement.spec(found, resources, interruptible=interruptible), found, gpus)
    assert len(refused) <= 1 or group in drawn
    if refused:
        # Only one that asks for a card without GPUs could run.
        assert not took or (card and not gpus)
    else:
        # Nodes for pods without GPUs may be there that no group describes.
        assert took or not (gpus or group)
        meant = {n for n, (c, _, _) in drawn.items() if (c or None) == (card or (c or None)) and bool(c) == bool(gpus)}
        assert took <= ({group} if group else meant)


def test_a_preference_of_a_group_keeps_nothing_off() -> None:
    found, _ = made({"soft": {"accelerator": "t4", "taints": [{"key": "team", "effect": "PreferNoSchedule"}]}})
    assert list(pods.find_problems(found, Resources(gpus=1, accelerator="t4"), ("r",), interruptible=False)) == []
    assert list(unreached.notes(found, {(None, False)})) == []


def test_spot_machines_that_no_workload_may_run_on_are_noted() -> None:
    found, _ = made({"cheap": GROUPS["cheap"]})
    assert lines(unreached.notes(found, {(None, False)})) == [
        "nodeGroups.cheap.spot: no workload of this stack can run on spot nodes (only training jobs with checkpoints "
        "can); the group is for other jobs"
    ]
    assert lines(unreached.notes(found, {(None, False), (None, True)})) == []


def test_order_does_not_tell_groups_apart_and_a_slices_shape_does() -> None:
    zones, taints = ["us-west-2a", "us-west-2b"], [{"key": "x"}, {"key": "y"}]
    one = {"accelerator": "t4", "zones": zones, "taints": taints}
    two = {"accelerator": "t4", "zones": zones[::-1], "taints": taints[::-1]}
    assert [line.split(":")[0] for line in made({"one": one, "two": two})[1]] == ["nodeGroups.two"]
    chips = {"accelerator": "tpu-v5e", "perNode": 4}
    small, large = {**chips, "topology": "2x4", "max": 2}, {**chips, "topology": "4x4", "max": 4}
    assert (
        made(
            {"small": small, "large": large},
            replace(Gke(project="project", region="us-central1").cluster_properties, cloud=None),
        )[1]
        == []
    )


def test_a_new_cluster_needs_nodes_for_its_own_pods() -> None:
    line = (
        "nodeGroups: no group can run the cluster's system pods; add one without accelerator, spot and taints, "
        "with min 1 or more"
    )
    assert made({"gpu": {"accelerator": "t4", "min": 1}, "cpu": {"machine": "m7i.2xlarge"}}, EKS)[1] == [line]
    assert made({"gpu": {"accelerator": "t4"}, "cpu": {"machine": "m7i.2xlarge", "min": 1}}, EKS)[1] == []


def test_a_full_fleet_in_numbers() -> None:
    found, _ = made(GROUPS)
    assert found.gpus_max == 4 * (1 + 8 + 1 + 8)
    assert found.hourly_usd_max is None


def test_a_taint_that_no_workload_tolerates_is_noted() -> None:
    found, _ = made(GROUPS)
    assert [str(f).removeprefix("tensorplane:") for f in unreached.notes(found, {(None, True), ("old", False)})] == [
        "nodeGroups.team.taints: no workload of this stack tolerates team=a:NoExecute; a workload with "
        "nodeGroup: team in its resources does"
    ]
    assert list(unreached.notes(found, {("team", False), (None, True)})) == []


def test_kueue_is_told_which_nodes_have_enough_gpus_for_a_pod() -> None:
    found, _ = made(GROUPS)

    def kinds(**asked: Any) -> list[Any]:
        parts = placement.spec(found, Resources(**asked), interruptible=False, queued=True)
        by_node = parts.get("affinity", {}).get("nodeAffinity", {})
        terms = by_node.get("requiredDuringSchedulingIgnoredDuringExecution", {}).get("nodeSelectorTerms", [])
        return [expression for term in terms for expression in term["matchExpressions"]]

    assert kinds(gpus=1) == kinds() == kinds(gpus=8, accelerator="h100-80gb") == kinds(gpus=8, node_group="new") == []
    wide = ["h100-80gb", found.groups["team"].flavor]
    assert kinds(gpus=2) == [{"key": "tensorplane.dev/flavor", "operator": "In", "values": wide}]


def test_queued_pods_without_gpus_stay_off_machines_with_gpus() -> None:
    """Kueue would make them tolerate the taint that keeps them off."""
    found, _ = made(GROUPS)
    parts = placement.spec(found, Resources(), interruptible=False, queued=True)
    assert parts["nodeSelector"] == {"tensorplane.dev/accelerator": "none"}
    assert takes(parts, found) == {"cpu"}
    with_gpus = placement.spec(found, Resources(gpus=1), interruptible=False, queued=True)
    assert "tensorplane.dev/accelerator" not in with_gpus.get("nodeSelector", {})
    assert "nodeSelector" not in placement.spec(found, Resources(), interruptible=False)
    assert "nodeSelector" not in placement.spec(
        made({"cpu": GROUPS["cpu"]})[0], Resources(), interruptible=False, queued=True
    )


def test_several_gpus_are_whole_ones() -> None:
    shared = {"accelerator": "t4", "sharing": {"kind": "timeSlicing", "replicas": 4}}
    found, _ = made({"shared": shared, "new": GROUPS["new"]})
    (fault,) = pods.find_problems(found, Resources(gpus=2, accelerator="t4"), ("r",), interruptible=False)
    assert "the largest node with t4 has 1" in str(fault)
    assert "affinity" not in placement.spec(found, Resources(gpus=1), interruptible=False)
    affinity = placement.spec(found, Resources(gpus=2), interruptible=False)["affinity"]["nodeAffinity"]
    (term,) = affinity["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
    assert term["matchExpressions"] == [{"key": "nvidia.com/device-plugin.config", "operator": "DoesNotExist"}]
    assert "affinity" not in placement.spec(made(GROUPS)[0], Resources(gpus=2), interruptible=False)


@pytest.mark.parametrize(
    "cluster",
    [
        {"kind": "eks", "region": "us-west-2", "endpoint": {"deployFromInside": True}},
        {"kind": "gke", "project": "acme-ml", "region": "us-central1"},
        {"kind": "aks", "region": "westeurope", "inheritedAdmins": True, "endpoint": {"deployFromInside": True}},
    ],
    ids=lambda cluster: str(cluster["kind"]),
)
def test_a_new_cluster_needs_a_group_for_its_own_pods(cluster: dict[str, Any]) -> None:
    (line,) = problems_of({"cluster": cluster})
    assert line.startswith("tensorplane:nodeGroups: missing; declare a node group for the cluster's own pods, such")
