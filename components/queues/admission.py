"""ValidatingAdmissionPolicies for queues: they refuse pods with GPUs that Kueue did not admit, jobs whose pods the API
server would refuse, and jobs with the priority of another queue.

Kueue only counts what it admits. A pod that takes GPUs without it leaves an admitted job without them, and an admitted
job whose pods are refused holds GPUs that nobody uses. So both are refused when they are submitted. Kubernetes has
these policies from 1.30 on.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pulumi
import pulumi_kubernetes as k8s

from components.base.labels import (
    ACCELERATOR,
    FLAVOR,
    NAMESPACE_NAME,
    NO_ACCELERATOR,
    POD_SECURITY_ENFORCE,
    QUEUE_LABEL,
    labels,
)
from components.queues import cel, fitting_pods, priority
from components.queues import restricted_pods as restricted
from components.queues.flavors import Flavor

ADMITTED = "kueue.x-k8s.io/podset"
"""The label that Kueue sets on the pods of admitted jobs."""
_GATE = "kueue.x-k8s.io/admission"
"""The scheduling gate of pods that Kueue manages without a job."""
PODS_WITH_GPUS = "-pods-with-gpus"
"""What the name of the policy for pods with GPUs ends with, after the stack's namespace."""
_DEVICES = "GPUs and resourceClaims"
_BY_CLASS = "deviceclass.resource.kubernetes.io/"
"""Prefix of extended resources that request devices of a DeviceClass."""


@dataclass(frozen=True)
class Spaces:
    """The namespaces and queues that the policies apply to."""

    stack: str
    """The stack's own namespace."""
    teams: Sequence[str]
    """Namespaces of teams."""
    unqueued: Sequence[str]
    """Service accounts in the stack's namespace whose pods may use GPUs without a queue, as the settings declare."""
    kinds: Mapping[str, Sequence[Flavor]]
    """The flavors of each queue."""
    gpus: bool
    """Whether any queue has quota of GPUs."""
    only_job_sets: bool
    """Whether the stack installs Kueue, which then only admits JobSets."""
    pods: bool = False
    """Whether that Kueue admits pods without a job, too: those of pipelines."""

    @property
    def with_gpus(self) -> list[str]:
        """Queues with flavors whose tolerations Kueue adds to pods."""
        return [name for name, found in self.kinds.items() if any(flavor.tolerations for flavor in found)]


_MAKERS = {
    "jobset.x-k8s.io": ["jobsets"],
    "batch": ["jobs", "cronjobs"],
    "apps": ["deployments", "statefulsets", "replicasets", "daemonsets"],
    "": ["replicationcontrollers"],
}
"""Resources with pod templates, by API group: those of Kubernetes, and JobSets."""


def declare(spaces: Spaces, opts: pulumi.ResourceOptions) -> list[pulumi.Resource]:
    """Create the policies; jobs depend on the returned bindings."""
    made: list[pulumi.Resource] = []
    if spaces.gpus:
        made += _policy(f"{spaces.stack}{PODS_WITH_GPUS}", [spaces.stack, *spaces.teams], pods(spaces), spaces, opts)
    if spaces.teams:
        made += _policy(f"{spaces.stack}-jobs-of-teams", spaces.teams, jobs(spaces), spaces, opts)
    if spaces.teams and (spaces.pods or not spaces.only_job_sets):
        made += _policy(f"{spaces.stack}-priorities-of-teams", spaces.teams, priorities(spaces), spaces, opts)
    return made


def _policy(
    name: str, namespaces: Sequence[str], spec: Mapping[str, Any], spaces: Spaces, opts: pulumi.ResourceOptions
) -> list[pulumi.Resource]:
    about: Any = {"name": name, "labels": labels(spaces.stack, "queue")}
    rules: Any = {"failure_policy": "Fail", **spec}
    policy = k8s.admissionregistration.v1.ValidatingAdmissionPolicy(name, metadata=about, spec=rules, opts=opts)
    among = {"key": NAMESPACE_NAME, "operator": "In", "values": sorted(namespaces)}
    force: Any = {
        "policy_name": name,
        "validation_actions": ["Deny"],
        "match_resources": {"namespace_selector": {"match_expressions": [among]}},
    }
    binding = k8s.admissionregistration.v1.ValidatingAdmissionPolicyBinding(
        name,
        metadata=about,
        spec=force,
        opts=pulumi.ResourceOptions.merge(opts, pulumi.ResourceOptions(depends_on=[policy])),
    )
    return [binding]


