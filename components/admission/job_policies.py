"""ValidatingAdmissionPolicies for jobs: they refuse those that no queue admits, those whose pods the API server would
refuse, and those with the priority of another queue.

Kueue only counts what it admits, and an admitted job whose pods are refused holds GPUs that nobody uses. So both are
refused when they are submitted; `gpu_guard` refuses the pods.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tensorplane.components.admission import cel, fitting_pods, job_rules, priority, senders
from tensorplane.components.admission import restricted_pods as restricted
from tensorplane.components.admission.gpu_guard import ADMITTED, DEVICES, asks
from tensorplane.components.admission.namespaces import Spaces
from tensorplane.components.admission.policy import AdmissionPolicy, match_namespaces, matched, same
from tensorplane.components.base.labels import (
    ACCELERATOR,
    FLAVOR,
    NO_ACCELERATOR,
    POD_SECURITY_ENFORCE,
    QUEUE_LABEL,
)
from tensorplane.components.base.sdk import pulumi

_MAKERS = {
    "jobset.x-k8s.io": ["jobsets"],
    "batch": ["jobs", "cronjobs"],
    "apps": ["deployments", "statefulsets", "replicasets", "daemonsets"],
    "": ["replicationcontrollers"],
}
"""Resources with pod templates, by API group: those of Kubernetes, and JobSets."""


def declare(spaces: Spaces, opts: pulumi.ResourceOptions) -> list[pulumi.Resource]:
    """Creates the policies; jobs depend on the returned bindings."""
    return [policy.bind(opts) for policy in policies(spaces)]


def policies(spaces: Spaces) -> list[AdmissionPolicy]:
    """Those that a stack with such namespaces and queues has."""
    specs: list[tuple[str, dict[str, Any], Iterable[str]]] = []
    if spaces.kinds:
        specs.append(("-admitted-jobs", labels_of_kueue(spaces), [spaces.stack]))
        specs.append(("-deleted-jobs", deletions(spaces), spaces.namespaces))
        specs.append(("-kueue", agents(spaces), spaces.namespaces))
    if spaces.teams:
        specs.append(("-jobs-of-teams", jobs(spaces), spaces.teams))
    if spaces.teams and (spaces.pods or not spaces.only_job_sets):
        specs.append(("-priorities-of-teams", priorities(spaces), spaces.teams))
    return [AdmissionPolicy(spaces.stack, suffix, spec, match_namespaces(inside)) for suffix, spec, inside in specs]


def labels_of_kueue(spaces: Spaces) -> dict[str, Any]:
    """The policy for resources with pod templates in the stack's own namespace: only Kueue admits jobs."""
    return {
        "match_constraints": matched(_MAKERS),
        "variables": _variables_of_labels(spaces),
        "validations": [*job_rules.everywhere(spaces), job_rules.amounts()],
    }


