"""Objects outside of components, and ways past the GPU quota, that request a number of GPUs: each is counted."""

from __future__ import annotations

import pytest

from tests.policies.conftest import Violations
from tests.policies.stacks import (
    DEPLOYMENT,
    GPU,
    IDLE,
    Resource,
    claim,
    flat,
    patch,
    pod,
    raw,
    scaler,
    template,
    workload,
)
from tests.support.accelerator_names import HARMLESS, SOURCES

DEVICES = {"domain": {"devices": {"gpus": [{"name": "a", "deviceName": "nvidia.com/GA102GL_A10"}]}}}
EXECUTORS = {"executor": {"instances": 3, "gpu": {"name": "nvidia.com/gpu", "quantity": 2}}}
SPARK = "sparkoperator.k8s.io/v1beta2:SparkApplication"


# Stacks that request GPUs, and how many.
COUNTED: dict[str, tuple[list[Resource], int]] = {
    "a pod": ([raw("core/v1:Pod", "x", pod(2))], 2),
    "a pod with a quantity in words": ([raw("core/v1:Pod", "x", pod("2"))], 2),
    "slices of a GPU": ([raw("core/v1:Pod", "x", pod(3, resource="nvidia.com/mig-1g.5gb"))], 3),
    "another vendor's GPUs": ([raw("core/v1:Pod", "x", pod(1, resource="amd.com/gpu"))], 1),
    "a deployment": ([raw("apps/v1:Deployment", "x", {"replicas": 3, **template(pod(2))})], 6),
    "a deployment of one replica": ([raw("apps/v1:Deployment", "x", template(pod(2)))], 2),
    "a stateful set": ([raw("apps/v1:StatefulSet", "x", {"replicas": 2, **template(pod(1))})], 2),
    "a job": ([raw("batch/v1:Job", "x", {"parallelism": 4, "completions": 3, **template(pod(1))})], 3),
    "a cron job": (
        [
            raw("batch/v1:CronJob", "x", {"concurrencyPolicy": "Forbid", "jobTemplate": {"spec": template(pod(1))}}),
        ],
        1,
    ),
    "a job set": (
        [
            raw(
                "jobset.x-k8s.io/v1alpha2:JobSet",
                "x",
                {
                    "replicatedJobs": [
                        {"replicas": 2, "template": {"spec": {"parallelism": 3, **template(pod(4))}}},
                        {"template": {"spec": template(pod(1))}},
                    ]
                },
            ),
        ],
        25,
    ),
    "init containers and sidecars": (
        [
            raw(
                "core/v1:Pod",
                "x",
                {
                    "initContainers": [
                        {"resources": {"limits": {"nvidia.com/gpu": 1}}, "restartPolicy": "Always"},
                        {"resources": {"limits": {"nvidia.com/gpu": 4}}},
                    ],
                    "containers": [{"resources": {"requests": {"nvidia.com/gpu": 2}}}],
                },
            ),
        ],
        5,
    ),
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
    *("nvidia.com/pgpu", "nvidia.com/vgpu", "nvidia.com/GA102GL_A10", "nvidia.com/mig-1g.5gb"),
    # Plugins that offer any device file by its name.
    *("smarter-devices/nvidia0", "smarter-devices/dri", "squat.ai/nvidia", "devices.kubevirt.io/nvidia0"),
    *("smarter-devices/vfio", "smarter-devices/kfd", "smarter-devices/accel0"),
    *("vendor.example/accelerator", "deviceclass.resource.kubernetes.io/gpu"),
):
    COUNTED[resource] = ([raw("core/v1:Pod", "x", pod(2, resource=resource))], 2)


@pytest.mark.parametrize(("stack", "gpus"), COUNTED.values(), ids=COUNTED.keys())
def test_it_counts(violations: Violations, stack: list[Resource], gpus: int) -> None:
    assert violations(*stack, maxGpus=gpus) == []
    (message,) = violations(*stack, maxGpus=gpus - 1)
    assert f"request {gpus} GPUs; the quota is {gpus - 1}" in message


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


SHARES = {"mthreads.com/sgpu-core", "tencent.com/vcuda-core", "aliyun.com/gpu-mem", "koordinator.sh/gpu-core"}
"""In hundredths of a device, or in units of its memory."""


def test_resources_of_public_device_plugins_are_counted(violations: Violations) -> None:
    (message,) = violations(*(raw("core/v1:Pod", name, pod(100, resource=name)) for name in SOURCES))
    assert f"request {100 * len(SOURCES.keys() - SHARES) + len(SHARES)} GPUs;" in message
    assert violations(*(raw("core/v1:Pod", name, pod(8, resource=name)) for name in HARMLESS)) == []


def test_they_are_found_in_fields_of_any_name(violations: Violations) -> None:
    for name in SOURCES.keys() - SHARES:
        if not name.startswith(("example.com/", "smarter-devices/")):
            (message,) = violations(raw("example.com/v1:Thing", "x", {"wants": {name: 7}}))
            assert "it requests GPUs (`spec.wants`)" in message, name
    for name in HARMLESS:
        assert violations(raw("example.com/v1:Thing", "x", {"wants": {name: 7}})) == [], name
