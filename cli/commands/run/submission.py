"""Creates the objects of a job, once: the JobSet first, which owns the others."""

from __future__ import annotations

from typing import Any

from cli.api_values import Object
from cli.commands.run.plan import Planned
from components import versions
from driver.kube import Kube

_PATHS = {
    "JobSet": f"/apis/{versions.JOBSET_API}",
    "NetworkPolicy": "/apis/networking.k8s.io/v1",
    "ConfigMap": "/api/v1",
    "ServiceAccount": "/api/v1",
}
_PLURALS = {
    "JobSet": "jobsets",
    "NetworkPolicy": "networkpolicies",
    "ConfigMap": "configmaps",
    "ServiceAccount": "serviceaccounts",
}


def existing(api: Kube, planned: Planned) -> Object | None:
    """The JobSet of this run, if it was submitted before."""
    return api.get(_path(planned.manifest.job_set))


def submit(api: Kube, planned: Planned) -> Object:
    """Create what is missing. Interrupted at any point and run again, it completes the same objects.

    The JobSet comes first: whatever else exists is deleted with it. Its pods wait for what they mount, which is there a
    moment later.
    """
    manager = f"tensorplane-run-{planned.run}"
    job_set = existing(api, planned) or api.apply(_path(planned.manifest.job_set), planned.manifest.job_set, manager)
    for thing in planned.objects[1:]:
        api.apply(_path(thing), _owned(thing, job_set), manager)
    return job_set


def _owned(thing: Object, job_set: Object) -> Object:
    owner: dict[str, Any] = {
        "apiVersion": versions.JOBSET_API,
        "kind": "JobSet",
        "name": job_set["metadata"]["name"],
        "uid": job_set["metadata"]["uid"],
    }
    return {**thing, "metadata": {**thing["metadata"], "ownerReferences": [owner]}}


def _path(thing: Object) -> str:
    about, kind = thing["metadata"], thing["kind"]
    return f"{_PATHS[kind]}/namespaces/{about['namespace']}/{_PLURALS[kind]}/{about['name']}"
