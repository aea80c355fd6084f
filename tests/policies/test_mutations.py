"""Objects that add GPUs to the pods of others are refused, whatever adds them; those that add something else pass."""

from __future__ import annotations

from typing import Any

import pytest

from tests.policies.conftest import Violations
from tests.policies.stacks import UNKNOWN_OBJECT, Resource, flat, pod, raw, template

GIVES = "it gives GPUs to objects at their admission"
LIMITS = 'spec.containers[name: *].resources.limits."nvidia.com/gpu"'


def limit_range(**limit: Any) -> Resource:
    return raw("core/v1:LimitRange", "x", {"limits": [{"type": "Container", **limit}]})


def runtime(name: str, **body: Any) -> Resource:
    return flat("node.k8s.io/v1:RuntimeClass", name, metadata={"name": name}, **body)


def using(runtime_class: Any, gpus: int | None = None) -> Resource:
    return raw("apps/v1:Deployment", "x", template({"runtimeClassName": runtime_class, **pod(gpus)}))


def assign(location: Any, value: Any = None, kind: str = "Assign", **parameters: Any) -> Resource:
    given = parameters or {"assign": {"value": value}}
    return raw(f"mutations.gatekeeper.sh/v1:{kind}", "x", {"location": location, "parameters": given})


def kyverno(kind: str = "ClusterPolicy", **rule: Any) -> Resource:
    return raw(f"kyverno.io/v1:{kind}", "x", {"rules": [{"name": "a", "match": {"any": []}, **rule}]})


def merged(patch: Any) -> Resource:
    return kyverno(mutate={"patchStrategicMerge": patch})


def patched(path: str, value: Any, op: str = "add") -> Resource:
    return kyverno(mutate={"patchesJson6902": f"- op: {op}\n  path: {path}\n  value: {value}\n"})


def expressed(expression: str = "", *variables: str, kind: str = "policies.kyverno.io/v1:MutatingPolicy") -> Resource:
    """A policy of pods in CEL."""
    given = {
        "matchConstraints": {"resourceRules": [{"apiGroups": [""], "resources": ["pods"]}]},
        "variables": [{"name": "name", "expression": each} for each in variables],
        "mutations": [{"patchType": "JSONPatch", "jsonPatch": {"expression": expression}}] if expression else [],
    }
    return raw(kind, "x", given)


def webhook(groups: list[str], resources: list[str]) -> Resource:
    rule = {"apiGroups": groups, "resources": resources}
    return flat(
        "admissionregistration.k8s.io/v1:MutatingWebhookConfiguration", "x", webhooks=[{"name": "a", "rules": [rule]}]
    )


