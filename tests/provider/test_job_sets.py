"""A real API server takes the manifests of jobs: the JobSet by its CustomResourceDefinition, each role as a Job."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Literal

import pytest
import yaml

from tensorplane.components.base.model import Resources
from tensorplane.core.errors import ApiError
from tensorplane.core.gvk import GVK
from tensorplane.core.kube_objects import Objects
from tensorplane.toolchain import tools
from tensorplane.workloads.training_job.context import JobContext, Placement
from tensorplane.workloads.training_job.manifest import plan
from tensorplane.workloads.training_job.role import TENSORFLOW, TENSORFLOW_PORT, Role
from tensorplane.workloads.training_job.settings import JobSettings
from tensorplane.workloads.training_job.strategies import Strategy
from tests.support.waiting import eventually

Object = dict[str, Any]


class ByPod(Strategy, family=True):
    """A coordinator that restarts the gang, and workers that restart one by one; no setting can name it."""

    kind: Literal["byPod"] = "byPod"

    def roles(self, resources: Resources) -> Sequence[Role]:
        ports = {TENSORFLOW: TENSORFLOW_PORT}
        return [
            Role("chief", 1, resources, ports),
            Role("worker", 3, resources, ports, restart="pod", required_for_success=False),
        ]


@pytest.fixture(scope="module")
def job_sets(api: Objects) -> Iterator[None]:
    """The API server knows JobSets, as the chart defines them."""
    (definition,) = (yaml.safe_load(file.read_text()) for file in (tools().charts / "jobset" / "crds").iterdir())
    kind, name = GVK.of(definition), definition["metadata"]["name"]
    api.create(definition, manager="tests")
    eventually(lambda: _is_served(api))
    yield
    api.delete(kind, name)


def _is_served(api: Objects) -> bool:
    """A moment after the CRD is called established."""
    try:
        return api.list(GVK("jobset.x-k8s.io", "v1alpha2", "JobSet"), "default") == []
    except ApiError:
        return False


@pytest.fixture
def job_set(namespace: str) -> Object:
    settings = JobSettings.model_validate({"command": ["python3", "train.py"], "strategy": {"kind": "single"}})
    roles = {"chief": Placement(), "worker": Placement()}
    planned = plan(
        settings.model_copy(update={"strategy": ByPod()}), JobContext("trial-7", namespace, roles), image="team/train:1"
    )
    return planned.job_set


def _job(job_set: Object, role: str) -> Object:
    """The Job that JobSet's controller makes of a role."""
    (spec,) = (each["template"]["spec"] for each in job_set["spec"]["replicatedJobs"] if each["name"] == role)
    metadata = {"name": f"trial-7-{role}-0", "namespace": job_set["metadata"]["namespace"]}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": spec}


@pytest.mark.usefixtures("job_sets")
def test_a_job_set_with_a_role_that_restarts_by_pod_is_taken(api: Objects, job_set: Object) -> None:
    taken = api.create(job_set, manager="tests", dry_run=True)
    specs = {each["name"]: each["template"]["spec"] for each in taken["spec"]["replicatedJobs"]}
    assert specs["worker"]["backoffLimitPerIndex"] == 3, "nothing of it was pruned"
    assert specs["chief"]["backoffLimit"] == 0


@pytest.mark.parametrize("role", ["chief", "worker"])
def test_the_job_of_each_role_is_taken(api: Objects, job_set: Object, role: str) -> None:
    taken = api.create(_job(job_set, role), manager="tests", dry_run=True)
    # By pod, only an index that has used up its restarts ends the Job; the number of all failures does not.
    assert taken["spec"]["backoffLimit"] == (0 if role == "chief" else 2**31 - 1)


def test_restarts_by_pod_without_indexes_are_refused(api: Objects, job_set: Object) -> None:
    job = _job(job_set, "worker")
    job["spec"] = {**job["spec"], "completionMode": "NonIndexed"}
    with pytest.raises(ApiError, match="requires indexed completion mode"):
        api.create(job, manager="tests", dry_run=True)


@pytest.mark.usefixtures("job_sets")
@pytest.mark.parametrize(
    "strategy",
    [
        {"kind": "tpu", "topology": "4x4"},
        {"kind": "tpu", "topology": "2x4", "dataService": {"workers": 2}},
        {"kind": "multiWorkerMirrored", "dataService": {"workers": 2}},
    ],
)
def test_the_job_set_of_a_strategy_is_taken_as_it_is(api: Objects, namespace: str, strategy: Object) -> None:
    resources = {"accelerator": "tpu-v5e"} if strategy["kind"] == "tpu" else {}
    settings = JobSettings.model_validate(
        {"command": ["python3", "train.py"], "strategy": strategy, "resources": resources}
    )
    placement = {role.name: Placement() for role in settings.roles()}
    job_set = plan(settings, JobContext("trial-7", namespace, placement), image="team/train:1").job_set
    taken = api.create(job_set, manager="tests", dry_run=True)
    for asked, made in zip(job_set["spec"]["replicatedJobs"], taken["spec"]["replicatedJobs"], strict=True):
        assert made["template"].get("metadata", {}) == asked["template"].get("metadata", {}), "nothing was pruned"
        job = {**_job(job_set, asked["name"]), "spec": asked["template"]["spec"]}
        api.create(job, manager="tests", dry_run=True)
