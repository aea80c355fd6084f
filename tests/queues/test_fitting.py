"""Pods that no node of a kind can hold: nobody lets them be asked for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tensorplane.components.admission import job_policies
from tensorplane.components.base.labels import ACCELERATOR, HOSTNAME, ZONE
from tensorplane.components.queues import flavors, quota
from tests.queues import in_force
from tests.queues.docs_job import asking
from tests.queues.jobs import Jobs, Object
from tests.queues.placed import A100, H100, QUEUES, T4
from tests.support.waiting import eventually

_NAMESPACE = "by-node"


def _affinity(operator: str, *cards: str) -> Object:
    term = {"matchExpressions": [{"key": ACCELERATOR, "operator": operator, "values": list(cards)}]}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
    return {"affinity": {"nodeAffinity": required}}


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
    said = jobs.refusal(asking(gpus, queue="research", annotations={}, **spec))
    told = "a node of queue research may have (t4 4, a100-80gb 4, h100-80gb 8), and would stay pending; set in the pod"
    assert (said == "") is taken, said
    assert taken or told in said


def test_who_would_never_be_admitted_for_asking_to_be_placed_is_told(jobs: Jobs) -> None:
    assert "remove the annotation" in jobs.refusal(asking(1, queue="research"))


@pytest.fixture
def by_node(jobs: Jobs) -> Iterator[None]:
    """The policy of a stack whose pods Kueue places by node, for a team in a namespace of its own."""
    placed = flavors.of(jobs.resolved.fleet, own_nodes=True, levels=(HOSTNAME,))
    kinds = {name: [each.flavor for each in quota.of(args, placed)] for name, args in QUEUES.items()}
    with in_force.policy(jobs, _NAMESPACE, job_policies.jobs, kinds):
        yield


def test_where_pods_are_placed_by_node_they_ask_for_it(jobs: Jobs, by_node: None) -> None:
    def said(gpus: int, queue: str = "whole", **spec: Any) -> str:
        job = asking(gpus, queue=queue, **spec)
        job["metadata"]["namespace"] = _NAMESPACE
        return jobs.refusal(job)

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
