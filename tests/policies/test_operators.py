"""GPUs of operators' objects are counted by their pod templates, with the most pods that the operator runs of each."""

from __future__ import annotations

from typing import Any

import pytest

from tests.policies.conftest import Violations
from tests.policies.stacks import CONTAINER, DEPLOYMENT, GPU, IDLE, Resource, flat, pod, raw, scaler, template

IDLE_TEMPLATE = template(pod())


def deployment(replicas: int, surge: Any, **strategy: Any) -> Resource:
    rolling = {"rollingUpdate": {"maxSurge": surge}, **strategy}
    return raw("apps/v1:Deployment", "web", {"replicas": replicas, "strategy": rolling, **GPU})


def ray(*groups: dict[str, Any], head: Any = IDLE_TEMPLATE, **more: Any) -> dict[str, Any]:
    return {"headGroupSpec": head, "workerGroupSpecs": list(groups), **more}


def leaders(size: int, **more: Any) -> Resource:
    workers = {"size": size, "workerTemplate": GPU["template"], **more}
    return raw("leaderworkerset.x-k8s.io/v1:LeaderWorkerSet", "x", {"replicas": 2, "leaderWorkerTemplate": workers})


def knative(**annotations: str) -> Resource:
    scales = {f"autoscaling.knative.dev/{key.replace('_', '-')}": value for key, value in annotations.items()}
    return raw(
        "serving.knative.dev/v1:Service", "x", {"template": {"metadata": {"annotations": scales}, "spec": pod(1)}}
    )


def kserve(**predictor: Any) -> Resource:
    return raw("serving.kserve.io/v1beta1:InferenceService", "x", {"predictor": predictor})


def kubeflow(kind: str, field: str, workers: int, **more: Any) -> Resource:
    roles = {"Launcher": IDLE_TEMPLATE, "Worker": {"replicas": workers, **GPU}}
    return raw(f"kubeflow.org/v1:{kind}", "x", {field: roles, **more})


def rollout(**spec: Any) -> Resource:
    return raw("argoproj.io/v1alpha1:Rollout", "x", spec)


def shared(**annotations: str) -> dict[str, Any]:
    """A template of pods that request parts of GPUs by annotations."""
    given = {key.replace("_", "-"): value for key, value in annotations.items()}
    return {"template": {"metadata": {"annotations": given}, "spec": pod()}}


def datadog(kind: str = "DatadogPodAutoscaler", group: str = "datadoghq.com/v1alpha2", **spec: Any) -> Resource:
    return raw(f"{group}:{kind}", "x", {"targetRef": {"kind": "Deployment", "name": "web"}, **spec})


def with_name(name: str, resource: Resource) -> Resource:
    return {**resource, "name": name, "props": {**resource["props"], "metadata": {"name": name}}}


