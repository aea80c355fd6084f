"""Ways past the GPU quota: each is seen, by its number where it has one, else by what is wrong with it."""

from __future__ import annotations

import base64
import json

import pytest

from tests.policies.conftest import Violations
from tests.policies.stacks import (
    CONTAINER,
    DEPLOYMENT,
    GPU,
    IDLE,
    UNKNOWN_NUMBER,
    UNKNOWN_OBJECT,
    Resource,
    annotated,
    chart,
    claim,
    config_map,
    flat,
    mounted,
    patch,
    pod,
    raw,
    scaler,
    shown,
    with_env,
)
from tests.policies.test_counted_tricks import EXECUTORS, SPARK

REQUESTS = {"devices": {"requests": [{"name": "gpu", "exactly": {"deviceClassName": "gpu.nvidia.com", "count": 2}}]}}
MUTATION = {"matchConstraints": {"resourceRules": [{"resources": ["pods"], "operations": ["CREATE"]}]}}


# What gives no number, and what the advice must speak of.
REFUSED: dict[str, tuple[list[Resource], str]] = {
    "a daemon set": (
        [raw("apps/v1:DaemonSet", "x", GPU)],
        "on every node that they fit, so their number is not known here; use a Deployment or a Job",
    ),
    "a deployment of unknown size": (
        [raw("apps/v1:Deployment", "x", {"replicas": UNKNOWN_NUMBER, **GPU})],
        "`spec.replicas` is not known before the update",
    ),
    "resource claims": (
        [raw("core/v1:Pod", "x", {"resourceClaims": [{"name": "gpu"}]})],
        "claims devices of unknown number",
    ),
    "a custom resource of unknown resources": (
        [raw("example.com/v1:Thing", "x", {"worker": {"resources": UNKNOWN_OBJECT}})],
        "`spec.worker.resources` is not known before the update",
    ),
    "a default of a namespace": (
        [raw("core/v1:LimitRange", "x", {"limits": [{"type": "Container", "defaultRequest": {"nvidia.com/gpu": 1}}]})],
        "remove it from `defaultRequest`",
    ),
    "an operator's resource with an unknown template": (
        [raw("ray.io/v1:RayCluster", "x", {"workerGroupSpecs": [{"replicas": 2, "template": UNKNOWN_OBJECT}]})],
        "`spec.workerGroupSpecs.0.template` is not known before the update; write it as a plain value",
    ),
    "an operator's resource": (
        [raw("example.com/v1:Thing", "x", {"workers": [{"replicas": 2, **GPU}]})],
        "how many pods a Thing runs is not known here; request them in a Deployment, Job or JobSet, whose pods are "
        'counted, or state its GPUs in policies/config.dev.json, for example "charts": {"x (Thing)": 0}',
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
        "it gives GPUs to objects at their admission",
    ),
    "a JSON patch": (
        [
            raw(
                "example.com/v1:Thing",
                "x",
                {"patchesJson6902": "- op: add\n  path: /spec/containers/0/resources/limits/nvidia.com~1gpu"},
            )
        ],
        "how many pods a Thing runs",
    ),
    "claims of an operator's pods": (
        [raw("ray.io/v1:RayCluster", "x", {"head": {"resourceClaims": [{"name": "gpu"}]}})],
        "request accelerators in `resources.limits`",
    ),
    "a bare claim": ([claim("ResourceClaim", REQUESTS)], "request accelerators in `resources.limits`"),
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
    "a patch of resources": ([DEPLOYMENT, patch("Deployment", **GPU)], "request them in the object itself"),
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
        "what the chart https://evil.example/kueue requests cannot be seen",
    ),
    "a known chart with GPUs": (
        [chart(resources={"limits": {"nvidia.com/gpu": 1}})],
        "`values.resources` requests GPUs",
    ),
    "a known chart with a GPU by name": ([chart(extra={"gpu": {"nvidia.com/gpu": 1}})], "requests GPUs"),
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
        "`values.extraObjects.0` requests GPUs",
    ),
    "objects of an unknown text": (
        [flat("yaml/v2:ConfigGroup", "x", yaml=UNKNOWN_OBJECT)],
        "`yaml` is not known before the update",
    ),
    "objects that the preview does not show": (
        [flat("yaml:ConfigGroup", "x")],
        "this preview does not show its objects",
    ),
    "devices shown": ([shown(runtimeClassName="nvidia")], "request accelerators in `resources.limits`"),
    "devices shown without a runtime class": ([shown("0,1")], "which shows a container devices"),
    "devices shown beyond the limit": (
        [raw("core/v1:Pod", "x", {"containers": [{**CONTAINER, **shown()["props"]["spec"]["containers"][0]}]})],
        "which shows a container devices",
    ),
    "devices shown by a mount": (
        [mounted("/var/run/nvidia-container-devices/all")],
        "`spec.containers.volumeMounts.mountPath` is /var/run/",
    ),
    "devices shown by a mount of a part of a volume": (
        [mounted("/var/run/nvidia-container-devices/0", subPath="a")],
        "which shows a container devices",
    ),
    "devices shown by a mount by another path": (
        [mounted("/run/x/../nvidia-container-devices/cdi/nvidia.com/gpu/all/")],
        "which shows a container devices",
    ),
    "devices shown by a mount by a relative path": (
        [mounted("var/run//nvidia-container-devices/all")],
        "which shows a container devices",
    ),
    "devices shown by a mount where a parameter says": (
        [raw("argoproj.io/v1alpha1:Workflow", "x", {"volumeMounts": [{"mountPath": "{{inputs.parameters.at}}"}]})],
        "which shows a container devices",
    ),
    "devices shown by a mount that a parameter ends": (
        [raw("argoproj.io/v1alpha1:Workflow", "x", {"volumeMounts": [{"mountPath": "/var/{{inputs.parameters.at}}"}]})],
        "which shows a container devices",
    ),
    "a mount of which nothing is known": (
        [mounted(UNKNOWN_OBJECT)],
        "`spec.containers.volumeMounts.mountPath` is not known before the update",
    ),
    "devices shown by an operator's mount in a text": (
        [config_map("volumeMounts: [{name: d, mountPath: /var/run/nvidia-container-devices/all}]")],
        "which shows a container devices",
    ),
    "devices shown by variables of which nothing is known": (
        [with_env(env=[{"name": UNKNOWN_OBJECT, "value": "all"}])],
        "`spec.containers.env.name` is not known before the update",
    ),
    "devices shown by a variable whose name a prefix completes": (
        [with_env(envFrom=[{"prefix": "NVIDIA_", "configMapRef": {"name": "a"}}])],
        "which may make a variable",
    ),
    "pods with annotations of which nothing is known": (
        [raw("apps/v1:Deployment", "x", {"template": {"metadata": {"annotations": UNKNOWN_OBJECT}, "spec": pod()}})],
        "`spec.template.metadata.annotations` is not known before the update",
    ),
    "devices shown by an image": (
        [raw("core/v1:Pod", "x", {"runtimeClassName": "nvidia", **pod()})],
        "request GPUs in `resources.limits`",
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


for key in (
    *("cdi.k8s.io/x", "cdi.k8s.io/vfio17", "nvidia.cdi.k8s.io/gpu", "io.kubernetes.cri-o.Devices"),
    *("devices.nri.io/container.main", "cdi-devices.nri.io/container.main", "devices.noderesource.dev/pod"),
):
    for where, annotated_pods in zip(("a pod", "a template", "an operator's"), annotated(key), strict=True):
        REFUSED[f"{key} of {where}"] = ([annotated_pods], f"sets {key}, which shows a container devices")


@pytest.mark.parametrize(("stack", "advice"), REFUSED.values(), ids=REFUSED.keys())
def test_it_is_refused_with_advice(violations: Violations, stack: list[Resource], advice: str) -> None:
    message = "\n".join(violations(*stack, maxGpus=64))
    assert advice in message
    assert message.startswith(("x (", "web (", "claim ("))


def test_an_autoscaler_in_another_namespace_scales_something_else(violations: Violations) -> None:
    web = {**IDLE, "props": {**IDLE["props"], "metadata": {"name": "web", "namespace": "a"}}}
    other = scaler(maxReplicas=5)
    other["props"]["metadata"]["namespace"] = "b"
    (message,) = violations(web, other)
    assert "which this stack does not declare" in message
