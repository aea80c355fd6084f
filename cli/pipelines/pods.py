"""The pods of a stage's run: of the program on each part, or of its jobs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tensorplane.cli.api_values import Object
from tensorplane.cli.pipelines import workflow
from tensorplane.cli.training_jobs import jobset_api
from tensorplane.components.base import jobset_paths
from tensorplane.components.base.labels import NAME
from tensorplane.core.kube import Kube

PART_ROLE = "part"
"""Role of the pods that run the stage's program."""
_WORKFLOW, _NODE = "workflows.argoproj.io/workflow", "workflows.argoproj.io/node-id"
_EXECUTOR = "wait"
"""The container that Argo adds."""


@dataclass(frozen=True)
class PodOfStage:
    """A pod, and what it does."""

    role: str
    """part, or the role of a job's pod."""
    index: int
    """The number of its part, or its index in the job's role."""
    pod: Object
    of_argo: bool = True
    """Whether Argo has created it."""

    @property
    def role_and_index(self) -> tuple[str, int]:
        """Role and index."""
        return self.role, self.index

    @property
    def without_executor(self) -> Object:
        """The pod with the states of its programs alone, each before what depends on it."""
        status = self.pod.get("status") or {}
        found = {one["name"]: one for one in status.get("containerStatuses") or ()}
        names = [one["name"] for one in self.pod["spec"]["containers"] if one["name"] != _EXECUTOR or not self.of_argo]
        return {**self.pod, "status": {**status, "containerStatuses": [found[name] for name in names if name in found]}}

    @property
    def containers(self) -> list[str]:
        """Those that run programs and have started, in order."""
        statuses = (self.pod.get("status") or {}).get("containerStatuses") or ()
        begun = {one["name"] for one in statuses if {"running", "terminated"} & set(one.get("state") or ())}
        names = [one["name"] for one in self.pod["spec"]["containers"]]
        return [name for name in names if name in begun and not (self.of_argo and name == _EXECUTOR)]


def of(api: Kube, run: Object, stage: str) -> list[PodOfStage]:
    """The pods that there are, of each member from old to new."""
    found = [*_of_parts(api, run, stage), *_of_jobs(api, run, stage)]
    return sorted(found, key=lambda one: (*one.role_and_index, one.pod["metadata"]["creationTimestamp"]))


def _of_argo(api: Kube, run: Object) -> Iterator[tuple[Object, Object]]:
    """The pods that Argo has created for a run, each with its node in the Workflow."""
    about, nodes = run["metadata"], workflow.nodes(run)
    there = api.items(f"/api/v1/namespaces/{about['namespace']}/pods", labelSelector=f"{_WORKFLOW}={about['name']}")
    for pod in there:
        # Argo may have created a pod of which the Workflow does not tell yet.
        yield pod, nodes.get((pod["metadata"].get("annotations") or {}).get(_NODE, ""), {})


def _of_parts(api: Kube, run: Object, stage: str) -> Iterator[PodOfStage]:
    for pod, node in _of_argo(api, run):
        # The pod of the step `job` only waits for the job's own ones.
        if workflow.step_of(node, stage) == "work":
            yield PodOfStage(PART_ROLE, int(workflow.given(node, "item")), pod)


def job_sets(api: Kube, run: Object, stage: str) -> list[Object]:
    """The JobSets of a stage that is a job: one for each part."""
    about = run["metadata"]
    job = f"{workflow.pipeline_of(run)}-{stage}"
    there = api.items(jobset_paths.in_namespace(about["namespace"]), labelSelector=f"{NAME}={job}")
    return [
        one for one in there if about["uid"] in (owner["uid"] for owner in one["metadata"].get("ownerReferences") or ())
    ]


def unfinished_jobs(api: Kube, run: Object) -> list[Object]:
    """The JobSets of a run that have not ended."""
    stages = [stage for stage in workflow.stages(run) if _has_job(run, stage)]
    return [one for stage in stages for one in job_sets(api, run, stage) if not jobset_api.outcome(one)]


def creates_jobs(api: Kube, run: Object) -> bool:
    """Whether a pod is there that may still create a JobSet of a run."""
    stages = workflow.stages(run)
    return any(
        workflow.step_of(node, stage) == "job"
        for pod, node in _of_argo(api, run)
        if (pod.get("status") or {}).get("phase") not in ("Succeeded", "Failed")
        for stage in stages
    )


def _has_job(run: Object, stage: str) -> bool:
    """Whether a job of the stage has begun."""
    return f"{stage}-job" in {node.get("templateName") for node in workflow.nodes(run).values()}


def _of_jobs(api: Kube, run: Object, stage: str) -> Iterator[PodOfStage]:
    if not _has_job(run, stage):
        return
    found = job_sets(api, run, stage)
    for job_set in found:
        # Of several jobs, the roles are the same.
        before = f"{job_set['metadata']['name'].rpartition('-')[2]}/" if len(found) > 1 else ""
        for pod in jobset_api.pods(api, job_set):
            role, index = jobset_api.role_and_index(pod)
            yield PodOfStage(f"{before}{role}", index, pod, of_argo=False)
