"""Faults of node groups: one line each, with the whole key, and none about what depends on a refused group."""

from typing import Any

import pytest

from tests.support.problems import CPU, EKS, dev, problems_of


@pytest.mark.parametrize(
    ("group", "line"),
    [
        ({"sharing": {"kind": "mps", "replicas": 100}}, "sharing.replicas: invalid value 100; use 48 or less"),
        ({"sharing": {"kind": "MPS", "replicas": 2}}, "sharing.kind: invalid value 'MPS'; use timeSlicing, mps or mig"),
        (
            {"sharing": {"kind": "mps", "profile": "1g.5gb", "replicas": 2}},
            "sharing.profile: unknown setting; allowed here: kind, replicas",
        ),
        (
            {"taints": [{"key": "x", "effect": "NO_EXECUTE"}]},
            "taints.0.effect: invalid value 'NO_EXECUTE'; use NoSchedule, NoExecute or PreferNoSchedule (did you",
        ),
        ({"taints": [{"key": "x"}, {"kye": "x"}]}, "taints.1.kye: unknown setting; allowed here: effect, key, value"),
        ({"zones": [1]}, "zones.0: invalid value 1; use text"),
        ({"zones": ["us-west-2z"]}, "zones: us-west-2 has no zone 'us-west-2z'; choose one of us-west-2a, us-west-2b"),
        ({"sharing": {"kind": "mig", "profile": "1g.5gb"}}, "sharing: t4 does not support MIG; use"),
    ],
)
def test_a_fault_of_a_group_is_one_line_with_its_whole_key(group: dict[str, Any], line: str) -> None:
    tree = {"cluster": EKS, "nodeGroups": {"cpu": CPU, "g": {"accelerator": "t4", "max": 1, **group}}}
    (found,) = problems_of(tree)
    assert found.startswith(f"tensorplane:nodeGroups.g.{line}"), found


@pytest.mark.parametrize(
    ("cluster", "key"), [({**EKS, "kind": "ekz"}, "kind"), ({"kind": "eks"}, "region"), ({"region": "x"}, "kind")]
)
def test_nothing_is_concluded_from_a_cluster_that_cannot_be_told(cluster: dict[str, Any], key: str) -> None:
    gpus = {"accelerator": "t4", "max": 1, "provisioner": "automatic"}
    volumes = {"models": {"sizeGib": 1, "backend": {"kind": "storageClass"}}}
    (found,) = problems_of({"cluster": cluster, "nodeGroups": {"cpu": CPU, "gpus": gpus}, "volumes": volumes})
    assert found.startswith(f"tensorplane:cluster.{key}: "), found


def test_a_group_that_is_refused_is_not_missing_elsewhere() -> None:
    wrong = {"cpu": {**CPU, "min": "one"}}
    assert problems_of({"cluster": EKS, "nodeGroups": wrong}) == [
        "tensorplane:nodeGroups.cpu.min: invalid value 'one'; use a whole number"
    ]


def test_a_workload_that_misspells_its_group_is_the_only_fault() -> None:
    group = {"accelerator": "t4", "max": 1, "taints": [{"key": "team"}]}
    tree = dev()
    tree["nodeGroups"] = {"vision": group}
    del tree["workloads"]["digits"]["queue"]
    tree["workloads"]["digits"]["resources"] = {"gpus": 1, "nodeGroup": "vison"}
    assert [line.split(": ")[0] for line in problems_of(tree)] == ["tensorplane:workloads.digits.resources.nodeGroup"]
