"""The JobSet of docs/queues.md, and what else a team could create with its pods."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator
from typing import Any

import yaml

from tensorplane.components.base.labels import PRIORITY_LABEL, QUEUE_LABEL
from tensorplane.components.queues import topology
from tensorplane.embedded.cluster.kwok import TAKES
from tests.queues.jobs import Object
from tests.support.rendering import PROJECT

TEAM = "vision"
(BLOCK,) = re.findall(r"```yaml\n(apiVersion: jobset.*?)```", (PROJECT / "docs" / "queues.md").read_text(), re.S)
UNCONSTRAINED = topology.annotations(None, required=False)
"""Of pods that Kueue places by node, wherever there is room."""


def example(**metadata: Any) -> Object:
    """The JobSet, for a stack where Kueue places no pods by node. Its pods do not end by themselves."""
    found: Object = yaml.safe_load(BLOCK)
    found["metadata"] |= metadata
    template_of(found)["metadata"] = {"annotations": {TAKES: "24h"}}
    return found


def asking(gpus: int, *, queue: str, annotations: dict[str, str] = UNCONSTRAINED, **spec: Any) -> Object:
    """The same with one pod of so many GPUs."""
    job = example(labels={QUEUE_LABEL: queue})
    (role,) = job["spec"]["replicatedJobs"]
    role["template"]["spec"] |= {"parallelism": 1, "completions": 1}
    template = template_of(job)
    template["metadata"]["annotations"] |= annotations
    template["spec"] |= spec
    for amounts in template["spec"]["containers"][0]["resources"].values():
        amounts["nvidia.com/gpu"] = gpus
    return job


def template_of(job: Object) -> Object:
    """The pod template of its one role."""
    template: Object = job["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]
    return template


def pod(job: Object, namespace: str = TEAM) -> Object:
    """A pod of its template, alone."""
    template = copy.deepcopy(template_of(job))
    metadata = {**template.get("metadata", {}), "name": "alone", "namespace": namespace}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": template["spec"]}


def without_gpus(job: Object) -> Object:
    """The same job, on machines without GPUs."""
    plain = copy.deepcopy(job)
    (container,) = template_of(plain)["spec"]["containers"]
    container["resources"] = {"limits": {"memory": "1Gi"}}
    template_of(plain)["spec"]["nodeSelector"] = {"tensorplane.dev/accelerator": "none"}
    return plain


def ranked(of_queue: str, of_class: str) -> Object:
    """Labels of a job in a queue, with the priority class of a queue of the stack."""
    return {QUEUE_LABEL: of_queue, PRIORITY_LABEL: f"tensorplane-dev-{of_class}"}


def makers(job: Object) -> Iterator[Object]:
    """Its template in what else makes pods."""
    template = {"metadata": {"labels": {"a": "b"}}, "spec": template_of(job)["spec"]}
    always = {**template, "spec": {**template["spec"], "restartPolicy": "Always"}}
    about = {"name": "other", "namespace": TEAM, "labels": job["metadata"]["labels"]}
    selected = {"selector": {"matchLabels": {"a": "b"}}, "template": always}
    for api, kind, spec in (
        ("batch/v1", "Job", {"template": template}),
        ("batch/v1", "CronJob", {"schedule": "@daily", "jobTemplate": {"spec": {"template": template}}}),
        ("apps/v1", "Deployment", selected),
        ("apps/v1", "StatefulSet", {**selected, "serviceName": "other"}),
        ("apps/v1", "ReplicaSet", selected),
        ("apps/v1", "DaemonSet", selected),
    ):
        yield {"apiVersion": api, "kind": kind, "metadata": about, "spec": spec}
