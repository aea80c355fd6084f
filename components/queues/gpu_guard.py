"""The guard of accelerators: which pods may hold GPUs and their like, in a stack's namespaces and in all others of its
cluster.

The policy pack judges what a stack declares. These ValidatingAdmissionPolicies and ResourceQuotas hold for all users
and whatever makes the pods, with or without queues: quotas of queues alone bind only those who ask a queue. Kubernetes
has such policies from 1.30 on.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import pulumi
import pulumi_kubernetes as k8s

from components.base.labels import DOMAIN, NAMESPACE_NAME, PART_OF, QUEUE_LABEL, TENSORPLANE, labels
from components.catalog import ACCELERATORS
from components.queues import cel, restricted_pods
from components.queues.spaces import Spaces

Action = Literal["deny", "warn", "allow"]
"""What becomes of a pod that the guard finds."""
OWN, OTHER = "-pods-with-gpus", "-gpus-in-other-namespaces"
"""What the names of the policies end with, after the stack's namespace: for its own namespaces, and for all others."""
ALLOWED = f"{DOMAIN}/gpus"
"""Label of a namespace that no stack manages whose pods may hold accelerators, with the value `allowed`."""
ADMITTED = "kueue.x-k8s.io/podset"
"""The label that Kueue sets on the pods of admitted jobs."""
DEVICES = "GPUs and resourceClaims"
"""What messages call accelerators, and claims of devices, which may be some."""
COUNTED = tuple(sorted({accelerator.resource for accelerator in ACCELERATORS.values()}))
"""The resources that settings request, and ResourceQuotas count."""
PATTERN = (
    # Domains with nothing but accelerators, then devices of domains that have others too.
    r"^((nvidia|amd|gpu\.intel|huawei|cambricon|hygon|enflame|metax-tech|mthreads|kunlunxin)\.com/.+"
    r"|(tenstorrent|vastaitech)\.com/.+|(habana|furiosa|rebellions|iluvatar)\.ai/.+|cloud-tpus\.google\.com/.+"
    r"|npu\.intel\.com/.+|qualcomm\.com/qaic.*|alibabacloud\.com/ppu.*"
    # A DeviceClass of dynamic resource allocation, by its name.
    r"|deviceclass\.resource\.kubernetes\.io/.+"
    # Whatever the vendor.
    r"|[^/]+/([^/]*(gpu|nvidia|cuda|neuron|gaudi)|([^/]*[^a-z/])?(tpu|npu|dcu|mlu|mig-)).*)$"
)
"""The names of accelerators among extended resources, in RE2's syntax."""
OWNER = "metadata.?ownerReferences.orValue([]).filter(owner, owner.?controller.orValue(false))"
"""The owner that controls an object, in CEL."""
_OF_JOB = (ADMITTED, "batch.kubernetes.io/controller-uid", "controller-uid")
"""The labels by which pods belong to a Job that Kueue admitted."""
_GATE = "kueue.x-k8s.io/admission"
"""The scheduling gate of pods that Kueue manages without a job."""


def declare(
    spaces: Spaces, own: pulumi.Output[str] | None, other: pulumi.Output[str] | None, opts: pulumi.ResourceOptions
) -> list[pulumi.Resource]:
    """Create the policies; jobs depend on the returned bindings. `own`: `warn` or, by default, `deny`. `other`: one
    of them, or None for no policy."""
    inside = {"key": NAMESPACE_NAME, "operator": "In", "values": sorted(spaces.namespaces)}
    made = bind(spaces.stack, OWN, own_pods(spaces), [inside], opts, own)
    if other is None:
        return made
    outside = [
        {**inside, "operator": "NotIn"},
        # Other stacks guard their own; those of controllers and of the GPU runtime are a stack's.
        {"key": PART_OF, "operator": "NotIn", "values": [TENSORPLANE[PART_OF]]},
        {"key": ALLOWED, "operator": "NotIn", "values": ["allowed"]},
    ]
    return [*made, *bind(spaces.stack, OTHER, other_pods(spaces), outside, opts, other)]


def bind(
    stack: str,
    suffix: str,
    spec: Mapping[str, Any],
    namespaces: Sequence[Mapping[str, Any]],
    opts: pulumi.ResourceOptions,
    action: pulumi.Output[str] | None = None,
) -> list[pulumi.Resource]:
    """Create a policy, and its binding to the namespaces with these labels, which is returned. `action`: `deny`, the
    default, or `warn`."""
    name = f"{stack}{suffix}"
    about: Any = {"name": name, "labels": labels(stack, "queue")}
    rules: Any = {"failure_policy": "Fail", **spec}
    policy = k8s.admissionregistration.v1.ValidatingAdmissionPolicy(name, metadata=about, spec=rules, opts=opts)
    force: Any = {
        "policy_name": name,
        "validation_actions": [action.apply(str.capitalize) if action else "Deny"],
        "match_resources": {"namespace_selector": {"match_expressions": list(namespaces)}},
    }
    after = pulumi.ResourceOptions(
        depends_on=[policy],
        # A dry run of the update merges both actions of a binding, and the API server refuses `Deny` beside `Warn`.
        replace_on_changes=["spec.validationActions"],
        delete_before_replace=True,
    )
    after = pulumi.ResourceOptions.merge(opts, after)
    return [k8s.admissionregistration.v1.ValidatingAdmissionPolicyBinding(name, metadata=about, spec=force, opts=after)]


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
    hard = {f"requests.{resource}": str(most.get(resource, 0)) for resource in COUNTED}
    return k8s.core.v1.ResourceQuota(
        f"{owner}-gpus",
        metadata={"name": "gpus", "namespace": namespace, "labels": labels(owner, "queue")},
        spec={"hard": action.apply(lambda word: hard if word == "deny" else {}) if action else hard},
        opts=opts,
    )


