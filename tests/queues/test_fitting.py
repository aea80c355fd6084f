"""Pods that no node of a kind can hold, and fragments: Kueue gives them no GPUs, or nobody lets them be asked for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from cli.commands.why import query
from components.base.labels import ACCELERATOR, HOSTNAME, ZONE
from components.base.model import Resources
from components.queues import QueueArgs, admission, flavors, quota, topology
from components.queues.room import PodSet
from tests.queues import in_force
from tests.queues.jobs import Jobs, Object, workers
from tests.queues.test_admission import BLOCK, example, refusal, template_of
from tests.support.waiting import eventually

T4, A100, H100 = "t4", "a100-80gb", "h100-80gb"
"""Four nodes each, with four, four and eight GPUs."""
NEAR = topology.annotations(None, required=False)
_QUEUES = {
    "whole": QueueArgs(cpus=0.1, memory_gib=0.1, gpus={T4: 16, A100: 16, H100: 16}),
    # It shares with nobody, and has the same nodes.
    "apart": QueueArgs(gpus={H100: 16}, cohort="none"),
}


def asking(gpus: int, *, queue: str, annotations: dict[str, str] = NEAR, **spec: Any) -> Object:
    """The JobSet of docs/queues.md with one pod of so many GPUs."""
    job = example()
    job["metadata"]["labels"] = {"kueue.x-k8s.io/queue-name": queue}
    (role,) = job["spec"]["replicatedJobs"]
    role["template"]["spec"] |= {"parallelism": 1, "completions": 1}
    template = template_of(job)
    template["metadata"] = {"annotations": {**annotations, "tensorplane.dev/simulated-duration": "24h"}}
    template["spec"] |= spec
    for amounts in template["spec"]["containers"][0]["resources"].values():
        amounts["nvidia.com/gpu"] = gpus
    return job


def _affinity(operator: str, *cards: str) -> Object:
    term = {"matchExpressions": [{"key": ACCELERATOR, "operator": operator, "values": list(cards)}]}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
    return {"affinity": {"nodeAffinity": required}}


@pytest.fixture(scope="module")
def by_node(jobs: Jobs) -> Iterator[None]:
    """Queues whose pods Kueue places by node, and the policy of such a stack for a team in a namespace of its own."""
    levels = (HOSTNAME,)
    kinds = flavors.of(jobs.resolved.fleet, own_nodes=True, levels=levels)
    spaces = admission.Spaces(
        stack=jobs.stack,
        teams=["by-node"],
        unqueued=[],
        kinds={name: [each.flavor for each in quota.of(args, kinds)] for name, args in _QUEUES.items()},
        gpus=True,
        only_job_sets=True,
    )
    with in_force.policy(jobs, "by-node", admission.jobs(spaces)), jobs.queues(_QUEUES, levels=levels):
        yield


@pytest.fixture
def placed(by_node: None, queues: Jobs) -> Jobs:
    """They, with no jobs."""
    return queues


def _nodes(jobs: Jobs, name: str) -> list[str]:
    return [pod["spec"]["nodeName"] for pod in jobs.pods(name)]


@pytest.mark.parametrize(
    ("gpus", "spec", "taken"),
    [
        (4, {}, True),
        (5, {}, False),
        (8, {}, False),
        (8, {"nodeSelector": {ACCELERATOR: H100}}, True),
        (8, {"nodeSelector": {ACCELERATOR: A100}}, False),
        (9, {"nodeSelector": {ACCELERATOR: H100}}, False),
        (8, _affinity("In", H100), True),
        (8, _affinity("In", H100, A100), False),
        (8, _affinity("NotIn", T4, A100), True),
        (8, _affinity("NotIn", T4), False),
    ],
)
def test_a_job_is_refused_that_might_get_nodes_with_too_few_gpus(
    jobs: Jobs, gpus: int, spec: dict[str, Any], taken: bool
) -> None:
    """Where groups grow, nobody can ask the nodes."""
    said = refusal(jobs, asking(gpus, queue="research", annotations={}, **spec))
    told = "a node of queue research may have (t4 4, a100-80gb 4, h100-80gb 8), and would stay pending; set in the pod"
    assert (said == "") is taken, said
    assert taken or told in said


def test_who_would_never_be_admitted_for_asking_to_be_placed_is_told(jobs: Jobs) -> None:
    assert "remove the annotation" in refusal(jobs, asking(1, queue="research"))


def test_where_pods_are_placed_by_node_they_ask_for_it(jobs: Jobs, by_node: None) -> None:
    def said(gpus: int, queue: str = "whole", **spec: Any) -> str:
        job = asking(gpus, queue=queue, **spec)
        job["metadata"]["namespace"] = "by-node"
        return refusal(jobs, job)

    told = 'metadata.annotations: {kueue.x-k8s.io/podset-unconstrained-topology: "true"}'
    # A policy is in force a moment after it is made.
    eventually(lambda: told in said(1, annotations={}))
    assert said(1) == ""
    assert said(8) == "", "Kueue goes on to the kind that has room"
    assert "a pod requests more GPUs than a node of queue" in said(9)
    assert "a pod requests more GPUs than a node of queue" in said(8, nodeSelector={ACCELERATOR: T4})
    assert said(8, "apart", annotations={}) == "", "all of its kinds are placed by node"
    zone = {"kueue.x-k8s.io/podset-required-topology": ZONE}
    assert "unknown topology level; choose one of kubernetes.io/hostname" in said(1, annotations=zone)


def test_a_pod_gets_the_kind_whose_nodes_hold_it(placed: Jobs) -> None:
    job = asking(8, queue="whole")
    job["metadata"]["namespace"] = placed.stack
    placed.api.create(job, manager="test")
    eventually(lambda: len(_nodes(placed, "sweep")) == 1)
    assert _nodes(placed, "sweep")[0].startswith("hopper")


def test_the_job_set_of_the_docs_runs_as_it_is_written(placed: Jobs) -> None:
    job = yaml.safe_load(BLOCK)
    job["metadata"] |= {"namespace": placed.stack, "labels": {"kueue.x-k8s.io/queue-name": "whole"}}
    placed.api.create(job, manager="test")
    eventually(lambda: placed.running()["sweep"] == 2)


def test_a_pod_that_finds_fragments_holds_nothing_until_a_node_is_whole(placed: Jobs) -> None:
    for number in range(4):
        placed.create(f"part-{number}", "whole", [workers(1, 4, card=H100)], near=NEAR, priority="batch")
    eventually(lambda: all(_nodes(placed, f"part-{number}") for number in range(4)))
    # Kueue fills node by node: two are full. One part of each goes.
    first, second = (next(n for n in range(4) if _nodes(placed, f"part-{n}") == [node]) for node in _both(placed))
    for number in (first, second):
        placed.delete(f"part-{number}")
    eventually(lambda: len(placed.seen()) == 2)
    for number in range(2):
        placed.create(f"apart-{number}", "apart", [workers(1, 8, card=H100)], near=NEAR, priority="batch")
    eventually(lambda: all(_nodes(placed, f"apart-{number}") for number in range(2)))
    # Of 16 GPUs in the queue's quota 8 are free: 4 on each of two nodes.
    placed.create("large", "whole", [workers(1, 8, card=H100)], near=NEAR, priority="batch")

    eventually(lambda: "no nodes have" in str(query.ask(placed.kube, placed.stack, "large", {}).lines))
    assert placed.seen()["large"].given == {}
    # The end of a job that shares no quota with it is seen, too.
    placed.delete("apart-0")
    eventually(lambda: len(_nodes(placed, "large")) == 1)


def _both(jobs: Jobs) -> list[str]:
    nodes = sorted({node for number in range(4) for node in _nodes(jobs, f"part-{number}")})
    assert len(nodes) == 2
    return nodes


def test_a_pod_without_gpus_needs_no_node_with_them(placed: Jobs) -> None:
    small = PodSet("chief", 1, Resources(cpus=0.05, memory_gib=0.05), together=False, interruptible=True)
    placed.create("plain", "whole", [small], priority="batch")
    eventually(lambda: placed.holds_quota("plain"))
    assert set(placed.seen()["plain"].given.values()) == {"cpu"}
