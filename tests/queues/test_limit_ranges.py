"""LimitRanges in the stack's namespaces: they give no GPUs to containers that request none."""

from __future__ import annotations

from typing import Any

import pytest

from tensorplane.cli.commands.check import guarded_pods
from tensorplane.components.admission import gpu_guard
from tensorplane.core.errors import ApiError
from tensorplane.core.gvk import GVK
from tests.queues import in_force
from tests.queues.docs_job import TEAM
from tests.queues.jobs import Jobs, Object
from tests.support.waiting import eventually

GPU = "nvidia.com/gpu"
LIMIT_RANGE = GVK("", "v1", "LimitRange")
REFUSED = "containers that request no GPUs would get some"


def limit_range(namespace: str, /, kind: str = "Container", **limits: Any) -> Object:
    limits = {key: {name: str(amount) for name, amount in each.items()} for key, each in limits.items()}
    about = {"name": "some", "namespace": namespace}
    return {
        "apiVersion": "v1",
        "kind": "LimitRange",
        "metadata": about,
        "spec": {"limits": [{"type": "PersistentVolumeClaim", "max": {"storage": "1Gi"}}, {"type": kind, **limits}]},
    }


GIVING: list[Object] = [
    {"default": {GPU: 1}},
    {"defaultRequest": {GPU: 1}},
    {"max": {GPU: 4}},
    {"min": {GPU: 1}},
    {"max": {GPU: 4}, "default": {GPU: 4, "cpu": 1}},
    {"default": {"c600.graphcore.ai/ipu": 1}},
]
HARMLESS: list[Object] = [
    {"max": {"cpu": 8, "memory": "1Gi"}},
    {"max": {GPU: 4}, "default": {GPU: 0}},
    {"max": {GPU: 0}},
    {"kind": "Pod", "max": {GPU: 8}},
]


@pytest.mark.parametrize("limits", GIVING, ids=str)
def test_one_that_gives_gpus_is_refused(jobs: Jobs, limits: Object) -> None:
    for namespace in (jobs.stack, TEAM):
        assert REFUSED in jobs.refusal(limit_range(namespace, **limits)), namespace
    assert jobs.refusal(limit_range("default", **limits)) == "", "no stack manages this namespace"


@pytest.mark.parametrize("limits", HARMLESS, ids=str)
def test_one_that_only_limits_is_let_in(jobs: Jobs, limits: Object) -> None:
    for namespace in (jobs.stack, TEAM):
        assert jobs.refusal(limit_range(namespace, **limits)) == "", namespace


def test_one_that_was_there_before_stays_and_can_be_labelled(jobs: Jobs) -> None:
    namespace = "earlier"
    jobs.api.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}, manager="test")
    jobs.api.apply(limit_range(namespace, max={GPU: 1}), manager="test")
    with in_force.policy(jobs, namespace, lambda _: gpu_guard.limit_ranges(), {}):
        another = {**limit_range(namespace, max={GPU: 1}), "metadata": {"name": "another", "namespace": namespace}}
        eventually(lambda: REFUSED in jobs.refusal(another))
        jobs.api.patch(LIMIT_RANGE, "some", namespace, {"metadata": {"labels": {"a": "b"}}}, manager="test")
        more = limit_range(namespace, max={GPU: 2})["spec"]
        with pytest.raises(ApiError, match=REFUSED):
            jobs.api.patch(LIMIT_RANGE, "some", namespace, {"spec": more}, manager="test")
        assert guarded_pods.gives_some(jobs.api.get(LIMIT_RANGE, "some", namespace))
