"""Kinds of jobs that only a Kueue of the cluster's own admits have the priority of their queue too."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tensorplane.components.admission import job_policies
from tensorplane.components.queues.flavors import Flavor
from tensorplane.core.errors import ApiError
from tensorplane.core.gvk import GVK
from tests.queues import in_force
from tests.queues.docs_job import ranked
from tests.queues.jobs import Jobs, Object
from tests.support.waiting import eventually

_NAMESPACE = "any-kind"
_TOLD = "is not the priority class of the job's queue; set it to tensorplane-dev-research"


@pytest.fixture(scope="module")
def any_kind(jobs: Jobs) -> Iterator[Jobs]:
    """The policy for kinds that no stack knows, in a namespace of its own."""
    kinds: dict[str, list[Flavor]] = {"research": [], "production": []}
    with in_force.policy(jobs, _NAMESPACE, job_policies.priorities, kinds, only_job_sets=False):
        # Other refusals come first: the namespace gets its service account a moment later, too.
        eventually(lambda: _TOLD in jobs.refusal(plain("Pod", "production")))
        yield jobs


def plain(kind: str, of_class: str) -> Object:
    """Something that is no Job, Deployment or JobSet, in queue `research`."""
    bodies: dict[str, Object] = {
        "Pod": {"apiVersion": "v1", "spec": {"containers": [{"name": "a", "image": "a"}]}},
        "LocalQueue": {"apiVersion": "kueue.x-k8s.io/v1beta2", "spec": {"clusterQueue": "a"}},
        "ConfigMap": {"apiVersion": "v1"},
    }
    about = {"generateName": "a-", "namespace": _NAMESPACE, "labels": ranked("research", of_class)}
    return {"kind": kind, "metadata": about, **bodies[kind]}


@pytest.mark.parametrize("kind", ["Pod", "LocalQueue"])
def test_a_job_of_any_kind_with_the_priority_of_another_queue_is_refused(any_kind: Jobs, kind: str) -> None:
    assert _TOLD in any_kind.refusal(plain(kind, "production"))
    assert any_kind.refusal(plain(kind, "research")) == ""


def test_nor_does_it_get_it_afterwards(any_kind: Jobs) -> None:
    made = any_kind.api.create(plain("ConfigMap", "research"), manager="test")
    change = {"metadata": {"labels": ranked("research", "production")}}
    with pytest.raises(ApiError, match="is not the priority class of the job's queue"):
        any_kind.api.patch(GVK("", "v1", "ConfigMap"), made["metadata"]["name"], _NAMESPACE, change, manager="test")