def pods(spaces: Spaces) -> dict[str, Any]:
    """The policy for pods with GPUs: of an admitted job, gated by Kueue, or declared without a queue."""
    declared = f"request.namespace == {cel.text(spaces.stack)} && {_account()} in {cel.list_of(spaces.unqueued)}"
    waits, waited = _gated("object"), _gated("oldObject")
    # Pods that other operators create are not of an admitted job, even with Kueue's label.
    of_job = f" && {_owned('Job')}" if spaces.only_job_sets else ""
    admitted = f"dyn(object).metadata.?labels[?'{ADMITTED}'].hasValue() && variables.byController{of_job}"
    how = "create a JobSet with the label" if spaces.only_job_sets else "create a job with the label"
    return {
        "match_constraints": _matched({"": ["pods"]}),
        "match_conditions": [{"name": "gpus", "expression": _asks_for_gpus("dyn(object).spec")}],
        "variables": [_by_controller(spaces)],
        "validations": [
            {
                "expression": (
                    f"request.operation == 'UPDATE' ? (!{waited} || {waits} || variables.byController)"
                    f" : ({waits} || ({admitted}) || ({declared}))"
                ),
                "message": (
                    f"{_DEVICES}: Kueue did not admit this pod, and this namespace reserves them for admitted jobs;"
                    f" {how} {QUEUE_LABEL}, or declare the workload in the stack's settings"
                ),
            }
        ],
    }


def jobs(spaces: Spaces) -> dict[str, Any]:
    """The policy for resources with pod templates in teams' namespaces: it refuses them when they are submitted."""
    queued = f"variables.queue != ''{' && has(dyn(object).spec.replicatedJobs)' if spaces.only_job_sets else ''}"
    kind = "a JobSet" if spaces.only_job_sets else "a job"
    of_job_set = f" && (request.kind.kind == 'JobSet' || {_owned('JobSet')})" if spaces.only_job_sets else ""
    fresh = "request.operation == 'CREATE' && !variables.byController"
    level = POD_SECURITY_ENFORCE
    is_restricted = f"namespaceObject.metadata.?labels[?'{level}'].orValue('') == 'restricted'"
    choice = (
        f"[{cel.text(ACCELERATOR)}, {cel.text(FLAVOR)}].exists(key, key in template.spec.?nodeSelector.orValue({{}}))"
    )
    return {
        "match_constraints": _matched(_MAKERS),
        "variables": _variables_of_jobs(spaces),
        "validations": [
            {
                "expression": (f"!variables.labelled || variables.wasLabelled || (variables.byController{of_job_set})"),
                "message": f"{ADMITTED}: only Kueue sets this label; remove it from the pod template",
            },
            {
                "expression": (
                    "variables.byController || !variables.wasLabelled || request.kind.kind != 'Job'"
                    " || dyn(object).spec.?parallelism.orValue(1) <= dyn(oldObject).spec.?parallelism.orValue(1)"
                ),
                "message": "spec.parallelism: an admitted job cannot grow; create another job",
            },
            {
                "expression": (
                    f"!({fresh}) || ({queued}) || !variables.templates.exists(template,"
                    f" {_asks_for_gpus('template.spec')})"
                ),
                "message": (
                    f"{_DEVICES}: this is not a job in a queue, and this namespace reserves them for admitted jobs;"
                    f" create {kind} with the label {QUEUE_LABEL}"
                ),
            },
            {
                "expression": f"!({fresh}) || variables.queue == '' || !({is_restricted}) || variables.missing == ''",
                "message_expression": (
                    "'pod template: the pods would violate Pod Security level restricted of this namespace; set in"
                    " each pod template ' + variables.missing"
                ),
            },
            {
                "expression": (
                    f"!({fresh}) || !(variables.queue in {cel.list_of(spaces.with_gpus)})"
                    f" || variables.templates.all(template, {_asks_for_gpus('template.spec')} || {choice})"
                ),
                "message": (
                    "spec.nodeSelector: pods without GPUs could be scheduled to nodes with GPUs; set it in their pod"
                    f" template to {{{ACCELERATOR}: {NO_ACCELERATOR}}}"
                ),
            },
            priority.class_of_queue(spaces.stack, list(spaces.kinds)),
            priority.no_class_of_pods(spaces.stack, list(spaces.kinds)),
            *fitting_pods.rules(spaces.kinds, fresh),
        ],
    }


