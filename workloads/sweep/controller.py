"""The controller of one sweep (`agents/sweep`): its rights, what it mounts, and where it notes the results; and what
controllers may do of sweeps that a team's members submit.

Those have an account of the platform. It may do less than the members themselves, and no more: who runs a pod with it
gains nothing.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tensorplane.agents.sweep.spec import RUN as RUN
from tensorplane.agents.sweep.spec import RUN_SUFFIX as RUN_SUFFIX
from tensorplane.agents.sweep.spec import placeholder as placeholder
from tensorplane.components.agent import lease as agent_lease
from tensorplane.components.agent.agent import API_SERVER, TO_API_SERVER, Agent, Mount, Rights
from tensorplane.components.base.labels import COMPONENT, TRIAL, labels
from tensorplane.components.base.names import digest
from tensorplane.components.base.sdk import k8s, pulumi
from tensorplane.workloads.sweep import controller_objects
from tensorplane.workloads.sweep.controller_objects import (
    CONTROLLER,
    DESCRIPTION,
    FILE,
    NAME_SUFFIX,
    RESOURCES,
    RESULTS,
    RESULTS_SUFFIX,
    trial_run,
)

_TMP_MIB = 16


@dataclass(frozen=True)
class Request:
    """What a sweep asks of its controller."""

    name: str
    """The workload's name, which its trials have as a label."""
    image: str
    """An image with Python and Optuna."""
    claim: str
    """Claim of the volume with the checkpoints."""
    pod_labels: Mapping[str, str]
    """Labels of pods that mount it."""
    path: str
    """Where the volume is mounted, as in the trials' pods."""
    folder: str
    """Folder of the checkpoints, with the volume's path."""
    trials: int
    """The number of trials, which the controller may create."""
    trial: Mapping[str, Any]
    """The trials' volumes, model and queue, as in the settings: what publishing the best one requires."""


def declare(
    request: Request,
    run: pulumi.Output[str],
    description: pulumi.Output[Mapping[str, Any]],
    *,
    namespace: pulumi.Input[str],
    opts: pulumi.ResourceOptions,
) -> None:
    """Creates the controller. `run`: of the sweep. `description`: what the agent's `Sweep.read` reads, but the logs."""
    name = f"{request.name}{NAME_SUFFIX}"
    results = _results(request, run, namespace, opts)
    agent = Agent(
        "sweep",
        name=name,
        component=CONTROLLER,
        namespace=namespace,
        image=request.image,
        resources=RESOURCES,
        rights=[Rights(name, [*_rules(run, request.trials), agent_lease.rule(name)], namespace)],
        egress=[TO_API_SERVER],
        leased=True,
        opts=opts,
    )
    text = description.apply(lambda found: json.dumps({**found, "logs": f"{request.folder}/logs"}, sort_keys=True))
    made = k8s.core.v1.ConfigMap(
        f"{request.name}-sweep",
        metadata={
            "name": text.apply(lambda content: f"{request.name}-sweep-{digest(content)}"),
            "namespace": namespace,
            "labels": labels(name, CONTROLLER),
        },
        immutable=True,
        data={FILE: text},
        opts=opts,
    )
    pod = agent.pod(
        [
            f"{DESCRIPTION}/{FILE}",
            run.apply(lambda resolved: f"{request.folder}/sweeps/{resolved}.journal"),
            namespace,
            request.name,
        ],
        mounts=[
            Mount({"name": "sweep", "config_map": {"name": made.metadata["name"]}}, DESCRIPTION),
            Mount(
                {"name": "checkpoints", "persistent_volume_claim": {"claim_name": request.claim}},
                request.path,
                read_only=False,
            ),
        ],
        tmp_mib=_TMP_MIB,
    )
    agent.deployment(pod, depends_on=[results], pod_labels=request.pod_labels)


def _rules(run: pulumi.Output[str], trials: int) -> Any:
    return controller_objects.rules(
        run.apply(lambda resolved: [f"{resolved}{RESULTS_SUFFIX}"]),
        run.apply(lambda resolved: [trial_run(resolved, number) for number in range(trials)]),
    )


def _results(
    request: Request, run: pulumi.Output[str], namespace: pulumi.Input[str], opts: pulumi.ResourceOptions
) -> k8s.core.v1.ConfigMap:
    """The results of a run, which own its trials' JobSets: those of another run are deleted with its results."""
    return k8s.core.v1.ConfigMap(
        f"{request.name}-results",
        metadata={
            "name": run.apply(lambda resolved: f"{resolved}{RESULTS_SUFFIX}"),
            "namespace": namespace,
            "labels": labels(request.name, RESULTS),
            "annotations": {TRIAL: json.dumps(request.trial, sort_keys=True)},
        },
        opts=pulumi.ResourceOptions.merge(opts, pulumi.ResourceOptions(ignore_changes=["data"])),
    )


_PRIVATE = ("10.0.0.0/8", "100.64.0.0/10", "172.16.0.0/12", "192.168.0.0/16")
"""RFC 1918 and 6598."""
_RBAC = "rbac.authorization.k8s.io"


def allow_team(
    team: str, namespace: pulumi.Input[str], opts: pulumi.ResourceOptions, *, api_server_is_private: bool
) -> None:
    """Creates the account in a team's namespace, its role, and its way to the API server.

    `api_server_is_private`: whether pods reach it at a private address. Anyone can give a pod the label that the
    network policy selects, so it then allows no others.
    """
    name = controller_objects.ACCOUNT
    about: Any = {"name": name, "namespace": namespace, "labels": labels(team, controller_objects.CONTROLLER)}
    pulumi_name = f"{team}-{name}"
    account = k8s.core.v1.ServiceAccount(pulumi_name, metadata=about, automount_service_account_token=False, opts=opts)
    rules: Any = [dict(rule) for rule in controller_objects.IN_NAMESPACE]
    role = k8s.rbac.v1.Role(pulumi_name, metadata=about, rules=rules, opts=opts)
    k8s.rbac.v1.RoleBinding(
        pulumi_name,
        metadata=about,
        role_ref={"api_group": _RBAC, "kind": "Role", "name": role.metadata["name"]},
        subjects=[{"kind": "ServiceAccount", "name": account.metadata["name"], "namespace": namespace}],
        opts=opts,
    )
    to: Any = {"to": [{"ip_block": {"cidr": cidr}} for cidr in _PRIVATE]} if api_server_is_private else {}
    spec: Any = {
        "pod_selector": {"match_labels": {COMPONENT: controller_objects.CONTROLLER}},
        "policy_types": ["Egress"],
        "egress": [{**to, "ports": API_SERVER}],
    }
    k8s.networking.v1.NetworkPolicy(pulumi_name, metadata=about, spec=spec, opts=opts)
