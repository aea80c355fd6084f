"""Ways past the GPU quota: each is seen, by its number where it has one, else by what is wrong with it."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from tests.policies.conftest import Violations
from tests.policies.stacks import UNKNOWN_OBJECT, Resource, flat, pod, raw, template, workload

GPU = template(pod(1))
IDLE = raw("apps/v1:Deployment", "web", {"replicas": 0, **GPU})
DEPLOYMENT = raw("apps/v1:Deployment", "web", GPU)
CONTAINER = pod(1)["containers"][0]


def scaler(kind: str = "Deployment", name: str = "web", **spec: Any) -> Resource:
    return raw("autoscaling/v2:HorizontalPodAutoscaler", "x", {"scaleTargetRef": {"kind": kind, "name": name}, **spec})


def patch(kind: str, **spec: Any) -> Resource:
    return raw(f"apps/v1:{kind}Patch", "web", spec)


def config_map(text: str, field: str = "data") -> Resource:
    return flat("core/v1:ConfigMap", "x", **{field: {"job.yaml": text}})


def chart(**values: Any) -> Resource:
    address = {"chart": "cluster-autoscaler", "repositoryOpts": {"repo": "https://kubernetes.github.io/autoscaler"}}
    return flat("helm.sh/v3:Release", "x", **address, values=values)


def shown(value: str = "all", **spec: Any) -> Resource:
    container = {"name": "main", "env": [{"name": "NVIDIA_VISIBLE_DEVICES", "value": value}]}
    return raw("core/v1:Pod", "x", {"containers": [container], **spec})


def claim(kind: str, spec: Any) -> Resource:
    return raw(f"resource.k8s.io/v1:{kind}", "claim", spec)


REQUESTS = {"devices": {"requests": [{"name": "gpu", "exactly": {"deviceClassName": "gpu.nvidia.com", "count": 2}}]}}
DEVICES = {"domain": {"devices": {"gpus": [{"name": "a", "deviceName": "nvidia.com/GA102GL_A10"}]}}}
MUTATION = {"matchConstraints": {"resourceRules": [{"resources": ["pods"], "operations": ["CREATE"]}]}}
EXECUTORS = {"executor": {"instances": 3, "gpu": {"name": "nvidia.com/gpu", "quantity": 2}}}
SPARK = "sparkoperator.k8s.io/v1beta2:SparkApplication"

# What is asked for in another way than by a pod's limits in one of Kubernetes' own kinds, and how many that is.
COUNTED: dict[str, tuple[list[Resource], int]] = {
    "a job of Volcano": ([raw("batch.volcano.sh/v1alpha1:Job", "x", {"tasks": [{"replicas": 3, **GPU}]})], 3),
    "a pod as a custom resource": ([raw("v1:Pod", "x", pod(2))], 2),
    "a component that registers fewer than its pods": (
        [workload("TrainingJob", "x", gpus=0), raw("core/v1:Pod", "pod", pod(4), parent="x")],
        4,
    ),
    "a component that registers fewer than its workloads": (
        [
            workload("Sweep", "x", gpus=1),
            workload("TrainingJob", "a", gpus=2, parent="x"),
            workload("TrainingJob", "b", gpus=2, parent="x"),
        ],
        4,
    ),
    "an autoscaler": ([DEPLOYMENT, scaler(maxReplicas=5)], 5),
    "an autoscaler of what is at rest": ([scaler(maxReplicas=5), IDLE], 5),
    "an autoscaler of a component's pods": (
        [workload("ModelServer", "x", gpus=1), {**DEPLOYMENT, "parent": "x"}, scaler(maxReplicas=3)],
        3,
    ),
    "KEDA": (
        [DEPLOYMENT, raw("keda.sh/v1alpha1:ScaledObject", "x", {"scaleTargetRef": {"name": "web"}})],
        100,
    ),
    "KEDA at rest": (
        [
            IDLE,
            {
                **raw("keda.sh/v1alpha1:ScaledObject", "x", None),
                "props": {
                    "metadata": {"annotations": {"autoscaling.keda.sh/paused-replicas": "6"}},
                    "spec": {"scaleTargetRef": {"name": "web"}, "maxReplicaCount": 1},
                },
            },
        ],
        6,
    ),
    "KEDA's jobs": ([raw("keda.sh/v1alpha1:ScaledJob", "x", {"maxReplicaCount": 7, "jobTargetRef": GPU})], 7),
    "KEDA's jobs without a maximum": ([raw("keda.sh/v1alpha1:ScaledJob", "x", {"jobTargetRef": GPU})], 100),
    "a patch of replicas": ([IDLE, patch("Deployment", replicas=2)], 2),
    "an indexed job that waits to grow": (
        [raw("batch/v1:Job", "x", {"completionMode": "Indexed", "parallelism": 0, **GPU})],
        1,
    ),
    "a field that the kind does not have": ([raw("core/v1:Pod", "x", {"replicas": 0, **pod(1)})], 1),
    "Spark's executors": ([raw(SPARK, "x", EXECUTORS)], 6),
    "Spark's executors by default": ([raw(SPARK, "x", {"executor": {"gpu": EXECUTORS["executor"]["gpu"]}})], 4),
    "Spark's executors on demand": (
        [raw(SPARK, "x", {**EXECUTORS, "dynamicAllocation": {"enabled": True, "maxExecutors": 10}})],
        20,
    ),
    "a virtual machine": ([raw("kubevirt.io/v1:VirtualMachine", "x", template(DEVICES))], 1),
    "a pool of virtual machines": (
        [
            raw(
                "pool.kubevirt.io/v1beta1:VirtualMachinePool",
                "x",
                {"replicas": 4, "virtualMachineTemplate": {"spec": template(DEVICES)}},
            )
        ],
        4,
    ),
    "a request without a limit": (
        [raw("core/v1:Pod", "x", {"containers": [{"resources": {"requests": {"nvidia.com/gpu": "2"}}}]})],
        2,
    ),
    "a share of a GPU": ([raw("core/v1:Pod", "x", pod(3000, resource="nvidia.com/gpumem"))], 1),
}
for resource in (
    *("google.com/tpu", "aws.amazon.com/neuron", "aws.amazon.com/neuroncore", "habana.ai/gaudi", "amd.com/gpu"),
    *("huawei.com/Ascend910", "gpu.intel.com/i915", "nvidia.com/pgpu", "nvidia.com/vgpu", "nvidia.com/GA102GL_A10"),
    *("nvidia.com/mig-1g.5gb", "vendor.example/accelerator", "deviceclass.resource.kubernetes.io/gpu"),
):
    COUNTED[resource] = ([raw("core/v1:Pod", "x", pod(2, resource=resource))], 2)


@pytest.mark.parametrize(("stack", "gpus"), COUNTED.values(), ids=COUNTED.keys())
def test_it_counts(violations: Violations, stack: list[Resource], gpus: int) -> None:
    assert violations(*stack, maxGpus=gpus) == []
    (message,) = violations(*stack, maxGpus=gpus - 1)
    assert f"ask for {gpus} GPUs; the quota is {gpus - 1}" in message


# What gives no number, and what the advice must speak of.
REFUSED: dict[str, tuple[list[Resource], str]] = {
    "a default of a namespace": (
        [raw("core/v1:LimitRange", "x", {"limits": [{"type": "Container", "defaultRequest": {"nvidia.com/gpu": 1}}]})],
        "remove it from `defaultRequest`",
    ),
    "an operator's resource with an unknown template": (
        [raw("ray.io/v1:RayCluster", "x", {"workerGroupSpecs": [{"replicas": 2, "template": UNKNOWN_OBJECT}]})],
        "`spec.workerGroupSpecs.0.template` is not known before the update; write it as a plain value",
    ),
    "an operator's resource": (
        [raw("ray.io/v1:RayCluster", "x", {"workerGroupSpecs": [{"replicas": 2, **GPU}]})],
        "how many pods a RayCluster runs is not known here; ask for them in a Deployment, Job or JobSet",
    ),
    "an operator's resource of a built-in kind's name": (
        [raw("apps.example.com/v1:Deployment", "x", GPU)],
        "how many pods a Deployment runs",
    ),
    "a container without a pod": (
        [raw("argoproj.io/v1alpha1:Workflow", "x", {"templates": [{"container": CONTAINER}]})],
        "how many pods a Workflow runs",
    ),
    "a patch in a text": (
        [raw("argoproj.io/v1alpha1:Workflow", "x", {"podSpecPatch": json.dumps(pod(1))})],
        "how many pods a Workflow runs",
    ),
    "a patch in a text that parameters fill in": (
        [raw("argoproj.io/v1alpha1:Workflow", "x", {"podSpecPatch": '{"containers": {{inputs.parameters.c}}}'})],
        "write the pods' resources without parameters",
    ),
    "a resource that parameters name": (
        [raw("argoproj.io/v1alpha1:Workflow", "x", pod(1, resource="{{inputs.parameters.gpu}}"))],
        "how many pods a Workflow runs",
    ),
    "a mutation of Kyverno": (
        [raw("kyverno.io/v1:ClusterPolicy", "x", {"rules": [{"mutate": {"patchStrategicMerge": {"spec": pod(1)}}}]})],
        "how many pods a ClusterPolicy runs",
    ),
    "a JSON patch": (
        [
            raw(
                "kyverno.io/v1:ClusterPolicy",
                "x",
                {"patchesJson6902": "- op: add\n  path: /spec/containers/0/resources/limits/nvidia.com~1gpu"},
            )
        ],
        "how many pods a ClusterPolicy runs",
    ),
    "claims of an operator's pods": (
        [raw("ray.io/v1:RayCluster", "x", {"head": {"resourceClaims": [{"name": "gpu"}]}})],
        "ask for accelerators in `resources.limits`",
    ),
    "a bare claim": ([claim("ResourceClaim", REQUESTS)], "ask for accelerators in `resources.limits`"),
    "a claim's template": ([claim("ResourceClaimTemplate", {"spec": REQUESTS})], "claims devices of unknown number"),
    "a device class that passes for a network's": (
        [raw("resource.k8s.io/v1:DeviceClass", "x", {"extendedResourceName": "vpc.amazonaws.com/efa"})],
        "give it another",
    ),
    "limits beside containers": (
        [raw("example.com/v1:Thing", "x", {**pod(), "limits": {"example.com/gpu-like": 1}})],
        "how many pods a Thing runs",
    ),
    "limits in a container": (
        [raw("example.com/v1:Thing", "x", {"containers": [{"limits": {"example.com/gpu-like": 1}}]})],
        "how many pods a Thing runs",
    ),
    "an autoscaler of something else": (
        [scaler(name="elsewhere", maxReplicas=2)],
        "scales Deployment elsewhere, which this stack does not declare",
    ),
    "an autoscaler of something unknown": ([scaler(name=UNKNOWN_OBJECT, maxReplicas=2)], "not known before the update"),
    "an autoscaler without a maximum": ([DEPLOYMENT, scaler()], "set `spec.maxReplicas`"),
    "a patch of resources": ([DEPLOYMENT, patch("Deployment", **GPU)], "ask for them in the object itself"),
    "a patch of something else": (
        [patch("Deployment", replicas=2)],
        "patches Deployment web, which this stack does not",
    ),
    "a patch of an autoscaler": (
        [raw("autoscaling/v2:HorizontalPodAutoscalerPatch", "x", {"maxReplicas": 9})],
        "patches HorizontalPodAutoscaler x",
    ),
    "an elastic job": (
        [
            {
                **raw("batch/v1:Job", "x", GPU),
                "props": {"metadata": {"annotations": {"kueue.x-k8s.io/elastic-job": "true"}}, "spec": GPU},
            }
        ],
        "remove the annotation",
    ),
    "Spark's own settings": (
        [raw(SPARK, "x", {**EXECUTORS, "sparkConf": {"spark.executor.instances": "64"}})],
        "use `executor.instances`",
    ),
    "Spark's executors without bound": (
        [raw(SPARK, "x", {**EXECUTORS, "dynamicAllocation": {"enabled": True}})],
        "set its `maxExecutors`",
    ),
    "a type of virtual machines": (
        [raw("kubevirt.io/v1:VirtualMachine", "x", {"instancetype": {"name": "gn1.xlarge"}})],
        "write cpu, memory and devices into the virtual machine itself",
    ),
    "a chart of others": (
        [flat("helm.sh/v3:Release", "x", chart="oci://ghcr.io/acme/web")],
        'in policies/config.dev.json, for example "charts": {"oci://ghcr.io/acme/web": 0}',
    ),
    "a chart of a known name from elsewhere": (
        [flat("helm.sh/v3:Release", "x", chart="kueue", repositoryOpts={"repo": "https://evil.example"})],
        "what the chart https://evil.example/kueue asks for cannot be seen",
    ),
    "a known chart with GPUs": (
        [chart(resources={"limits": {"nvidia.com/gpu": 1}})],
        "`values.resources` asks for GPUs",
    ),
    "a known chart with a GPU by name": ([chart(extra={"gpu": {"nvidia.com/gpu": 1}})], "asks for GPUs"),
    "a known chart with unknown values": (
        [flat("helm.sh/v3:Release", "x", **{**chart()["props"], "values": UNKNOWN_OBJECT})],
        "`values` is not known before the update",
    ),
    "a known chart with values in a file": (
        [flat("helm.sh/v3:Release", "x", **{**chart()["props"], "valueYamlFiles": ["x.yaml"]})],
        "write what it sets into `values`",
    ),
    "a known chart with objects of its own": (
        [chart(extraObjects=[json.dumps({"kind": "Pod", "spec": pod(1)})])],
        "`values.extraObjects.0` asks for GPUs",
    ),
    "objects of an unknown text": (
        [flat("yaml/v2:ConfigGroup", "x", yaml=UNKNOWN_OBJECT)],
        "`yaml` is not known before the update",
    ),
    "objects that the preview does not show": (
        [flat("yaml:ConfigGroup", "x")],
        "this preview does not show its objects",
    ),
    "devices shown": ([shown(runtimeClassName="nvidia")], "ask for accelerators in `resources.limits`"),
    "devices shown without a runtime class": ([shown("0,1")], "which shows a container devices"),
    "devices shown beyond the limit": (
        [raw("core/v1:Pod", "x", {"containers": [{**CONTAINER, **shown()["props"]["spec"]["containers"][0]}]})],
        "which shows a container devices",
    ),
    "devices shown by an image": (
        [raw("core/v1:Pod", "x", {"runtimeClassName": "nvidia", **pod()})],
        "ask for GPUs in `resources.limits`",
    ),
    "devices shown by a ConfigMap": (
        [flat("core/v1:ConfigMap", "x", data={"NVIDIA_VISIBLE_DEVICES": "all"})],
        "which shows a container devices",
    ),
    "a manifest in a ConfigMap": ([config_map(json.dumps({"spec": pod(1)}))], "`data.job.yaml` holds a manifest"),
    "a manifest in YAML": (
        [config_map("spec:\n  containers:\n  - resources:\n      limits: {vendor.example/x: 1}\n")],
        "`data.job.yaml` holds a manifest",
    ),
    "a manifest in a template": (
        [config_map('{{- if .Values.gpu }}\nlimits:\n  nvidia.com/gpu: "{{ .Values.gpu }}"\n{{- end }}')],
        "`data.job.yaml` holds a manifest",
    ),
    "a manifest in bytes": (
        [config_map(base64.b64encode(json.dumps(pod(1)).encode()).decode(), "binaryData")],
        "`binaryData.job.yaml` holds a manifest",
    ),
    "a manifest in a Secret": (
        [flat("core/v1:Secret", "x", stringData={"pod": json.dumps(pod(1))})],
        "`stringData.pod` holds a manifest",
    ),
    "a mutation": (
        [raw("admissionregistration.k8s.io/v1:MutatingAdmissionPolicy", "x", MUTATION)],
        "name no resources that run pods",
    ),
    "a webhook": (
        [
            flat(
                "admissionregistration.k8s.io/v1:MutatingWebhookConfiguration",
                "x",
                webhooks=[{"rules": [{"resources": ["*"]}]}],
            )
        ],
        "name no resources that run pods",
    ),
    "runs that overlap": (
        [raw("batch/v1:CronJob", "x", {"jobTemplate": {"spec": GPU}})],
        "set `spec.concurrencyPolicy` to Forbid or Replace",
    ),
    "a type that is not the manifest's": (
        [flat("core/v1:ConfigMap", "x", apiVersion="v1", kind="Pod", spec=pod(1))],
        "give both the same apiVersion and kind",
    ),
    "a list of objects": ([flat("core/v1:List", "x", items=[{"kind": "Pod", "spec": pod(1)}])], "how many pods a List"),
}


@pytest.mark.parametrize(("stack", "advice"), REFUSED.values(), ids=REFUSED.keys())
def test_it_is_refused_with_advice(violations: Violations, stack: list[Resource], advice: str) -> None:
    message = "\n".join(violations(*stack, maxGpus=64))
    assert advice in message
    assert message.startswith(("x (", "web (", "claim ("))


ODD = {
    "no spec": flat("core/v1:Pod", "x"),
    "a null spec": flat("core/v1:Pod", "x", spec=None),
    "no template": raw("apps/v1:Deployment", "x", {"template": None}),
}


@pytest.mark.parametrize("resource", ODD.values(), ids=ODD.keys())
def test_an_object_that_holds_nothing_asks_for_nothing(violations: Violations, resource: Resource) -> None:
    assert violations(resource) == []


BROKEN = {
    "a spec that is a list": raw("core/v1:LimitRange", "x", [1]),
    "containers of words and maps": raw("core/v1:Pod", "x", {"containers": ["a", CONTAINER]}),
    "limits that are no count": raw("core/v1:Pod", "x", pod("many")),
    "limits beyond every fleet": raw("core/v1:Pod", "x", pod("1e400")),
    "a count of 400 digits": raw("core/v1:Pod", "x", pod(10**400)),
    "replicas that are a map": raw("apps/v1:Deployment", "x", {"replicas": {}, **GPU}),
    "a manifest of 330 levels": raw("example.com/v1:Thing", "x", json.loads("[" * 330 + "]" * 330)),
    "a chart that is no text": flat("helm.sh/v3:Release", "x", chart=[], repositoryOpts="x"),
}


@pytest.mark.parametrize("resource", BROKEN.values(), ids=BROKEN.keys())
def test_an_odd_object_is_named_and_hides_no_other(violations: Violations, resource: Resource) -> None:
    first, second = violations(resource, raw("core/v1:Pod", "other", pod(1)))
    assert first.startswith("x (")
    assert "; " in first, "with a remedy"
    assert "other (Pod): 1" in second


HARMLESS = {
    "network interfaces": raw("core/v1:Pod", "x", pod(4, resource="vpc.amazonaws.com/efa")),
    "huge pages": raw("core/v1:Pod", "x", pod("1Gi", resource="hugepages-2Mi")),
    "no devices shown": shown("none"),
    "a limit of a namespace": raw("core/v1:LimitRange", "x", {"limits": [{"max": {"nvidia.com/gpu": 4}}]}),
    "machines": raw("karpenter.sh/v1:NodePool", "x", {"limits": {"nvidia.com/gpu": 8}}),
    "labels": raw("example.com/v1:Thing", "x", {"nodeSelector": {"nvidia.com/gpu": "1", "nvidia.com/gpu.count": "8"}}),
    "an address that is not known yet": raw("cert-manager.io/v1:Certificate", "x", {"dnsNames": [UNKNOWN_OBJECT]}),
    "a queue of the cloud that is not known yet": chart(settings={"interruptionQueue": UNKNOWN_OBJECT}),
    "code in a ConfigMap": config_map("import requests\nlimits = {'nvidia.com/gpu.count': 1}\n"),
    "a setting of the device plugin": config_map("resources:\n- name: nvidia.com/gpu\n  replicas: 4\n"),
    "a mutation of namespaces": raw(
        "admissionregistration.k8s.io/v1:MutatingAdmissionPolicy",
        "x",
        {"matchConstraints": {"resourceRules": [{"resources": ["namespaces"]}]}},
    ),
    "an interface's claim": claim(
        "ResourceClaim", {"devices": {"requests": [{"deviceClassName": "mrdma.google.com"}]}}
    ),
    "an operator's pods without GPUs": raw("ray.io/v1:RayCluster", "x", {"workerGroupSpecs": [template(pod())]}),
}


@pytest.mark.parametrize("resource", HARMLESS.values(), ids=HARMLESS.keys())
def test_what_asks_for_no_accelerator_passes(violations: Violations, resource: Resource) -> None:
    assert violations(resource) == []


def test_an_autoscaler_of_pods_without_gpus_passes(violations: Violations) -> None:
    web = raw("apps/v1:Deployment", "web", template(pod()))
    assert violations(web, scaler(maxReplicas=50)) == []
    assert violations(web, patch("Deployment", replicas=3)) == []


def test_pods_with_a_claim_of_an_interface_are_counted(violations: Violations) -> None:
    interface = claim("ResourceClaimTemplate", {"spec": {"devices": {"requests": [{"deviceClassName": "dra.net"}]}}})
    worker = raw("core/v1:Pod", "x", {"resourceClaims": [{"resourceClaimTemplateName": "claim"}], **pod(1)})
    assert violations(interface, worker, maxGpus=1) == []
    (message,) = violations(worker, maxGpus=1)
    assert "claims devices of unknown number" in message


def test_a_stated_chart_counts_as_stated(violations: Violations) -> None:
    web = flat("helm.sh/v3:Release", "x", chart="oci://ghcr.io/acme/web")
    assert violations(web, charts={"oci://ghcr.io/acme/web": 0}) == []
    assert violations(web, charts={"oci://ghcr.io/acme/web": 2}, maxGpus=2) == []
    (message,) = violations(web, charts={"oci://ghcr.io/acme/web": 2}, maxGpus=1)
    assert "x (Release): 2" in message


def test_an_autoscaler_in_another_namespace_scales_something_else(violations: Violations) -> None:
    web = {**IDLE, "props": {**IDLE["props"], "metadata": {"name": "web", "namespace": "a"}}}
    other = scaler(maxReplicas=5)
    other["props"]["metadata"]["namespace"] = "b"
    (message,) = violations(web, other)
    assert "which this stack does not declare" in message


def test_a_long_word_is_read_in_no_time(violations: Violations) -> None:
    assert violations(config_map("limits" + "ab" * 500_000)) == []


def test_a_text_of_aliases_is_read_in_no_time(violations: Violations) -> None:
    lines = ["a0: &a0 {limits: {cpu: 1}}"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 30)]
    assert violations(config_map("\n".join(lines))) == []
    assert violations(config_map("a: &a {limits: {cpu: 1}, b: *a}")) == []
