"""What is wrong with queues, a line each: what could never be admitted, or would be admitted too much."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import yaml

from tests.support.problems import dev, problems_of, put
from tests.support.rendered_files import rendered_tree
from tests.support.rendering import GPU_IMAGE, PROJECT

# Two cards and processors, two queues that hold all of it.
TREE: dict[str, Any] = {
    "cluster": {"kind": "eks", "region": "us-west-2", "endpoint": {"deployFromInside": True}},
    "namespace": "lab",
    "nodeGroups": {
        "cpu": {"machine": "m7i.2xlarge", "min": 1, "max": 2},
        "old": {"accelerator": "t4", "perNode": 4, "max": 2},
        "new": {"accelerator": "a100-40gb", "perNode": 8, "max": 1},
    },
    "teams": {"vision": {}},
    "queues": {
        "low": {"priority": "low", "cpus": 8, "memoryGib": 32, "gpus": {"t4": 8}, "mayBorrow": {"a100-40gb": 4}},
        "high": {"priority": "high", "gpus": {"a100-40gb": 8}, "teams": ["vision"]},
    },
    "volumes": {"data": {"sizeGib": 10}},
    "workloads": {
        "job": {
            "kind": "trainingJob",
            "strategy": {"kind": "multiWorkerMirrored", "workers": 2},
            "command": ["python3", "train.py"],
            "image": GPU_IMAGE,
            "resources": {"cpus": 4, "memoryGib": 16, "gpus": 2},
            "queue": "high",
        }
    },
}
CHECKPOINTS = {"volume": "data", "everySteps": 10, "saveSeconds": 45}


def own(tree: dict[str, Any]) -> None:
    """No node groups: a cluster whose nodes nobody describes."""
    tree.update(cluster={"kind": "existing", "context": "lab"}, nodeGroups={})
    tree["workloads"] = {}


def lines(tree: dict[str, Any]) -> list[str]:
    return [line.removeprefix("tensorplane:") for line in problems_of(tree)]


def spoiled(*changes: tuple[str, Any]) -> dict[str, Any]:
    tree = copy.deepcopy(TREE)
    for path, value in changes:
        put(tree, path, value)
    return tree


def test_the_unspoiled_settings_are_accepted() -> None:
    assert lines(TREE) == []


FAULTS: list[tuple[str, Any, str]] = [
    ("queues/low/memoryGib", 0, "queues.low.memoryGib: missing, but cpus is set; set both, or neither"),
    ("queues/low/cpus", 0, "queues.low.cpus: missing, but memoryGib is set; set both, or neither"),
    ("queues/idle", {}, "queues.idle: has no quota; set cpus and memoryGib, or gpus, or mayBorrow"),
    ("queues/low/lends", {"t4": 9}, "queues.low.lends.t4: is 9, but the queue's nominal quota is 8; set 8 or less"),
    ("queues/low/lends", {"cpu": 9}, "queues.low.lends.cpu: is 9, but the queue's nominal quota is 8; set 8 or less"),
    ("queues/low/cohort", "lab", "queues.low.cohort: no cohort is named 'lab'; choose one of none"),
    (
        "queues/low/teams",
        ["visoin"],
        "queues.low.teams: no team is named 'visoin'; choose one of vision (did you mean vision?)",
    ),
    (
        "queues/low/gpus",
        {"a100": 8},
        "queues.low.gpus.a100: unknown accelerator; choose one of t4, a100-40gb (did you mean a100-40gb?)",
    ),
    (
        "queues/high/mayBorrow",
        {"any": 1},
        "queues.high.mayBorrow.any: any is for stacks without nodeGroups; use one of t4, a100-40gb, cpu",
    ),
    (
        "queues/low/gpus",
        {"t4": 9},
        "queues.low.gpus.t4: the queues' quotas are 9 of t4 (low 9), but the node groups have at most 8; set "
        "8 or less here, or raise max of a node group",
    ),
    (
        "queues/low/mayBorrow",
        {"a100-40gb": 9},
        "queues.low.mayBorrow.a100-40gb: is 9, but the other queues lend 8 (high 8); set 8 or less",
    ),
    (
        "queues/low/mayBorrow",
        {"t4": 1},
        "queues.low.mayBorrow.t4: is 1, but no queue of its cohort lends t4; remove it",
    ),
    (
        "queues/high/cohort",
        "none",
        "queues.low.mayBorrow.a100-40gb: is 4, but no queue of its cohort lends a100-40gb; remove it",
    ),
    ("cohorts", {"none": {}}, "cohorts.none: none is reserved for queues without a cohort; use another name"),
    ("cohorts", {"a": {"parent": "b"}}, "cohorts.a.parent: no cohort is named 'b'; choose one of a"),
    (
        "cohorts",
        {"a": {"parent": "a"}},
        "cohorts.a.parent: the cohorts form a cycle (a in a); set a parent that is not inside this cohort",
    ),
    (
        "teams/speech",
        {"namespace": "vision"},
        "teams.speech.namespace: namespace vision belongs to team vision; use another",
    ),
    (
        "teams/speech",
        {"namespace": "lab"},
        "teams.speech: lab is the namespace of the stack, which already has every queue; use another",
    ),
    (
        "teams/lab",
        {"namespace": "talk"},
        "teams.lab: lab is the namespace of the stack, which already has every queue; use another",
    ),
    (
        "workloads/job/strategy/workers",
        5,
        "workloads.job.queue: 5 worker pods of 2 GPUs, 4 CPUs, 16 GiB would never start: queue high has at "
        "most a100-40gb with 8 GPUs, 96 CPUs, 1152 GiB; lower them, or raise the quota (nearest: 4)",
    ),
    (
        "workloads/job/resources/accelerator",
        "t4",
        "workloads.job.queue: 2 worker pods of 2 GPUs, 4 CPUs, 16 GiB would never start: queue high has "
        "a100-40gb, but no t4 for them; use another queue",
    ),
    (
        "workloads/job/resources/cpus",
        25,
        "workloads.job.resources.cpus: worker pods request 25 cores, but 2 GPUs of a100-40gb come with 24, so queue "
        "high would not get its guaranteed a100-40gb back from queues that borrow them; lower it, raise gpus, or "
        "choose an accelerator with more cores per GPU",
    ),
    (
        "workloads/job/resources/memoryGib",
        289,
        "workloads.job.resources.memoryGib: worker pods request 289 GiB, but 2 GPUs of a100-40gb come with 288, so "
        "queue high would not get its guaranteed a100-40gb back from queues that borrow them; lower it, raise gpus, or "
        "choose an accelerator with more GiB per GPU",
    ),
    (
        "queues/low/cpus",
        100,
        "queues.low.cpus: the queues' quotas are 100 cores (low 100), but the node groups have at most 16; "
        "set 16 or less here, or raise max of a node group",
    ),
    (
        "queues/low/memoryGib",
        100,
        "queues.low.memoryGib: the queues' quotas are 100 GiB (low 100), but the node groups have at most "
        "64; set 64 or less here, or raise max of a node group",
    ),
    (
        "workloads/job/resources/gpus",
        0,
        "workloads.job.queue: 2 worker pods of 4 CPUs, 16 GiB would never start: queue high has a100-40gb, "
        "but no CPUs for them; use another queue",
    ),
    (
        "workloads/job/resources/nodeGroup",
        "old",
        "workloads.job.queue: 2 worker pods of 2 GPUs, 4 CPUs, 16 GiB would never start: queue high has "
        "a100-40gb, but no old for them; use another queue",
    ),
    (
        "workloads/job/within",
        "host",
        "workloads.job.within: is set, but the stack has no topology; set topology, such as [zone, host]",
    ),
    (
        "workloads/job/queue",
        "low",
        "workloads.job.checkpoints: missing, but queue low may borrow a100-40gb, which Kueue can reclaim, "
        "and the job would start over; set checkpoints, or use a queue that does not borrow it",
    ),
]


@pytest.mark.parametrize(("path", "value", "line"), FAULTS, ids=[line.split(": ")[0] for _, _, line in FAULTS])
def test_one_fault_is_one_line(path: str, value: Any, line: str) -> None:
    assert lines(spoiled((path, value))) == [line]


@pytest.mark.parametrize(
    "change",
    [
        ("workloads/job/resources/cpus", 24),
        ("queues/low/mayBorrow", {}),
        ("queues/high/lends", {"a100-40gb": 0}),
        ("workloads/job/strategy/workers", 3),
    ],
    ids=["within its share", "nobody borrows", "lends none", "larger than what is guaranteed"],
)
def test_cores_are_no_fault_where_no_guaranteed_gpus_could_be_lent_to_others(change: tuple[str, Any]) -> None:
    above = (
        ("queues/high/gpus", {"a100-40gb": 5}),
        ("queues/high/mayBorrow", {"a100-40gb": 3}),
        ("queues/low/gpus", {"t4": 8, "a100-40gb": 3}),
        ("workloads/job/volumes", {"data": "/data"}),
        ("workloads/job/checkpoints", {**CHECKPOINTS, "saveSeconds": 5}),
        ("workloads/job/resources/cpus", 25),
    )
    assert [line.split(":")[0] for line in lines(spoiled(*above))] == ["workloads.job.resources.cpus"]
    assert [line for line in lines(spoiled(*above, change)) if line.startswith("workloads")] == []


def test_a_queue_in_no_cohort_shares_nothing() -> None:
    tree = spoiled(
        ("queues/low/cohort", "none"), ("queues/low/weight", 2), ("queues/low/lends", {"t4": 1}), ("workloads", {})
    )
    assert lines(tree) == [
        "queues.low.mayBorrow: is set, but cohort none shares nothing; set another cohort, or remove it",
        "queues.low.lends: is set, but cohort none shares nothing; set another cohort, or remove it",
        "queues.low.weight: is set, but cohort none shares nothing; remove it",
    ]


def test_grace_is_no_shorter_than_saving_a_checkpoint() -> None:
    tree = spoiled(
        ("workloads/job/queue", "low"),
        ("workloads/job/volumes", {"data": "/data"}),
        ("workloads/job/checkpoints", CHECKPOINTS),
        ("workloads/job/graceSeconds", 30),
    )
    assert lines(tree) == [
        "workloads.job.graceSeconds: is 30, but saving a checkpoint takes 45 s, and queue low may borrow "
        "a100-40gb, which Kueue can reclaim; set 45 or more"
    ]
    put(tree, "workloads/job/graceSeconds", 45)
    assert lines(tree) == []


@pytest.mark.parametrize("machine", [{"accelerator": "t4"}, {"accelerator": "t4", "perNode": 4}])
def test_processors_need_nodes_that_have_them(machine: dict[str, Any]) -> None:
    tree = spoiled(("cluster", {"kind": "existing", "context": "lab"}), ("workloads", {}), ("volumes", {}))
    tree["nodeGroups"] = {"old": {**machine, "max": 8}}
    tree["queues"] = {"low": {"cpus": 8, "memoryGib": 32, "gpus": {"t4": 8}}}
    reason = "is set, but every node group has an accelerator; declare one without, or remove it"
    assert lines(tree) == [f"queues.low.cpus: {reason}"]


def test_no_cards_are_there() -> None:
    tree = spoiled(("workloads", {}), ("queues", {"low": {"gpus": {"t4": 1}}}))
    tree["nodeGroups"] = {"cpu": tree["nodeGroups"]["cpu"]}
    assert lines(tree) == ["queues.low.gpus.t4: no node group has GPUs; remove it, or declare a group with GPUs"]


def test_nobody_tells_which_cards_there_are() -> None:
    tree = spoiled(("queues", {"low": {"cpus": 8, "memoryGib": 32, "gpus": {"t4": 8}}}), ("volumes", {}))
    own(tree)
    reason = "no nodeGroups are declared, so accelerators are unknown; use any, or declare nodeGroups"
    assert lines(tree) == [f"queues.low.gpus.t4: {reason}"]
    put(tree, "queues/low", {"gpus": {"any": 8}})
    reason = "missing, but gpus {any: 8} is set, and pods with GPUs also request CPUs; set cpus and memoryGib"
    assert lines(tree) == [f"queues.low.cpus: {reason}"]


def test_cores_and_gpus_that_nobody_describes_are_lent_apart() -> None:
    tree = spoiled(("volumes", {}))
    own(tree)
    tree["queues"] = {
        "owner": {"cpus": 8, "memoryGib": 32, "gpus": {"any": 8}, "lends": {"any": 2}},
        "guest": {"mayBorrow": {"cpu": 8, "any": 4}},
    }
    assert lines(tree) == [
        "queues.guest.mayBorrow.any: is 4, but the other queues lend 2 (owner 2); set 2 or less",
    ]
    tree["queues"]["guest"] = {"mayBorrow": {"any": 2}}
    reason = "missing, but mayBorrow {any: 2} is set, and pods with GPUs also request CPUs; set cpus and memoryGib"
    assert lines(tree) == [f"queues.guest.cpus: {reason}"]
    tree["queues"]["guest"] = {"mayBorrow": {"cpus": 8}}
    reason = "no nodeGroups are declared, so accelerators are unknown; use any or cpu, or declare nodeGroups"
    assert lines(tree) == [f"queues.guest.mayBorrow.cpus: {reason}"]


def test_more_kinds_than_kueue_takes() -> None:
    tree = spoiled(("workloads", {}), ("queues", {}))
    for index in range(65):
        taint = {"key": "team", "value": str(index)}
        tree["nodeGroups"][f"g{index}"] = {"accelerator": "t4", "max": 1, "taints": [taint]}
    tree["queues"] = {"low": {"gpus": {f"t4-g{index}": 1 for index in range(65)}}}
    assert lines(tree) == [
        "queues.low: uses 65 flavors, but a Kueue ClusterQueue has at most 64; split it into several queues"
    ]


def test_more_taints_than_kueue_takes() -> None:
    tree = spoiled(("workloads", {}))
    tree["nodeGroups"]["full"] = {"accelerator": "t4", "max": 1, "taints": [{"key": f"k{n}"} for n in range(8)]}
    assert lines(tree) == [
        "nodeGroups: flavor t4-full has 9 taints, including those of its nodes, but a Kueue ResourceFlavor "
        "has at most 8; set fewer"
    ]


def test_a_groups_name_that_makes_its_kind_too_long_or_anothers() -> None:
    tree = spoiled(("workloads", {}))
    tree["nodeGroups"]["cheap"] = {"accelerator": "t4", "spot": True, "max": 1}
    long = "g" * 55
    for name, card in (("spot", {"accelerator": "t4"}), (long, {"accelerator": "a100-40gb", "perNode": 8})):
        tree["nodeGroups"][name] = {**card, "max": 1, "taints": [{"key": "team", "value": name}]}
    assert lines(tree) == [
        f"nodeGroups.{long}: flavor a100-40gb-{long} exceeds the 63 characters of a label; use a name of at most 53 "
        "characters",
        "nodeGroups.spot: its taint makes it flavor t4-spot, which cheap is too; rename the group",
    ]


def test_queues_and_teams_whose_names_run_together_are_still_two() -> None:
    tree = spoiled(("workloads", {}))
    tree["teams"] = {"b": {}, "b-c": {}, "c": {}}
    tree["queues"] = {
        name: {"cpus": 1, "memoryGib": 1, "teams": teams}
        for name, teams in {"a": ["b", "b-c"], "a-b": ["c"], "a-b-c": []}.items()
    }
    made = rendered_tree(tree)
    names = [one.name for one in made.all("LocalQueue")]
    assert len(names) == len(set(names)) == 6


def test_the_example_is_as_it_was() -> None:
    tree = yaml.safe_load((PROJECT / "examples" / "queues.yaml").read_text())["config"]
    assert problems_of({key.removeprefix("tensorplane:"): value for key, value in tree.items()}) == []


def test_a_queue_name_leaves_room_for_the_namespace() -> None:
    tree = {"namespace": "n" * 40, "queues": {"q" * 30: {"cpus": 1, "memoryGib": 1}}}
    assert problems_of(tree) == [
        f"tensorplane:queues.{'q' * 30}: the name has 30 characters; shorten it to 22, the limit in namespace "
        f"{'n' * 40}"
    ]


@pytest.mark.parametrize(("cpus", "holds", "fits"), [(0.1, 0.3, True), (0.1, 0.29, False), (0.3334, 1.001, False)])
def test_a_queue_holds_what_kubernetes_will_count(cpus: float, holds: float, fits: bool) -> None:
    """3 x 0.1 is a little more than 0.3 to a computer; 0.3334 cores are 334 thousandths in each pod."""
    tree = dev()
    put(tree, "queues/training", {"cpus": holds, "memoryGib": 100})
    put(tree, "workloads/digits/strategy/workers", 3)
    put(tree, "workloads/digits/resources/cpus", cpus)
    assert (problems_of(tree) == []) is fits
