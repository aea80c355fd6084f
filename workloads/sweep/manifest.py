"""The controller of a sweep that a person submits, as plain objects: a JobSet of one pod, and what the JobSet owns.

It waits in no queue: while it held quota that its trials need, they would wait for it and it for them.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from pydantic.alias_generators import to_camel

from tensorplane.components import versions
from tensorplane.components.agent import code as agent_code
from tensorplane.components.base.labels import COMPONENT, TRIAL
from tensorplane.components.base.model import Resources
from tensorplane.workloads.pods import objects, pod
from tensorplane.workloads.pods.files import bundle
from tensorplane.workloads.pods.objects import Identity, Manifest
from tensorplane.workloads.pods.pod import VolumeMount
from tensorplane.workloads.sweep import controller_objects
from tensorplane.workloads.sweep.controller_objects import (
    CONTROLLER,
    DESCRIPTION,
    FILE,
    NAME_SUFFIX,
    RESULTS,
    RESULTS_SUFFIX,
    trial_run,
)
from tensorplane.workloads.training_job import job_set
from tensorplane.workloads.training_job.role import Role

ROLE = "controller"
_PROGRAM = "sweep"
_MAX_RESTARTS = 20
"""Failures of the controller, which fails in the same way soon if its image or its volume does not work. Lost nodes and
evictions do not count."""
_RBAC = "rbac.authorization.k8s.io"


@dataclass(frozen=True)
class Submitted:
    """A sweep, as its controller runs it."""

    owner: Identity
    """The sweep's trials."""
    run: str
    """Name of the sweep's run, and of the controller's JobSet."""
    image: str
    """An image with Python and Optuna."""
    search: Mapping[str, Any]
    """The search, as the controller reads it."""
    job_set: Manifest
    """The template of the trials' JobSet."""
    volume: VolumeMount
    """The volume with the checkpoints."""
    folder: str
    """The folder of the checkpoints in the pods."""
    trial: Mapping[str, Any]
    """The trials' volumes, model and queue, as in the settings: what publishing the best one requires."""
    account: str | None = None
    """The controller's service account, which exists with its rights; None: one of the sweep's own."""


def objects_of(sweep: Submitted) -> list[Manifest]:
    """The controller's JobSet first, which owns the others."""
    owner = replace(sweep.owner, component_label=CONTROLLER)
    text = json.dumps(
        {
            "name": sweep.run,
            "search": sweep.search,
            "jobSet": sweep.job_set,
            "logs": f"{sweep.folder}/logs",
            "ends": True,
        },
        sort_keys=True,
    )
    code = {path: text.encode() for path, text in agent_code.files(_PROGRAM).items()}
    files = {
        pod.LIBRARY: bundle(f"{owner.name}-controller", code),
        DESCRIPTION: bundle(f"{owner.name}-sweep", {FILE: text.encode()}),
    }
    container = pod.Container(
        image=sweep.image,
        resources=Resources(),
        command=[
            *agent_code.command(_PROGRAM),
            f"{DESCRIPTION}/{FILE}",
            f"{sweep.folder}/sweeps/{sweep.run}.journal",
            owner.namespace,
            owner.name,
        ],
        env=pod.variables({"PYTHONPATH": pod.LIBRARY, "PYTHONDONTWRITEBYTECODE": "1"}),
        volumes=[sweep.volume],
        files=files,
    )
    return [
        _job_set(sweep, owner, container),
        _results(sweep),
        *(objects.config_map(owner, content) for content in files.values()),
        *([] if sweep.account else _rights(sweep, owner)),
    ]


def _job_set(sweep: Submitted, owner: Identity, container: pod.Container) -> Manifest:
    account = sweep.account or f"{sweep.run}{NAME_SUFFIX}"

    def template(_: Role) -> dict[str, Any]:
        made = pod.template(account, owner.labels, container, grace_seconds=1, restart_policy="Never", placement={})
        made["spec"]["automountServiceAccountToken"] = True
        small = controller_objects.RESOURCES
        made["spec"]["containers"][0]["resources"] = {
            "requests": {"cpu": small.cpu, "memory": small.memory},
            "limits": {"memory": small.memory_limit},
        }
        return made

    return {
        "apiVersion": versions.JOBSET_API,
        "kind": "JobSet",
        "metadata": owner.metadata(sweep.run),
        "spec": job_set.spec(sweep.run, [Role(ROLE, 1, Resources())], template, max_restarts=_MAX_RESTARTS),
    }


def _results(sweep: Submitted) -> Manifest:
    """The results, which own the trials' JobSets. The controller writes them."""
    made = replace(sweep.owner, component_label=RESULTS).metadata(f"{sweep.run}{RESULTS_SUFFIX}")
    annotations = {TRIAL: json.dumps(sweep.trial, sort_keys=True)}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {**made, "annotations": annotations}}


def _rights(sweep: Submitted, owner: Identity) -> list[Manifest]:
    """The controller's service account, what it may do, and its way to the API server."""
    name = f"{sweep.run}{NAME_SUFFIX}"
    about = owner.metadata(name)
    trials = [trial_run(sweep.run, number) for number in range(sweep.search["trials"])]
    rules = controller_objects.rules([f"{sweep.run}{RESULTS_SUFFIX}"], trials)
    return [
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": about},
        {
            "apiVersion": f"{_RBAC}/v1",
            "kind": "Role",
            "metadata": about,
            "rules": [{to_camel(key): value for key, value in rule.items()} for rule in rules],
        },
        {
            "apiVersion": f"{_RBAC}/v1",
            "kind": "RoleBinding",
            "metadata": about,
            "roleRef": {"apiGroup": _RBAC, "kind": "Role", "name": name},
            "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": owner.namespace}],
        },
        {
            "apiVersion": "networking.k8s.io/v1",
            "kind": "NetworkPolicy",
            "metadata": about,
            "spec": {
                "podSelector": {"matchLabels": {**owner.selector, COMPONENT: owner.component_label}},
                "policyTypes": ["Egress"],
                "egress": [{"ports": [{"protocol": "TCP", "port": port} for port in agent_code.API_SERVER_PORTS]}],
            },
        },
    ]