def own_pods(spaces: Spaces) -> dict[str, Any]:
    """The policy of the stack's namespaces: a pod with accelerators is of an admitted job, gated by Kueue, or of a
    workload that the settings declare without a queue."""
    declared = (
        f"request.namespace == {cel.text(spaces.stack)} && {_account()} in {cel.list_of(spaces.unqueued)}"
        # ResourceQuotas count no others.
        f" && !{asks('dyn(object).spec', but=COUNTED)}"
    )
    waits, waited = _gated("object"), _gated("oldObject")
    # Pods that other operators create are not of an admitted job, even with Kueue's label.
    of_job = f" && {owned('Job')}" if spaces.only_job_sets else ""
    admitted = f"dyn(object).metadata.?labels[?'{ADMITTED}'].hasValue() && variables.byController{of_job}"
    # Kueue has counted the RuntimeClass as it was when it admitted the job.
    counted = f"!{_some(_overhead('dyn(object).spec'))}"
    made = f"({waits} || ({admitted}) || ({declared})) && {counted}" if spaces.kinds else declared
    kept = f"(!{waited} || {waits} || variables.byController)" if spaces.kinds else "true"
    was_admitted = f"dyn(oldObject).metadata.?labels[?'{ADMITTED}'].hasValue()"
    stays = " && ".join([same(OWNER), *(same(f"metadata.?labels[?{cel.text(key)}]") for key in _OF_JOB)])
    validations = [
        {
            "expression": f"request.operation == 'UPDATE' ? {kept} : ({made})",
            "message_expression": f"'{DEVICES}: {_advice(spaces)}'",
        },
        {
            # A Job replaces a pod that leaves it, which would go on beside its replacement.
            "expression": f"request.operation != 'UPDATE' || variables.byController || !{was_admitted} || ({stays})",
            "message": "metadata: a pod of an admitted job stays with its Job; delete the pod, or the job",
        },
    ]
    return {
        # Kubernetes lets no ephemeral container and no resize ask for an accelerator. A status comes with labels.
        "match_constraints": matched({"": ["pods", "pods/status"] if spaces.kinds else ["pods"]}),
        "match_conditions": [{"name": "gpus", "expression": asks("dyn(object).spec")}],
        "variables": [by_controller(spaces)],
        "validations": validations if spaces.kinds else validations[:1],
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
        f"({spec}.?resourceClaims.orValue([]).size() > 0"
        f" || {restricted_pods.containers(spec)}.exists(one, {_some(amounts, but)})"
        f" || {_some(_overhead(spec), but)})"
    )


def _some(amounts: str, but: Sequence[str] = ()) -> str:
    """Whether one of these maps of amounts has an accelerator."""
    named = f"name.matches(r'{PATTERN}')" + (f" && !(name in {cel.list_of(but)})" if but else "")
    return f"{amounts}.exists(amounts, amounts.exists(name, {named} && string(amounts[name]) != '0'))"


def _overhead(spec: str) -> str:
    """What a RuntimeClass adds to a pod."""
    return f"[{spec}.?overhead.orValue({{}})]"


def by_controller(spaces: Spaces) -> dict[str, str]:
    """Whether a controller sent the request: anyone can write the labels that Kueue sets, so only controllers may.

    Where Kueue only admits JobSets, the controllers of Jobs, JobSets and Kueue may all write the status of Jobs.
    Accounts that deploy workloads to a namespace may not.
    """
    user = "request.userInfo.username"
    account = (
        f"({user}.startsWith('system:serviceaccount:') && !({user}.split(':')[2] in {cel.list_of(spaces.namespaces)}))"
    )
    if spaces.only_job_sets:
        jobs = "authorizer.group('batch').resource('jobs').subresource('status').namespace(request.namespace)"
        account += f" && {jobs}.check('update').allowed()"
    return {"name": "byController", "expression": f"{user} == 'system:kube-controller-manager' || ({account})"}


def matched(resources: Mapping[str, Sequence[str]], operations: Sequence[str] = ("CREATE", "UPDATE")) -> dict[str, Any]:
    """The resources that a policy judges, by API group."""
    return {
        "resource_rules": [
            {"api_groups": [group], "api_versions": ["*"], "operations": list(operations), "resources": list(names)}
            for group, names in resources.items()
        ]
    }


def owned(kind: str) -> str:
    """Whether an object of this kind owns the request's."""
    return f"dyn(object).metadata.?ownerReferences.orValue([]).exists(owner, owner.kind == '{kind}')"


def same(path: str) -> str:
    """Whether an update leaves this as it is."""
    return f"dyn(object).{path} == dyn(oldObject).{path}"


def _gated(thing: str) -> str:
    return f"dyn({thing}).spec.?schedulingGates.orValue([]).exists(gate, gate.name == '{_GATE}')"


def _account() -> str:
    return "dyn(object).spec.?serviceAccountName.orValue('')"
