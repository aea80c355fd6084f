"""Problems of a workload stack that only the cluster reveals: what its platform declares and has not deployed."""

from __future__ import annotations

from collections.abc import Iterator

from tensorplane.components import versions
from tensorplane.components.base import jobset_paths
from tensorplane.components.base.problems import Problem
from tensorplane.core import command_lines
from tensorplane.core.kube import Kube
from tensorplane.stack import ResolvedStack
from tensorplane.workloads.family import WorkloadArgs
from tensorplane.workloads.training_job.workload import TrainingJobArgs

_NAMESPACE = "/api/v1/namespaces/{}"
_CLAIMS = _NAMESPACE + "/persistentvolumeclaims"
_QUEUES = f"/apis/{versions.KUEUE_API}/namespaces/{{}}/localqueues"


def problems(resolved: ResolvedStack, api: Kube) -> Iterator[Problem]:
    """A problem per missing queue or volume; one alone if the platform is not there at all."""
    platform, known = resolved.config.platform, resolved.platform
    if not platform or not resolved.workloads:
        return
    deploy = f"deploy it with: {command_lines.deploy(platform)}"
    if api.get(_NAMESPACE.format(known.namespace)) is None:
        reason = f"{platform} is not deployed: the cluster has no namespace {known.namespace}"
        yield Problem(("platform",), f"{reason}; {deploy}")
        return
    if (
        any("jobset" in one.controllers for one in resolved.workloads.values())
        and api.get(jobset_paths.JOB_SETS) is None
    ):
        yield Problem(("platform",), f"the cluster of {platform} has no JobSet, which runs the jobs; {deploy}")
    for name, workload in resolved.workloads.items():
        namespace = _namespace(workload, resolved)
        have = {kind: _names(path, namespace, api) for kind, path in (("queue", _QUEUES), ("volume", _CLAIMS))}
        used = [("queue", queue, at) for queue, at in workload.queues().items()]
        used += [("volume", volume, at) for volume, at in workload.mounted(resolved.config.datasets).items()]
        for kind, one, at in used:
            if one not in have[kind]:
                reason = f"{platform} declares {kind} {one}, but namespace {namespace} does not have it"
                yield Problem(("workloads", name, *at), f"{reason}; {deploy}")


def _namespace(workload: WorkloadArgs, resolved: ResolvedStack) -> str:
    team = workload.team if isinstance(workload, TrainingJobArgs) else None
    return resolved.platform.teams[team] if team else resolved.platform.namespace


def _names(path: str, namespace: str, api: Kube) -> set[str]:
    return {one["metadata"]["name"] for one in api.items(path.format(namespace))}
