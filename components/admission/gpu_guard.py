"""The guard of accelerators: which pods may hold GPUs and their like, in a stack's namespaces and in all others of its
cluster.

The policy pack judges what a stack declares. These ValidatingAdmissionPolicies and ResourceQuotas hold for all users
and whatever makes the pods, with or without queues: quotas of queues alone bind only those who ask a queue.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from tensorplane.components.admission import accelerators, cel, restricted_pods, senders
from tensorplane.components.admission.namespaces import Spaces
from tensorplane.components.admission.policy import AdmissionPolicy, match_namespaces, matched, same
from tensorplane.components.base.labels import DOMAIN, PART_OF, QUEUE_LABEL, TENSORPLANE, labels
from tensorplane.components.base.sdk import k8s, pulumi
from tensorplane.components.catalog import ACCELERATORS

Action = Literal["deny", "warn", "allow"]
"""What becomes of a pod that the guard finds."""
OWN, LIMIT_RANGES, OTHER = "-pods-with-gpus", "-limit-ranges", "-gpus-in-other-namespaces"
"""What the names of the policies end with, after the stack's namespace: two for its own namespaces, one for all
others."""
ALLOWED = f"{DOMAIN}/gpus"
"""Label of a namespace that no stack manages whose pods may hold accelerators, with the value `allowed`."""
ADMITTED = "kueue.x-k8s.io/podset"
"""The label that Kueue sets on the pods of admitted jobs."""
DEVICES = "GPUs and resourceClaims"
"""What messages call accelerators, and claims of devices, which may be some."""
QUOTA = "gpus"
"""Name of the ResourceQuota of each namespace of the stack."""
DEFAULTS = ("default", "defaultRequest")
"""What a LimitRange gives containers; the API server fills them from `max` and `min`."""
RESOURCES = tuple(sorted({accelerator.resource for accelerator in ACCELERATORS.values()}))
"""The resources that settings request, and ResourceQuotas count."""
OWNER = "metadata.?ownerReferences.orValue([]).filter(owner, owner.?controller.orValue(false))"
"""The owner that controls an object, in CEL."""
_OF_JOB = (ADMITTED, "batch.kubernetes.io/controller-uid", "controller-uid")
"""The labels by which pods belong to a Job that Kueue admitted."""
GATE = "kueue.x-k8s.io/admission"
"""The scheduling gate of pods that Kueue manages without a job."""


def declare(
    spaces: Spaces, own: pulumi.Output[str] | None, other: pulumi.Output[str] | None, opts: pulumi.ResourceOptions
) -> list[pulumi.Resource]:
    """Creates the policies; jobs depend on the returned bindings. `own`: `warn` or, by default, `deny`. `other`: one
    of them, or None for no policy."""
    made = [policy.bind(opts, own) for policy in own_policies(spaces)]
    return made if other is None else [*made, other_policy(spaces).bind(opts, other)]


def own_policies(spaces: Spaces) -> list[AdmissionPolicy]:
    """Those of the stack's own namespace and of its teams'."""
    inside = match_namespaces(spaces.namespaces)
    return [
        AdmissionPolicy(spaces.stack, OWN, own_pods(spaces), inside),
        AdmissionPolicy(spaces.stack, LIMIT_RANGES, limit_ranges(), inside),
    ]


def other_policy(spaces: Spaces) -> AdmissionPolicy:
    """That of namespaces which no stack manages."""
    (inside,) = match_namespaces(spaces.namespaces)
    outside = [
        {**inside, "operator": "NotIn"},
        # Other stacks guard their own; those of controllers and of the GPU runtime are a stack's.
        {"key": PART_OF, "operator": "NotIn", "values": [TENSORPLANE[PART_OF]]},
        {"key": ALLOWED, "operator": "NotIn", "values": ["allowed"]},
    ]
    return AdmissionPolicy(spaces.stack, OTHER, other_pods(spaces), outside)


def limit(
    owner: str,
    namespace: pulumi.Input[str],
    most: Mapping[str, int],
    opts: pulumi.ResourceOptions,
    action: pulumi.Output[str] | None = None,
) -> pulumi.Resource:
    """The ResourceQuota of a namespace: whatever its pods say of themselves, they hold no more of each resource.

    Kubernetes counts all GPUs under one resource name; the queues distinguish them. It limits nothing while `action` is
    `warn`.
    """
    hard = {f"requests.{resource}": str(most.get(resource, 0)) for resource in RESOURCES}
    return k8s.core.v1.ResourceQuota(
        f"{owner}-gpus",
        metadata={"name": QUOTA, "namespace": namespace, "labels": labels(owner, "queue")},
        spec={"hard": action.apply(lambda word: hard if word == "deny" else {}) if action else hard},
        opts=opts,
    )


def own_pods(spaces: Spaces) -> dict[str, Any]:
    """The policy of the stack's namespaces: a pod with accelerators is of an admitted job, gated by Kueue, or of a
    workload that the settings declare without a queue."""
    declared = (
        f"request.namespace == {cel.text(spaces.stack)} && {_account()} in {cel.list_of(spaces.unqueued)}"
        # An account is no secret. Of Deployments and Jobs, their number is what the settings declare.
        f" && {senders.of_kubernetes('replicaset', 'job')} && ({senders.owned('ReplicaSet')} || {senders.owned('Job')})"
        # ResourceQuotas count no others.
        f" && !{asks('dyn(object).spec', but=RESOURCES)}"
    )
    waits, waited, claims = _gated("object"), _gated("oldObject"), _claims("dyn(object).spec")
    # Pods that other operators create are not of an admitted job, even with Kueue's label.
    by = (
        f"{senders.of_kubernetes('job')} && {senders.owned('Job')}"
        if spaces.only_job_sets
        else "variables.byController"
    )
    admitted = f"dyn(object).metadata.?labels[?'{ADMITTED}'].orValue('') != '' && {by}"
    gated = [waits] if spaces.admits_pods else []
    # Kueue has counted the RuntimeClass, and templates of claims, as they were when it admitted the job. The one of a
    # stack knows no device class, so that it only admits templates without devices.
    unchanged = f"!({_some(_overhead('dyn(object).spec'))}{f' || {claims}' if spaces.only_job_sets else ''})"
    given = " || ".join([*gated, f"({admitted})", f"({declared})"])
    made = f"({given}) && {unchanged}" if spaces.kinds else declared
    waits_on = f"(!{waited} || {waits} || variables.byController)" if spaces.kinds else "true"
    was_admitted = f"dyn(oldObject).metadata.?labels[?'{ADMITTED}'].hasValue()"
    # With a second owner, it would outlive its Job.
    stays = " && ".join(
        [same("metadata.?ownerReferences"), *(same(f"metadata.?labels[?{cel.text(key)}]") for key in _OF_JOB)]
    )
    free = f"variables.byController || {senders.of_kubernetes('generic-garbage-collector')}"
    validations = [
        {
            "expression": f"request.operation == 'UPDATE' ? {waits_on} : ({made})",
            "message_expression": f"'{DEVICES}: {_advice(spaces)}'",
        },
        {
            # A Job replaces a pod that leaves it, which would go on beside its replacement.
            "expression": f"request.operation != 'UPDATE' || {free} || !{was_admitted} || ({stays})",
            "message": "metadata: a pod of an admitted job stays with its Job; delete the pod, or the job",
        },
    ]
    return {
        # Kubernetes lets no ephemeral container and no resize ask for an accelerator. A status comes with labels.
        "match_constraints": matched({"": ["pods", "pods/status"] if spaces.kinds else ["pods"]}),
        "match_conditions": [{"name": "gpus", "expression": asks("dyn(object).spec")}],
        "variables": [senders.by_controller(spaces)],
        "validations": validations if spaces.kinds else validations[:1],
    }


def limit_ranges() -> dict[str, Any]:
    """The policy of LimitRanges: they give no accelerators to containers that request none, whose pods Kueue may have
    counted before. The API server has made `max` and `min` the defaults that they are."""
    defaults = f"[{', '.join(f'limit.?{key}.orValue({{}})' for key in DEFAULTS)}]"
    given = f"dyn(object).spec.limits.exists(limit, {_some(defaults)})"
    return {
        "match_constraints": matched({"": ["limitranges"]}),
        "validations": [
            {
                "expression": f"!{given} || (request.operation == 'UPDATE' && {same('spec')})",
                "message": (
                    "spec.limits: containers that request no GPUs would get some, since max is also the default;"
                    ' set default and defaultRequest of these resources to "0"'
                ),
            }
        ],
    }


def other_pods(spaces: Spaces) -> dict[str, Any]:
    """The policy of all other namespaces of a cluster whose GPUs the stack shares out: no pod has accelerators."""
    queues = ", ".join(sorted(spaces.kinds))
    of_queue = f"run it in a queue ({queues}) of {spaces.stack} with tensorplane run"
    how = of_queue if queues else "declare it in the settings of a stack"
    return {
        "match_constraints": matched({"": ["pods"]}, ["CREATE"]),
        "match_conditions": [{"name": "gpus", "expression": asks("dyn(object).spec")}],
        "validations": [
            {
                "expression": "false",
                "message_expression": (
                    f"'{DEVICES}: no queue or quota gives them to namespace ' + request.namespace + '; {how},"
                    f" or label the namespace {ALLOWED}=allowed'"
                ),
            }
        ],
    }


def _advice(spaces: Spaces) -> str:
    """What helps a refused pod, as the inside of a text in CEL."""
    if not spaces.kinds:
        return "this namespace keeps them for workloads of the stack; declare the workload in the settings"
    kind = "a JobSet" if spaces.only_job_sets else "a job"
    known = cel.map_of({name: cel.text(", ".join(sorted(spaces.queues_of(name)))) for name in spaces.namespaces})
    return (
        "Kueue did not admit this pod, and this namespace keeps them for admitted jobs; create"
        f" {kind} with the label {QUEUE_LABEL} (queues here: ' + {known}[request.namespace] + '), as tensorplane run"
        " does, or declare the workload in the stack\\'s settings"
    )


def asks(spec: str, *, but: Sequence[str] = ()) -> str:
    """Whether a pod's spec requests accelerators, or devices that may be some. `but`: resources that do not count.

    The devices of a resource claim (dynamic resource allocation) are in another object, which a policy cannot read.
    """
    amounts = "[one.?resources.?requests.orValue({}), one.?resources.?limits.orValue({})]"
    return (
        f"({_claims(spec)}"
        f" || {restricted_pods.containers(spec)}.exists(one, {_some(amounts, but)})"
        f" || {_some(_overhead(spec), but)})"
    )


def _some(amounts: str, but: Sequence[str] = ()) -> str:
    """Whether one of these maps of amounts has an accelerator."""
    found = accelerators.in_cel("name") + (f" && !(name in {cel.list_of(but)})" if but else "")
    return f"{amounts}.exists(amounts, amounts.exists(name, {found} && string(amounts[name]) != '0'))"


def _claims(spec: str) -> str:
    return f"{spec}.?resourceClaims.orValue([]).size() > 0"


def _overhead(spec: str) -> str:
    """What a RuntimeClass adds to a pod."""
    return f"[{spec}.?overhead.orValue({{}})]"


def _gated(thing: str) -> str:
    return f"dyn({thing}).spec.?schedulingGates.orValue([]).exists(gate, gate.name == '{GATE}')"


def _account() -> str:
    return "dyn(object).spec.?serviceAccountName.orValue('')"