ADMISSION = "admissionregistration.k8s.io/v1:MutatingAdmissionPolicy"
SET = {"resources": {"limits": {"nvidia.com/gpu": "1"}}}
ANCHORED = {"+(resources)": {"+(limits)": {"+(nvidia.com/gpu)": "1"}}}
# What adds GPUs, and what the advice must speak of.
ADDING: dict[str, tuple[list[Resource], str]] = {
    "the largest request of a namespace": (
        [limit_range(max={"nvidia.com/gpu": "4"})],
        "Kubernetes makes its `max` of nvidia.com/gpu the request of every container that requests none; "
        'add `default: {nvidia.com/gpu: "0"}`',
    ),
    "the largest request beside another default": (
        [limit_range(max={"nvidia.com/gpu": "4"}, default={"cpu": "1"})],
        "or limit pods with `type: Pod`",
    ),
    "an overhead": (
        [runtime("kata", handler="kata", overhead={"podFixed": {"nvidia.com/gpu": "1"}})],
        "remove it from `overhead.podFixed`",
    ),
    "a handler by another name": (
        [runtime("fast", handler="nvidia"), using("fast")],
        "runtimeClassName fast may show its containers GPUs",
    ),
    "a handler of which nothing is known": ([runtime("x", handler=UNKNOWN_OBJECT)], "`handler` is not known"),
    "another vendor's handler": ([using("habana")], "remove it, or request GPUs in `resources.limits`"),
    "a runtime of which nothing is known": (
        [using(UNKNOWN_OBJECT)],
        "`spec.template.spec.runtimeClassName` is not known before the update",
    ),
    "Gatekeeper's number": ([assign(LIMITS, 4)], f"{GIVES} (`spec.location`)"),
    "Gatekeeper's limits": ([assign("spec.containers[name:*].resources.limits", {"amd.com/gpu": 1})], GIVES),
    "Gatekeeper's number from a name": (
        [assign(LIMITS, assign={"fromMetadata": {"field": "name"}})],
        "it gives GPUs to objects at their admission",
    ),
    "Gatekeeper's number from elsewhere": (
        [assign(LIMITS, assign={"externalData": {"provider": "x"}})],
        "is not known before the update",
    ),
    "Gatekeeper's runtime": (
        [assign("spec.runtimeClassName", "nvidia")],
        "it sets `spec.location.spec.runtimeClassName`",
    ),
    "Gatekeeper's replicas": ([assign("spec.replicas", 50)], "it sets `spec.location.spec.replicas`"),
    "Gatekeeper's variables": (
        [
            assign(
                "spec.containers[name: *].env",
                kind="ModifySet",
                operation="merge",
                values={"fromList": [{"name": "NVIDIA_VISIBLE_DEVICES", "value": "all"}]},
            )
        ],
        "which shows a container devices that it does not request",
    ),
    "Gatekeeper's annotation": (
        [assign("metadata.annotations.gpu-fraction", "0.5", kind="AssignMetadata")],
        GIVES,
    ),
    "Gatekeeper's annotation of a device": (
        [assign('metadata.annotations."cdi.k8s.io/gpu"', "nvidia.com/gpu=all", kind="AssignMetadata")],
        "which shows a container devices",
    ),
    "Gatekeeper's place of which nothing is known": ([assign(UNKNOWN_OBJECT, 1)], "`spec.location` is not known"),
    "Gatekeeper's place that is none": ([assign("..", 1)], "its location .. cannot be read here"),
    "Kyverno's merge": ([merged({"spec": {"containers": [{"(name)": "*", **SET}]}})], GIVES),
    "Kyverno's merge with anchors": ([merged({"spec": {"containers": [{"(name)": "*", **ANCHORED}]}})], GIVES),
    "Kyverno's merge of a template": (
        [merged({"spec": {"template": {"metadata": {"annotations": {"+(gpu-memory)": "2000"}}}}})],
        GIVES,
    ),
    "Kyverno's replicas": ([merged({"spec": {"+(replicas)": 9}})], "patchStrategicMerge.spec.replicas`"),
    "Kyverno's number": ([patched("/spec/containers/0/resources/limits/nvidia.com~1gpu", 4)], GIVES),
    "Kyverno's number for each container": (
        [
            kyverno(
                "Policy",
                mutate={
                    "foreach": [
                        {
                            "list": "request.object.spec.containers",
                            "patchesJson6902": "- op: add\n"
                            "  path: /spec/containers/{{elementIndex}}/resources/limits\n"
                            "  value: {nvidia.com/gpu: 1}",
                        }
                    ]
                },
            )
        ],
        GIVES,
    ),
    "Kyverno's runtime": ([patched("/spec/runtimeClassName", "nvidia", "replace")], "runtimeClassName` of objects"),
    "Kyverno's copies": (
        [
            kyverno(
                generate={
                    "apiVersion": "apps/v1",
                    "kind": "Deployment",
                    "name": "a",
                    "data": {"spec": template(pod(1))},
                }
            )
        ],
        "it creates objects of kind Deployment that request GPUs",
    ),
    "Kyverno's copies of another namespace's": (
        [kyverno(generate={"apiVersion": "apps/v1", "kind": "Deployment", "clone": {"namespace": "a", "name": "b"}})],
        "it copies objects of kind Deployment",
    ),
    "Kyverno's copies of a list": (
        [kyverno(generate={"namespace": "a", "cloneList": {"namespace": "b", "kinds": ["v1/Secret", "batch/v1/Job"]}})],
        '"charts": {"x (ClusterPolicy)": 0}',
    ),
    "Kyverno's default of a namespace": (
        [
            kyverno(
                generate={
                    "apiVersion": "v1",
                    "kind": "LimitRange",
                    "data": limit_range(max={"nvidia.com/gpu": 1})["props"],
                }
            )
        ],
        "Kubernetes makes its `max`",
    ),
    "Kyverno's expression": (
        [
            expressed(
                """[JSONPatch{op: "add", path: "/spec/containers/0/resources/limits/nvidia.com~1gpu", value: "4"}]"""
            )
        ],
        "it may add GPUs to pods at admission",
    ),
    "an expression of limits": (
        [expressed('Object{spec: Object.spec{limits: {variables.name: "4"}}}', "'amd.com/gpu'", kind=ADMISSION)],
        '"charts": {"x (MutatingAdmissionPolicy)": 0} next to maxGpus',
    ),
    "an expression of a parameter": (
        [expressed("Object{spec: Object.spec{resources: params.spec.resources}}", kind=ADMISSION)],
        "it may add GPUs to pods at admission",
    ),
    "an expression of a runtime": (
        [expressed('Object{spec: Object.spec{runtimeClassName: "nvidia"}}', kind=ADMISSION)],
        "it may add GPUs to pods at admission",
    ),
    "an expression of replicas": ([expressed("Object{spec: Object.spec{replicas: 50}}")], "it may add GPUs to pods"),
    "an expression of an annotation": (
        [expressed('Object{metadata: Object.metadata{annotations: {"gpu-fraction": "0.5"}}}')],
        "it may add GPUs to pods",
    ),
    "a policy without expressions": ([expressed()], "it may add GPUs to pods at admission"),
    "a webhook of pods": ([webhook([""], ["pods"])], "name no resources that run pods"),
    "a webhook of everything": ([webhook(["*"], ["*"])], "name no resources that run pods"),
    "a webhook of a counted kind": (
        [webhook(["ray.io"], ["rayclusters"])],
        '"charts": {"x (MutatingWebhookConfiguration)": 0}',
    ),
}