OF_DEPLOYMENT = {"workloadRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}}
MODEL = {"model": {"modelFormat": {"name": "onnx"}, **CONTAINER}}

# Stacks that request GPUs, and how many.
OPERATORS: dict[str, tuple[list[Resource], int]] = {
    "a surge of an update": ([deployment(2, 4)], 6),
    "a surge in percent": ([deployment(3, "100%")], 6),
    "a surge of autoscaled pods": ([deployment(1, "50%"), scaler(maxReplicas=4)], 6),
    "groups of leaders and workers": ([leaders(4)], 8),
    "leaders of their own": ([leaders(4, leaderTemplate=IDLE_TEMPLATE["template"])], 6),
    "a Ray cluster": ([raw("ray.io/v1:RayCluster", "x", ray({"replicas": 3, **GPU}, head=GPU))], 4),
    "a Ray cluster of several hosts": (
        [raw("ray.io/v1:RayCluster", "x", ray({"replicas": 2, "numOfHosts": 4, **GPU}, {"replicas": 0, **GPU}))],
        8,
    ),
    "a Ray cluster that grows": (
        [
            raw(
                "ray.io/v1:RayCluster",
                "x",
                ray({"replicas": 0, "maxReplicas": 5, **GPU}, enableInTreeAutoscaling=True),
            )
        ],
        5,
    ),
    "a Ray job": ([raw("ray.io/v1:RayJob", "x", {"rayClusterSpec": ray({"replicas": 2, **GPU})})], 2),
    "a Ray service": ([raw("ray.io/v1:RayService", "x", {"rayClusterConfig": ray({"minReplicas": 2, **GPU})})], 2),
    "MPI workers": ([kubeflow("MPIJob", "mpiReplicaSpecs", 4)], 4),
    "elastic PyTorch workers": (
        [kubeflow("PyTorchJob", "pytorchReplicaSpecs", 1, elasticPolicy={"maxReplicas": 6})],
        6,
    ),
    "a Knative service": ([knative(min_scale="1", max_scale="3")], 3),
    "KServe's model": ([kserve(minReplicas=1, maxReplicas=4, **MODEL)], 4),
    "KServe's canary": ([kserve(maxReplicas=2, canaryTrafficPercent=10, **MODEL)], 4),
    "KServe's workers": (
        [kserve(maxReplicas=1, **MODEL, workerSpec={"pipelineParallelSize": 4, "containers": [CONTAINER]})],
        4,
    ),
    "a rollout": ([rollout(replicas=4, strategy={"canary": {"maxSurge": "25%"}}, **GPU)], 4),
    "a rollout with traffic": ([rollout(replicas=4, strategy={"canary": {"trafficRouting": {"istio": {}}}}, **GPU)], 8),
    "a rollout with a scale of its own": (
        [
            rollout(
                replicas=1,
                strategy={"canary": {"trafficRouting": {}, "steps": [{"setCanaryScale": {"replicas": 9}}]}},
                **GPU,
            )
        ],
        10,
    ),
    "a rollout with experiments": (
        [
            rollout(
                replicas=1,
                strategy={"canary": {"steps": [{"experiment": {"templates": [{"replicas": 3}, {}]}}, {"pause": {}}]}},
                **GPU,
            )
        ],
        5,
    ),
    "a rollout of two colors": ([rollout(replicas=4, strategy={"blueGreen": {"previewReplicaCount": 1}}, **GPU)], 5),
    "a rollout of a deployment": ([IDLE, rollout(replicas=3, **OF_DEPLOYMENT)], 3),
    "a rollout beside its deployment": ([rollout(replicas=3, **OF_DEPLOYMENT), DEPLOYMENT], 4),
    "an autoscaled rollout of a deployment": (
        [IDLE, rollout(**OF_DEPLOYMENT), {**scaler("Rollout", "x", maxReplicas=7), "name": "y"}],
        7,
    ),
    "an autoscaler with a targetRef": ([DEPLOYMENT, datadog(constraints={"maxReplicas": 5})], 5),
    "KEDA's autoscaler of requests": (
        [
            DEPLOYMENT,
            raw(
                "http.keda.sh/v1alpha1:HTTPScaledObject",
                "x",
                {"scaleTargetRef": {"name": "web"}, "replicas": {"max": 8}},
            ),
        ],
        8,
    ),
    "a copy of autoscaled pods": (
        [datadog("Canary", "flagger.app/v1beta1"), DEPLOYMENT, {**scaler(maxReplicas=3), "name": "y"}],
        6,
    ),
    "a copy with a maximum of its own": (
        [
            datadog("Canary", "flagger.app/v1beta1", autoscalerRef={"primaryScalerReplicas": {"maxReplicas": 9}}),
            DEPLOYMENT,
        ],
        10,
    ),
    "parts of GPUs": ([raw("apps/v1:Deployment", "x", {"replicas": 4, **shared(gpu_fraction="0.5")})], 4),
    "parts of GPUs in MiB": ([raw("batch/v1:Job", "x", {"parallelism": 2, **shared(gpu_memory="2000")})], 2),
    "parts of several GPUs": (
        [raw("apps/v1:Deployment", "x", shared(gpu_fraction="0.25", gpu_fraction_num_devices="3"))],
        3,
    ),
    "a part of a GPU of a pod": (
        [flat("core/v1:Pod", "x", metadata={"name": "x", "annotations": {"gpu-fraction": "0.5"}}, spec=pod())],
        1,
    ),
    "a pod's overhead": ([raw("core/v1:Pod", "x", {"overhead": {"vendor.example/gpu-like": 8}, **pod()})], 8),
    "Tencent's cores of eight GPUs": ([raw("core/v1:Pod", "x", pod(800, resource="tencent.com/vcuda-core"))], 8),
    "Koordinator's parts of two GPUs": (
        [raw("core/v1:Pod", "x", pod(200, resource="koordinator.sh/gpu-memory-ratio"))],
        2,
    ),
    "Koordinator's whole GPU": ([raw("core/v1:Pod", "x", pod("100", resource="koordinator.sh/gpu"))], 1),
    "HAMi's parts of another vendor's GPU": (
        [
            raw(
                "core/v1:Pod",
                "x",
                {
                    "containers": [
                        {
                            "resources": {
                                "limits": {
                                    "iluvatar.ai/BI-V150-vgpu": 1,
                                    "iluvatar.ai/BI-V150.vMem": 64,
                                    "iluvatar.ai/BI-V150.vCore": 50,
                                }
                            }
                        }
                    ]
                },
            )
        ],
        1,
    ),
    "cores that are devices": ([raw("core/v1:Pod", "x", pod(32, resource="aws.amazon.com/neuroncore"))], 32),
    "cores of an unknown vendor": ([raw("core/v1:Pod", "x", pod(8, resource="vendor.example/supercore"))], 8),
    "HAMi's parts of two GPUs": (
        [
            raw(
                "core/v1:Pod",
                "x",
                {
                    "containers": [
                        {
                            "resources": {
                                "limits": {"nvidia.com/gpu": 2, "nvidia.com/gpumem": "3000", "nvidia.com/gpucores": 30}
                            }
                        }
                    ]
                },
            )
        ],
        2,
    ),
    "parts of two vendors' GPUs": (
        [
            raw(
                "core/v1:Pod",
                "x",
                {"containers": [{"resources": {"limits": {"tencent.com/vcuda-core": 200, "nvidia.com/gpu": 1}}}]},
            )
        ],
        3,
    ),
}


@pytest.mark.parametrize(("stack", "gpus"), OPERATORS.values(), ids=OPERATORS.keys())
def test_it_counts(violations: Violations, stack: list[Resource], gpus: int) -> None:
    assert violations(*stack, maxGpus=gpus) == []
    (message,) = violations(*stack, maxGpus=gpus - 1)
    assert f"request {gpus} GPUs; the quota is {gpus - 1}" in message


def test_a_rollout_of_a_pod_template_counts_beside_what_is_stated_of_that(violations: Violations) -> None:
    pods = flat("core/v1:PodTemplate", "web", metadata={"name": "web"}, **GPU)
    stack = [pods, rollout(replicas=2, workloadRef={"apiVersion": "v1", "kind": "PodTemplate", "name": "web"})]
    (message,) = violations(*stack, charts={"web (PodTemplate)": 0}, maxGpus=1)
    assert "request 2 GPUs; the quota is 1. x (Rollout): 2." in message


# What has no maximum, and what the advice must speak of.
UNBOUNDED: dict[str, tuple[list[Resource], str]] = {
    "a Ray cluster": (
        [raw("ray.io/v1:RayCluster", "x", ray({"replicas": 1, **GPU}, enableInTreeAutoscaling=True))],
        "a group of `spec.workerGroupSpecs` grows without a maximum; set its `maxReplicas`",
    ),
    "a Knative service": (
        [knative(min_scale="1")],
        "set autoscaling.knative.dev/max-scale in `spec.template.metadata.annotations`",
    ),
    "KServe's model": (
        [kserve(minReplicas=1, **MODEL)],
        "any number of pods of `spec.predictor`; set its `maxReplicas`",
    ),
    "KServe's workers": (
        [kserve(maxReplicas=1, **MODEL, workerSpec={"containers": [CONTAINER]})],
        "set its `pipelineParallelSize`",
    ),
    "an autoscaler with a targetRef": ([DEPLOYMENT, datadog()], "it scales without a maximum; set `spec.maxReplicas`"),
    "a rollout of something else": (
        [rollout(**OF_DEPLOYMENT)],
        "it runs pods of Deployment web, which this stack does not declare",
    ),
    "a patch of Ray's workers": (
        [
            raw("ray.io/v1:RayCluster", "web", ray({"replicas": 1, **GPU})),
            raw("ray.io/v1:RayClusterPatch", "web", {"workerGroupSpecs": [{"groupName": "a", "replicas": 20}]}),
        ],
        "it patches `spec.workerGroupSpecs.0.replicas`",
    ),
    "a patch of a group's size": (
        [
            with_name("web", leaders(1)),
            raw("leaderworkerset.x-k8s.io/v1:LeaderWorkerSetPatch", "web", {"leaderWorkerTemplate": {"size": 40}}),
        ],
        "it patches `spec.leaderWorkerTemplate.size`",
    ),
    "a patch of a Knative service": (
        [
            {
                **knative(max_scale="1"),
                "name": "web",
                "props": {**knative(max_scale="1")["props"], "metadata": {"name": "web"}},
            },
            raw(
                "serving.knative.dev/v1:ServicePatch",
                "web",
                {"template": {"metadata": {"annotations": {"autoscaling.knative.dev/max-scale": "9"}}}},
            ),
        ],
        "it patches `spec.template.metadata.annotations.autoscaling.knative.dev/max-scale`",
    ),
    "a patch of the surge": (
        [DEPLOYMENT, raw("apps/v1:DeploymentPatch", "web", {"strategy": {"rollingUpdate": {"maxSurge": 9}}})],
        "it patches `spec.strategy.rollingUpdate.maxSurge`",
    ),
    "a part of a GPU that is filled in": (
        [raw("apps/v1:Deployment", "x", shared(gpu_fraction="{{ part }}"))],
        "`spec.template.metadata.annotations.gpu-fraction` is filled in later",
    ),
}


@pytest.mark.parametrize(("stack", "advice"), UNBOUNDED.values(), ids=UNBOUNDED.keys())
def test_without_a_maximum_it_is_refused(violations: Violations, stack: list[Resource], advice: str) -> None:
    assert advice in "\n".join(violations(*stack, maxGpus=64))


HARMLESS: dict[str, list[Resource]] = {
    "Kubernetes' default surge": [deployment(4, "25%")],
    "a surge of one pod": [deployment(1, 1)],
    "no surge": [deployment(4, "100%", type="Recreate")],
    "a surge of nothing": [deployment(0, "100%")],
    "a patch of the strategy": [DEPLOYMENT, raw("apps/v1:DeploymentPatch", "web", {"strategy": {"type": "Recreate"}})],
    "a Ray cluster at rest": [raw("ray.io/v1:RayCluster", "x", ray({"replicas": 0, **GPU}))],
    "a Ray cluster of CPUs that grows": [
        raw("ray.io/v1:RayCluster", "x", ray({"replicas": 1, **IDLE_TEMPLATE}, enableInTreeAutoscaling=True))
    ],
    "Ray's own number of GPUs": [
        raw("ray.io/v1:RayCluster", "x", ray({"replicas": 4, "rayStartParams": {"num-gpus": "1"}, **GPU}))
    ],
    "a Knative service of CPUs": [
        raw("serving.knative.dev/v1:Service", "x", {"template": {"metadata": {}, "spec": pod()}})
    ],
    "KServe's model on CPUs": [kserve(model={"modelFormat": {"name": "onnx"}, "resources": {"limits": {"cpu": 1}}})],
    "a gateway's policy with a targetRef": [
        datadog("BackendTrafficPolicy", "gateway.envoyproxy.io/v1alpha1", targetRef={"kind": "HTTPRoute", "name": "a"})
    ],
    "an autoscaler of sizes": [
        datadog("VerticalPodAutoscaler", "autoscaling.k8s.io/v1", targetRef={"kind": "Deployment", "name": "a"})
    ],
    "a note about a GPU's memory": [raw("apps/v1:Deployment", "x", shared(gpu_memory="16Gi"))],
    "Koordinator's memory of a GPU": [raw("core/v1:Pod", "x", pod("4Gi", resource="koordinator.sh/gpu-memory"))],
    "Koordinator's network": [raw("core/v1:Pod", "x", pod(100, resource="koordinator.sh/rdma"))],
    "memory of another vendor's GPU": [raw("core/v1:Pod", "x", pod("4G", resource="metax-tech.com/vmemory"))],
    "Intel's memory of a GPU": [raw("core/v1:Pod", "x", pod("10M", resource="gpu.intel.com/memory.max"))],
}


@pytest.mark.parametrize("stack", HARMLESS.values(), ids=HARMLESS.keys())
def test_what_requests_four_gpus_at_most_passes(violations: Violations, stack: list[Resource]) -> None:
    assert violations(*stack, maxGpus=4) == []
