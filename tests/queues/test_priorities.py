"""Kinds of jobs that only a Kueue of the cluster's own admits have the priority of their queue too."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from components.queues import admission
from embedded.provider.api import GVK, ApiError
from tests.queues import in_force
from tests.queues.jobs import Jobs, Object
from tests.queues.test_admission import ranked, refusal
from tests.support.waiting import eventually

_NAMESPACE = "any-kind"


@pytest.fixture(scope="module")
def any_kind(jobs: Jobs) -> Iterator[Jobs]:
    """The policy for kinds that no stack knows, in a namespace of its own."""
    spaces = admission.Spaces(
        stack=jobs.stack,
        teams=[_NAMESPACE],
        unqueued=[],
        kinds={"research": [], "production": []},
        gpus=True,
        only_job_sets=False,
    )
    with in_force.policy(jobs, _NAMESPACE, admission.priorities(spaces)):
        eventually(lambda: refusal(jobs, plain("Pod", "research", "production")) != "")
        yield jobs


def plain(kind: str, of_queue: str, of_class: str) -> Object:
    """Something that is no Job, Deployment or JobSet."""
    bodies: dict[str, Object] = {
        "Pod": {"apiVersion": "v1", "spec": {"containers": [{"name": "a", "image": "a"}]}},
        "LocalQueue": {"apiVersion": "kueue.x-k8s.io/v1beta2", "spec": {"clusterQueue": "a"}},
        "ConfigMap": {"apiVersion": "v1"},
    }
    labels = ranked(of_queue, of_class)
    return {"kind": kind, "metadata": {"name": "a", "namespace": _NAMESPACE, "labels": labels}, **bodies[kind]}


@pytest.mark.parametrize("kind", ["Pod", "LocalQueue"])
def test_a_job_of_any_kind_with_the_priority_of_another_queue_is_refused(any_kind: Jobs, kind: str) -> None:
    told = "is not the priority class of the job's queue; set it to tensorplane-dev-research"
    assert told in refusal(any_kind, plain(kind, "research", "production"))
    assert refusal(any_kind, plain(kind, "research", "research")) == ""


def test_nor_does_it_get_it_afterwards(any_kind: Jobs) -> None:
    any_kind.api.create(plain("ConfigMap", "research", "research"), manager="test")
    with pytest.raises(ApiError, match="is not the priority class of the job's queue"):
        labels = ranked("research", "production")
        any_kind.api.patch(
            GVK("", "v1", "ConfigMap"), "a", _NAMESPACE, {"metadata": {"labels": labels}}, manager="test"
        )