@pytest.mark.parametrize(("stack", "advice"), ADDING.values(), ids=ADDING.keys())
def test_what_adds_gpus_is_refused(violations: Violations, stack: list[Resource], advice: str) -> None:
    assert advice in "\n".join(violations(*stack, maxGpus=64))


HARMLESS: dict[str, list[Resource]] = {
    "the largest sum of a pod": [limit_range(type="Pod", max={"nvidia.com/gpu": "4"})],
    "the largest request with a default": [limit_range(max={"nvidia.com/gpu": "4"}, default={"nvidia.com/gpu": "0"})],
    "the largest request of none": [limit_range(max={"nvidia.com/gpu": 0})],
    "the largest request of CPUs": [limit_range(max={"cpu": "4"}, default={"cpu": "1"})],
    "an overhead of CPUs": [runtime("kata", handler="kata", overhead={"podFixed": {"cpu": "250m"}}), using("kata")],
    "a sandbox": [runtime("gvisor", handler="runsc"), using("gvisor")],
    "a runtime of GPUs that nobody uses": [runtime("fast", handler="nvidia"), using("other")],
    "Gatekeeper's policy of images": [assign("spec.containers[name:*].imagePullPolicy", "Always")],
    "Gatekeeper's toleration": [
        assign("spec.tolerations", [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}])
    ],
    "Gatekeeper's limit of none": [assign(LIMITS, 0)],
    "Gatekeeper's sandbox": [assign("spec.runtimeClassName", "gvisor")],
    "Gatekeeper's arguments": [
        assign("spec.containers[name: a].args", kind="ModifySet", operation="merge", values={"fromList": ["--gpus=1"]})
    ],
    "Gatekeeper's removal": [assign(LIMITS, kind="ModifySet", operation="prune", values={"fromList": [1]})],
    "Gatekeeper's label": [assign("metadata.labels.team", "vision", kind="AssignMetadata")],
    "Gatekeeper's digests": [
        assign("spec.containers[name:*].image", assign={"externalData": {"provider": "tag-to-digest"}})
    ],
    "Gatekeeper's rule": [
        raw(
            "constraints.gatekeeper.sh/v1beta1:K8sContainerLimits",
            "x",
            {"parameters": {"limits": {"nvidia.com/gpu": 4}}},
        )
    ],
    "Kyverno's rule": [
        kyverno(validate={"pattern": {"spec": {"containers": [{"resources": {"limits": {"nvidia.com/gpu": "<=4"}}}]}}})
    ],
    "Kyverno's rule with a number": [
        kyverno(validate={"pattern": {"spec": {"containers": [{"=(resources)": {"limits": {"nvidia.com/gpu": 4}}}]}}})
    ],
    "Kyverno's rule that denies": [
        kyverno(validate={"deny": {"conditions": [{"key": "{{ gpus }}", "operator": "GreaterThan", "value": 4}]}})
    ],
    "Kyverno's rule in CEL": [
        raw("policies.kyverno.io/v1:ValidatingPolicy", "x", {"variables": [{"expression": "{'nvidia.com/gpu': 4}"}]})
    ],
    "Kyverno's label": [merged({"metadata": {"labels": {"+(team)": "vision"}}})],
    "Kyverno's toleration of pods with GPUs": [
        merged(
            {
                "spec": {
                    "containers": [{"(name)": "*", "resources": {"limits": {"(nvidia.com/gpu)": ">0"}}}],
                    "+(tolerations)": [{"key": "nvidia.com/gpu", "operator": "Exists"}],
                }
            }
        )
    ],
    "Kyverno's security context": [patched("/spec/containers/0/securityContext/privileged", "false")],
    "Kyverno's rest at night": [merged({"spec": {"replicas": 0}})],
    "Kyverno's network policies": [
        kyverno(
            generate={
                "apiVersion": "networking.k8s.io/v1",
                "kind": "NetworkPolicy",
                "data": {"spec": {"podSelector": {}}},
            }
        )
    ],
    "Kyverno's copies of Secrets": [
        kyverno(generate={"apiVersion": "v1", "kind": "Secret", "clone": {"namespace": "a", "name": "b"}})
    ],
    "Kyverno's copies of Services": [kyverno(generate={"cloneList": {"namespace": "a", "kinds": ["v1/Service"]}})],
    "Kyverno's quotas": [
        kyverno(
            generate={
                "apiVersion": "v1",
                "kind": "ResourceQuota",
                "data": {"spec": {"hard": {"requests.nvidia.com/gpu": 4}}},
            }
        )
    ],
    "an expression of a label": [expressed('Object{metadata: Object.metadata{labels: {"gpu.example.com/a": "b"}}}')],
    "an expression of CPUs": [
        expressed(
            'Object{spec: Object.spec{resources: {"limits": {"cpu": "1"}}}}', "object.spec.replicas > 1", kind=ADMISSION
        )
    ],
    "an expression of a sandbox": [expressed('Object{spec: Object.spec{runtimeClassName: "gvisor"}}')],
    "an expression of an image": [expressed("object.spec.containers.map(c, 'registry.example.com/' + c.image)")],
    "cert-manager's webhook": [webhook(["cert-manager.io"], ["certificaterequests"])],
    "a webhook of namespaces": [webhook([""], ["namespaces"])],
}


@pytest.mark.parametrize("stack", HARMLESS.values(), ids=HARMLESS.keys())
def test_what_adds_none_passes(violations: Violations, stack: list[Resource]) -> None:
    assert violations(*stack) == []


def test_a_runtime_of_gpus_without_a_known_name_is_refused(violations: Violations) -> None:
    (message,) = violations(flat("node.k8s.io/v1:RuntimeClass", "x", handler="nvidia"))
    assert "its name is not known here; give it a plain `metadata.name`" in message


def test_pods_with_gpus_may_name_a_runtime_that_shows_them(violations: Violations) -> None:
    assert violations(runtime("fast", handler="nvidia"), using("fast", 1), maxGpus=1) == []