def priorities(spaces: Spaces) -> dict[str, Any]:
    """The policy for the priority of pods and of other operators' jobs, for a Kueue that admits one of them."""
    every = {"api_groups": ["*"], "api_versions": ["*"], "operations": ["CREATE", "UPDATE"], "resources": ["*"]}
    return {
        "match_constraints": {
            "resource_rules": [{**every, "scope": "Namespaced"}],
            "exclude_resource_rules": _matched(_MAKERS)["resource_rules"],
        },
        "match_conditions": [{"name": "class", "expression": f"{priority.label('object')} != ''"}],
        "variables": [
            _by_controller(spaces),
            {"name": "queue", "expression": priority.label("object", QUEUE_LABEL)},
            *priority.variables(),
        ],
        "validations": [priority.class_of_queue(spaces.stack, list(spaces.kinds))],
    }


def _variables_of_jobs(spaces: Spaces) -> list[dict[str, str]]:
    """Variables of the rules for jobs."""
    return [
        _by_controller(spaces),
        {"name": "templates", "expression": _templates("object")},
        {"name": "queue", "expression": priority.label("object", QUEUE_LABEL)},
        {"name": "labelled", "expression": _labelled("variables.templates")},
        {"name": "wasLabelled", "expression": f"oldObject != null && {_labelled(_templates('oldObject'))}"},
        {"name": "missing", "expression": restricted.missing("variables.templates")},
        *priority.variables("variables.templates", _templates("oldObject")),
        *fitting_pods.variables(spaces.kinds),
    ]


def _matched(resources: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    return {
        "resource_rules": [
            {"api_groups": [group], "api_versions": ["*"], "operations": ["CREATE", "UPDATE"], "resources": list(names)}
            for group, names in resources.items()
        ]
    }


def _by_controller(spaces: Spaces) -> dict[str, str]:
    """Whether a controller sent the request: anyone can write the labels that Kueue sets, so only controllers may."""
    user = "request.userInfo.username"
    own = cel.list_of([spaces.stack, *spaces.teams])
    account = f"({user}.startsWith('system:serviceaccount:') && !({user}.split(':')[2] in {own}))"
    return {"name": "byController", "expression": f"{user} == 'system:kube-controller-manager' || {account}"}


def _templates(thing: str) -> str:
    """The pod templates of a JobSet, a CronJob, or another resource that has one."""
    spec = f"dyn({thing}).spec"
    return (
        f"has({spec}.replicatedJobs) ? {spec}.replicatedJobs.map(job, job.template.spec.template) :"
        f" has({spec}.jobTemplate) ? [{spec}.jobTemplate.spec.template] : [{spec}.template]"
    )


def _labelled(templates: str) -> str:
    return f"({templates}).exists(template, template.?metadata.?labels[?'{ADMITTED}'].hasValue())"


def _asks_for_gpus(spec: str) -> str:
    """Whether a pod's spec requests GPUs, under any of NVIDIA's resource names, or devices that may be GPUs.

    The devices of a resource claim (dynamic resource allocation) are in another object, which a policy cannot read.
    """
    amounts = "[one.?resources.?requests.orValue({}), one.?resources.?limits.orValue({})]"
    named = f"(name.startsWith('nvidia.com/') || name.startsWith('{_BY_CLASS}'))"
    some = f"amounts.exists(name, {named} && string(amounts[name]) != '0')"
    claims = f"{spec}.?resourceClaims.orValue([]).size() > 0"
    return f"({claims} || {restricted.containers(spec)}.exists(one, {amounts}.exists(amounts, {some})))"


def _gated(thing: str) -> str:
    return f"dyn({thing}).spec.?schedulingGates.orValue([]).exists(gate, gate.name == '{_GATE}')"


def _owned(kind: str) -> str:
    return f"dyn(object).metadata.?ownerReferences.orValue([]).exists(owner, owner.kind == '{kind}')"


def _account() -> str:
    return "dyn(object).spec.?serviceAccountName.orValue('')"
