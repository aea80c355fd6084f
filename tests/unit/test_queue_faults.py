"""What is wrong with queues, a line each: what could never be admitted, or would be admitted too much."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import yaml

import stack
from components.settings import Settings
from tests.unit import rendering
from tests.unit.rendering import PROJECT
from tests.unit.test_bad_settings import faults_of, put

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
    return [line.removeprefix("tensorplane:") for line in faults_of(tree)]


def spoiled(*changes: tuple[str, Any]) -> dict[str, Any]:
    tree = copy.deepcopy(TREE)
    for path, value in changes:
        put(tree, path, value)
    return tree


def test_the_unspoiled_settings_are_accepted() -> None:
    assert lines(TREE) == []


FAULTS: list[tuple[str, Any, str]] = [
    ("queues/low/memoryGib", 0, "queues.low.memoryGib: missing, with cpus given: need both, or neither"),
    ("queues/low/cpus", 0, "queues.low.cpus: missing, with memoryGib given: need both, or neither"),
    ("queues/idle", {}, "queues.idle: holds nothing: need cpus and memoryGib, or gpus, or mayBorrow"),
    ("queues/low/lends", {"t4": 9}, "queues.low.lends.t4: got 9, and 8 are the queue's own: need at most 8"),
    ("queues/low/lends", {"cpu": 9}, "queues.low.lends.cpu: got 9, and 8 are the queue's own: need at most 8"),
    ("queues/low/cohort", "lab", "queues.low.cohort: no cohort named 'lab', have none"),
    ("queues/low/teams", ["visoin"], "queues.low.teams: no team named 'visoin', have vision (did you mean vision?)"),
    (
        "queues/low/gpus",
        {"a100": 8},
        "queues.low.gpus.a100: unknown kind of machine, the groups have t4, a100-40gb (did you mean a100-40gb?)",
    ),
    (
        "queues/high/mayBorrow",
        {"any": 1},
        "queues.high.mayBorrow.any: any is for stacks without nodeGroups; the groups have t4, a100-40gb, cpu",
    ),
    (
        "queues/low/gpus",
        {"t4": 9},
        "queues.low.gpus.t4: the queues hold 9 of t4 (low 9), and the full node groups have 8: need at most 8 here,"
        " or a higher max there",
    ),
    (
        "queues/low/mayBorrow",
        {"a100-40gb": 9},
        "queues.low.mayBorrow.a100-40gb: got 9, and the others lend 8 (high 8): need at most 8",
    ),
    (
        "queues/low/mayBorrow",
        {"t4": 1},
        "queues.low.mayBorrow.t4: got 1, and no queue of its cohort lends t4: leave it out",
    ),
    (
        "queues/high/cohort",
        "none",
        "queues.low.mayBorrow.a100-40gb: got 4, and no queue of its cohort lends a100-40gb: leave it out",
    ),
    ("cohorts", {"none": {}}, "cohorts.none: none is what queues say that are in no cohort: need another name"),
    ("cohorts", {"a": {"parent": "b"}}, "cohorts.a.parent: no cohort named 'b', have a"),
    (
        "cohorts",
        {"a": {"parent": "a"}},
        "cohorts.a.parent: a circle (a in a): need a cohort that is not inside this one",
    ),
    (
        "teams/speech",
        {"namespace": "vision"},
        "teams.speech.namespace: the namespace vision is team vision's: need another",
    ),
    (
        "teams/speech",
        {"namespace": "lab"},
        "teams.speech: lab is the stack's own, which has every queue: need another",
    ),
    (
        "teams/lab",
        {"namespace": "talk"},
        "teams.lab: lab is the stack's own, which has every queue: need another",
    ),
    (
        "workloads/job/strategy/workers",
        5,
        "workloads.job.queue: 5 worker pods of 2 GPUs, 4 CPUs, 16 GiB, but queue high holds at most a100-40gb with 8"
        " GPUs, 96 CPUs, 1152 GiB: they would never start (nearest: 4)",
    ),
    (
        "workloads/job/resources/accelerator",
        "t4",
        "workloads.job.queue: 2 worker pods of 2 GPUs, 4 CPUs, 16 GiB, and queue high has a100-40gb, no t4 that would"
        " take them: they would never start",
    ),
    (
        "queues/low/cpus",
        100,
        "queues.low.cpus: the queues hold 100 cores (low 100), and the full node groups have 16: need at most 16 here,"
        " or a higher max there",
    ),
    (
        "queues/low/memoryGib",
        100,
        "queues.low.memoryGib: the queues hold 100 GiB (low 100), and the full node groups have 64: need at most 64"
        " here, or a higher max there",
    ),
    (
        "workloads/job/resources/gpus",
        0,
        "workloads.job.queue: 2 worker pods of 4 CPUs, 16 GiB, and queue high has a100-40gb, no CPUs that would take"
        " them: they would never start",
    ),
    (
        "workloads/job/resources/nodeGroup",
        "old",
        "workloads.job.queue: 2 worker pods of 2 GPUs, 4 CPUs, 16 GiB, and queue high has a100-40gb, no old that would"
        " take them: they would never start",
    ),
    (
        "workloads/job/within",
        "host",
        "workloads.job.within: given, and the stack names no levels of its network: need topology, such as"
        " [zone, host]",
    ),
    (
        "workloads/job/queue",
        "low",
        "workloads.job.checkpoints: missing: queue low may borrow a100-40gb, whose owner may want it back, and the"
        " job would begin anew: need checkpoints to go on from, or a queue that borrows none of it",
    ),
]


@pytest.mark.parametrize(("path", "value", "line"), FAULTS, ids=[line.split(": ")[0] for _, _, line in FAULTS])
def test_one_fault_is_one_line(path: str, value: Any, line: str) -> None:
    assert lines(spoiled((path, value))) == [line]


def test_a_queue_in_no_cohort_shares_nothing() -> None:
    tree = spoiled(
        ("queues/low/cohort", "none"), ("queues/low/weight", 2), ("queues/low/lends", {"t4": 1}), ("workloads", {})
    )
    assert lines(tree) == [
        "queues.low.mayBorrow: given, with cohort none: need a cohort to do that in, or leave it out",
        "queues.low.lends: given, with cohort none: need a cohort to do that in, or leave it out",
        "queues.low.weight: given, with cohort none, where nothing is shared: leave it out",
    ]


def test_grace_is_no_shorter_than_saving_a_checkpoint() -> None:
    tree = spoiled(
        ("workloads/job/queue", "low"),
        ("workloads/job/volumes", {"data": "/data"}),
        ("workloads/job/checkpoints", CHECKPOINTS),
        ("workloads/job/graceSeconds", 30),
    )
    assert lines(tree) == [
        "workloads.job.graceSeconds: got 30, and saving a checkpoint takes 45: queue low may borrow a100-40gb, whose"
        " owner may want it back; need at least 45"
    ]
    put(tree, "workloads/job/graceSeconds", 45)
    assert lines(tree) == []


@pytest.mark.parametrize("machine", [{"accelerator": "t4"}, {"accelerator": "t4", "perNode": 4}])
def test_processors_need_nodes_that_have_them(machine: dict[str, Any]) -> None:
    tree = spoiled(("cluster", {"kind": "existing", "context": "lab"}), ("workloads", {}), ("volumes", {}))
    tree["nodeGroups"] = {"old": {**machine, "max": 8}}
    tree["queues"] = {"low": {"cpus": 8, "memoryGib": 32, "gpus": {"t4": 8}}}
    reason = "given, and no node group is without accelerator: need one, or leave it out"
    assert lines(tree) == [f"queues.low.cpus: {reason}"]


def test_no_cards_are_there() -> None:
    tree = spoiled(("workloads", {}), ("queues", {"low": {"gpus": {"t4": 1}}}))
    tree["nodeGroups"] = {"cpu": tree["nodeGroups"]["cpu"]}
    assert lines(tree) == ["queues.low.gpus.t4: no node group has GPUs"]


def test_nobody_tells_which_cards_there_are() -> None:
    tree = spoiled(("queues", {"low": {"cpus": 8, "memoryGib": 32, "gpus": {"t4": 8}}}), ("volumes", {}))
    own(tree)
    reason = "no node groups are declared that say which cards there are: need any, or nodeGroups"
    assert lines(tree) == [f"queues.low.gpus.t4: {reason}"]
    put(tree, "queues/low", {"gpus": {"any": 8}})
    reason = "missing, with gpus {any: 8} given: the pods on them ask for cores, too: need cpus and memoryGib"
    assert lines(tree) == [f"queues.low.cpus: {reason}"]


def test_cores_and_gpus_that_nobody_describes_are_lent_apart() -> None:
    tree = spoiled(("volumes", {}))
    own(tree)
    tree["queues"] = {
        "owner": {"cpus": 8, "memoryGib": 32, "gpus": {"any": 8}, "lends": {"any": 2}},
        "guest": {"mayBorrow": {"cpu": 8, "any": 4}},
    }
    assert lines(tree) == [
        "queues.guest.mayBorrow.any: got 4, and the others lend 2 (owner 2): need at most 2",
    ]
    tree["queues"]["guest"] = {"mayBorrow": {"any": 2}}
    reason = "missing, with mayBorrow {any: 2} given: the pods on them ask for cores, too: need cpus and memoryGib"
    assert lines(tree) == [f"queues.guest.cpus: {reason}"]
    tree["queues"]["guest"] = {"mayBorrow": {"cpus": 8}}
    reason = "no node groups are declared that say which cards there are: need any or cpu, or nodeGroups"
    assert lines(tree) == [f"queues.guest.mayBorrow.cpus: {reason}"]


def test_more_kinds_than_kueue_takes() -> None:
    tree = spoiled(("workloads", {}), ("queues", {}))
    for index in range(65):
        taint = {"key": "team", "value": str(index)}
        tree["nodeGroups"][f"g{index}"] = {"accelerator": "t4", "max": 1, "taints": [taint]}
    tree["queues"] = {"low": {"gpus": {f"t4-g{index}": 1 for index in range(65)}}}
    assert lines(tree) == [
        "queues.low: uses 65 kinds of machines, and Kueue takes at most 64 for a queue: need several queues"
    ]


def test_more_taints_than_kueue_takes() -> None:
    tree = spoiled(("workloads", {}))
    tree["nodeGroups"]["full"] = {"accelerator": "t4", "max": 1, "taints": [{"key": f"k{n}"} for n in range(8)]}
    assert lines(tree) == [
        "nodeGroups: t4-full comes to 9 taints with those that its nodes have by themselves, and Kueue takes at most 8:"
        " need fewer"
    ]


def test_a_groups_name_that_makes_its_kind_too_long_or_anothers() -> None:
    tree = spoiled(("workloads", {}))
    tree["nodeGroups"]["cheap"] = {"accelerator": "t4", "spot": True, "max": 1}
    long = "g" * 55
    for name, card in (("spot", {"accelerator": "t4"}), (long, {"accelerator": "a100-40gb", "perNode": 8})):
        tree["nodeGroups"][name] = {**card, "max": 1, "taints": [{"key": "team", "value": name}]}
    assert lines(tree) == [
        f"nodeGroups.{long}: it makes its nodes the kind a100-40gb-{long}, which is longer than the 63 of a label: need"
        " a name of at most 53 characters",
        "nodeGroups.spot: with its taint it is the kind t4-spot, and so is cheap: need another name",
    ]


def test_queues_and_teams_whose_names_run_together_are_still_two() -> None:
    tree = spoiled(("workloads", {}))
    tree["teams"] = {"b": {}, "b-c": {}, "c": {}}
    tree["queues"] = {
        name: {"cpus": 1, "memoryGib": 1, "teams": teams}
        for name, teams in {"a": ["b", "b-c"], "a-b": ["c"], "a-b-c": []}.items()
    }
    made = rendering.run(lambda: stack.build(stack.StackConfig.load(Settings(tree))))
    names = [one.name for one in made.all("LocalQueue")]
    assert len(names) == len(set(names)) == 6


def test_the_example_is_as_it_was() -> None:
    tree = yaml.safe_load((PROJECT / "examples" / "queues.yaml").read_text())["config"]
    assert faults_of({key.removeprefix("tensorplane:"): value for key, value in tree.items()}) == []