def jobs(spaces: Spaces) -> dict[str, Any]:
    """The policy for resources with pod templates in teams' namespaces: it refuses them when they are submitted."""
    queued = f"variables.queue != ''{' && has(dyn(object).spec.replicatedJobs)' if spaces.only_job_sets else ''}"
    kind = "a JobSet" if spaces.only_job_sets else "a job"
    fresh = "request.operation == 'CREATE' && !variables.byController && variables.amounts"
    level = POD_SECURITY_ENFORCE
    is_restricted = f"namespaceObject.metadata.?labels[?'{level}'].orValue('') == 'restricted'"
    choice = (
        f"[{cel.text(ACCELERATOR)}, {cel.text(FLAVOR)}].exists(key, key in template.spec.?nodeSelector.orValue({{}}))"
    )
    return {
        "match_constraints": matched(_MAKERS),
        "variables": _variables_of_jobs(spaces),
        "validations": [
            *job_rules.everywhere(spaces),
            # The rules after it compute with them.
            job_rules.amounts(),
            *job_rules.of_teams(),
            {
                "expression": (
                    f"!({fresh}) || ({queued}) || !variables.templates.exists(template, {asks('template.spec')})"
                ),
                "message": (
                    f"{DEVICES}: this is not a job in a queue, and this namespace keeps them for admitted jobs;"
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
                    f" || variables.templates.all(template, {asks('template.spec')} || {choice})"
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


def deletions(spaces: Spaces) -> dict[str, Any]:
    """The policy for the end of admitted jobs: Kueue returns their quota, so that their pods end too."""
    how = "dyn(request.options)"
    orphans = (
        f"{how}.?propagationPolicy.orValue('') == 'Orphan' || {how}.?orphanDependents.orValue(false)"
        f" || (!{how}.?propagationPolicy.hasValue() && 'orphan' in oldObject.metadata.?finalizers.orValue([]))"
    )
    admitted = f"({_admitted(_templates('oldObject'))}).exists(one, one != '')"
    # The collector deletes what another object owns, as its finalizers say. Jobs of JobSets that Kueue evicted, which
    # are not labelled any more, would start again.
    with_gpus = f"({_templates('oldObject')}).exists(template, {asks('template.spec')})"
    protected = f"request.kind.kind == 'JobSet' ? {with_gpus} || {admitted} : !variables.byController && {admitted}"
    # JobSet would make the Job again, beside pods that still end.
    of_job_set = f"request.kind.kind == 'Job' && {senders.owned('JobSet', 'oldObject')} && {with_gpus}"
    theirs = senders.of_kubernetes("generic-garbage-collector", "namespace", "ttl-after-finished")
    return {
        "match_constraints": matched({"jobset.x-k8s.io": ["jobsets"], "batch": ["jobs"]}, ["DELETE"]),
        "variables": [senders.by_controller(spaces)],
        "validations": [
            {
                "expression": f"!({orphans}) || !({protected})",
                "message": "propagationPolicy: pods of an admitted job end with it; delete it without --cascade=orphan",
            },
            {
                "expression": f"variables.byController || {theirs} || !({of_job_set})",
                "message": "metadata.ownerReferences: only controllers delete Jobs of a JobSet; delete the JobSet",
            },
        ],
    }


def agents(spaces: Spaces) -> dict[str, Any]:
    """The policy for Kueue's objects that the return of quota changes: its account, and any other of the stack's
    namespaces, evicts jobs, takes flavors out and has Kueue look again, and gives nobody more."""
    kind = "request.kind.kind"
    specs = [f"dyn({thing}).?spec.orValue({{}})" for thing in ("object", "oldObject")]
    fields = cel.map_of({name: cel.text(field) for name, field in _OF_AGENTS.items()})
    same_specs = (
        f"{one}.all(key, key == {fields}[{kind}] || (key in {other} && {one}[key] == {other}[key]))"
        for one, other in (specs, reversed(specs))
    )
    about = (same(f"metadata.?{key}") for key in ("labels", "finalizers", "ownerReferences"))
    nothing = "resource.?nominalQuota.orValue('0') == '0'"
    groups = "dyn(object).?spec.?resourceGroups.orValue([])"
    quotas = f"{groups}.all(group, group.flavors.all(flavor, flavor.resources.all(resource, {nothing})))"
    return {
        "match_constraints": matched({"kueue.x-k8s.io": ["workloads", "resourceflavors", "cohorts"]}, ["UPDATE"]),
        "match_conditions": [{"name": "account", "expression": senders.from_inside(spaces)}],
        "validations": [
            {
                "expression": " && ".join([*same_specs, *about, f"({kind} != 'Cohort' || {quotas})"]),
                "message_expression": (
                    f"'spec: accounts of the stack give no quota; of a ' + {kind} + ' they may change spec.' +"
                    f" {fields}[{kind}] + ({kind} == 'Cohort' ? ', to quotas of 0,' : '') + ' and annotations'"
                ),
            }
        ],
    }


_OF_AGENTS = {"Workload": "active", "ResourceFlavor": "nodeTaints", "Cohort": "resourceGroups"}
"""The field of its spec that the return of quota changes, by kind."""


def priorities(spaces: Spaces) -> dict[str, Any]:
    """The policy for the priority of pods and of other operators' jobs, for a Kueue that admits one of them."""
    every = {"api_groups": ["*"], "api_versions": ["*"], "operations": ["CREATE", "UPDATE"], "resources": ["*"]}
    return {
        "match_constraints": {
            "resource_rules": [{**every, "scope": "Namespaced"}],
            "exclude_resource_rules": matched(_MAKERS)["resource_rules"],
        },
        "match_conditions": [{"name": "class", "expression": f"{priority.label('object')} != ''"}],
        "variables": [
            senders.by_controller(spaces),
            {"name": "queue", "expression": priority.label("object", QUEUE_LABEL)},
            *priority.variables(),
        ],
        "validations": [priority.class_of_queue(spaces.stack, list(spaces.kinds))],
    }


def _variables_of_labels(spaces: Spaces) -> list[dict[str, str]]:
    return [
        senders.by_controller(spaces),
        {"name": "templates", "expression": _templates("object")},
        {"name": "admitted", "expression": _admitted("variables.templates")},
        {"name": "wereAdmitted", "expression": f"oldObject == null ? [] : {_admitted(_templates('oldObject'))}"},
        {"name": "wasLabelled", "expression": "variables.wereAdmitted.exists(one, one != '')"},
        job_rules.variable_amounts(),
    ]


def _variables_of_jobs(spaces: Spaces) -> list[dict[str, str]]:
    """Variables of the rules for jobs."""
    return [
        *_variables_of_labels(spaces),
        {"name": "queue", "expression": priority.label("object", QUEUE_LABEL)},
        {"name": "missing", "expression": restricted.missing("variables.templates")},
        *priority.variables("variables.templates", _templates("oldObject")),
        *fitting_pods.variables(spaces.kinds),
    ]


def _templates(thing: str) -> str:
    """The pod templates of a JobSet, a CronJob, or another resource that has one."""
    spec = f"dyn({thing}).spec"
    return (
        f"has({spec}.replicatedJobs) ? {spec}.replicatedJobs.map(job, job.template.spec.template) :"
        f" has({spec}.jobTemplate) ? [{spec}.jobTemplate.spec.template] : [{spec}.template]"
    )


def _admitted(templates: str) -> str:
    """Kueue's label of each of these templates, after an equals sign; empty without it. Its value can be empty."""
    label = f"template.?metadata.?labels[?'{ADMITTED}']"
    return f"({templates}).map(template, {label}.optMap(value, '=' + value).orValue(''))"
