"""What requests no accelerator passes the GPU quota, odd objects hide no others, and long texts take no time."""

from __future__ import annotations

import json

import pytest

from tests.policies.conftest import Violations
from tests.policies.stacks import (
    CONTAINER,
    GPU,
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
    template,
    with_env,
)

BROKEN = {
    "a spec that is a list": raw("core/v1:LimitRange", "x", [1]),
    "containers of words and maps": raw("core/v1:Pod", "x", {"containers": ["a", CONTAINER]}),
    "limits that are no count": raw("core/v1:Pod", "x", pod("many")),
    "limits beyond every fleet": raw("core/v1:Pod", "x", pod("1e400")),
    "a count of 400 digits": raw("core/v1:Pod", "x", pod(10**400)),
    "replicas that are a map": raw("apps/v1:Deployment", "x", {"replicas": {}, **GPU}),
    "a manifest of 600 levels": raw("example.com/v1:Thing", "x", json.loads("[" * 600 + "]" * 600)),
    "a chart that is no text": flat("helm.sh/v3:Release", "x", chart=[], repositoryOpts="x"),
}


@pytest.mark.parametrize("resource", BROKEN.values(), ids=BROKEN.keys())
def test_an_odd_object_is_named_and_hides_no_other(violations: Violations, resource: Resource) -> None:
    first, second = violations(resource, raw("core/v1:Pod", "other", pod(1)))
    assert first.startswith("x (")
    assert "; " in first, "with a remedy"
    assert "other (Pod): 1" in second


YUNIKORN = """
partitions:
- name: default
  queues:
  - name: root
    submitacl: "*"
    queues:
    - name: research
      resources: {guaranteed: {nvidia.com/gpu: 4}, max: {nvidia.com/gpu: 8, vcore: 100}}
      limits:
      - {limit: users, users: ["*"], maxresources: {nvidia.com/gpu: 2}}
"""
DESCHEDULER = """
apiVersion: descheduler/v1alpha2
kind: DeschedulerPolicy
profiles:
- name: a
  pluginConfig:
  - name: LowNodeUtilization
    args: {thresholds: {cpu: 20, nvidia.com/gpu: 20}, targetThresholds: {cpu: 50, nvidia.com/gpu: 50}}
"""
VOLCANO = """
actions: "enqueue, allocate"
tiers:
- plugins:
  - {name: binpack, arguments: {binpack.resources: nvidia.com/gpu, binpack.resources.nvidia.com/gpu: 5}}
"""
HARMLESS = {
    "no spec": flat("core/v1:Pod", "x"),
    "a null spec": flat("core/v1:Pod", "x", spec=None),
    "no template": raw("apps/v1:Deployment", "x", {"template": None}),
    "a pod": raw("core/v1:Pod", "x", pod()),
    "a deployment of unknown size": raw("apps/v1:Deployment", "x", {"replicas": UNKNOWN_NUMBER, **template(pod())}),
    "a daemon set": raw("apps/v1:DaemonSet", "x", template(pod())),
    "an object with unknown parts": raw("core/v1:Service", "x", {"clusterIP": UNKNOWN_NUMBER}),
    "a quota": raw("core/v1:ResourceQuota", "x", {"hard": {"requests.nvidia.com/gpu": 4}}),
    "a cluster queue": raw(
        "kueue.x-k8s.io/v1beta1:ClusterQueue",
        "x",
        {"resourceGroups": [{"flavors": [{"resources": [{"name": "nvidia.com/gpu", "nominalQuota": 8}]}]}]},
    ),
    "network interfaces": raw("core/v1:Pod", "x", pod(4, resource="vpc.amazonaws.com/efa")),
    "devices of the kernel": raw("core/v1:Pod", "x", pod(1, resource="smarter-devices/fuse")),
    "devices of virtual machines": raw("core/v1:Pod", "x", pod(1, resource="devices.kubevirt.io/vhost-net")),
    "a mount": mounted("/var/run/nvidia-container-devices-of-mine"),
    "a mount below a path that a parameter ends": raw(
        "argoproj.io/v1alpha1:Workflow", "x", {"volumeMounts": [{"mountPath": "/data/{{inputs.parameters.at}}"}]}
    ),
    "variables with a prefix": with_env(envFrom=[{"prefix": "DB_", "secretRef": {"name": "a"}}]),
    "an annotation": annotated("sidecar.istio.io/inject", "false")[0],
    "an annotation of an unknown value": annotated("checksum", UNKNOWN_OBJECT)[1],
    "huge pages": raw("core/v1:Pod", "x", pod("1Gi", resource="hugepages-2Mi")),
    "no devices shown": shown("none"),
    "a quota of Volcano": raw("scheduling.volcano.sh/v1beta1:Queue", "x", {"capability": {"nvidia.com/gpu": 8}}),
    "a group of pods": raw("scheduling.x-k8s.io/v1alpha1:PodGroup", "x", {"minResources": {"nvidia.com/gpu": 8}}),
    "a queue of KAI": raw("scheduling.run.ai/v2:Queue", "x", {"resources": {"gpu": {"quota": 4, "limit": 8}}}),
    "a quota of Koordinator": raw("scheduling.sigs.k8s.io/v1alpha1:ElasticQuota", "x", {"max": {"nvidia.com/gpu": 8}}),
    "an operator's quota": raw("example.com/v1:Tenant", "x", {"quota": {"hard": {"requests.nvidia.com/gpu": 8}}}),
    "an operator's thresholds": raw("example.com/v1:Policy", "x", {"thresholds": {"nvidia.com/gpu": 20}}),
    "an operator's labels": raw("example.com/v1:Thing", "x", {"nodeSelector": {"gpu": "1"}, "labels": {"gpus": "8"}}),
    "an operator's fields of something else": raw(
        "example.com/v1:Thing",
        "x",
        {"gpuIndex": 1, "gpu": {"enabled": True}, "accelerator": "l4", "maxGpus": 8, "gpus": 0},
    ),
    "queues of YuniKorn": config_map(YUNIKORN),
    "a descheduler's thresholds": config_map(DESCHEDULER),
    "weights of Volcano's scheduler": config_map(VOLCANO),
    "a quota in a template": config_map("hard:\n  requests.nvidia.com/gpu: {{ .Values.gpus }}\n"),
    "an operator's field in a ConfigMap": config_map("limits: {cpu: 1}\ngpus: 4\n"),
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


def test_a_patch_of_an_operators_sizes_passes(violations: Violations) -> None:
    assert violations(raw("postgresql.cnpg.io/v1:ClusterPatch", "x", {"storage": {"size": "20Gi"}})) == []


def test_a_long_word_is_read_in_no_time(violations: Violations) -> None:
    assert violations(config_map("limits" + "ab" * 500_000)) == []


def test_a_text_of_aliases_is_read_in_no_time(violations: Violations) -> None:
    lines = ["a0: &a0 {limits: {cpu: 1}}"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 30)]
    assert violations(config_map("\n".join(lines))) == []
    assert violations(config_map("a: &a {limits: {cpu: 1}, b: *a}")) == []
