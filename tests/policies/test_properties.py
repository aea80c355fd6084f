"""What holds of every manifest: pods with accelerators are seen wherever they are, and nothing crashes the pack."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.policies.conftest import Violations
from tests.policies.stacks import UNKNOWN_NUMBER, Resource, flat, pod
from tests.support import counts

pytestmark = [pytest.mark.counted, pytest.mark.nightly("random manifests; test_hidden and test_harmless have a table")]

KINDS = [
    *("core/v1:Pod", "core/v1:ConfigMap", "core/v1:LimitRange", "apps/v1:Deployment", "apps/v1:DeploymentPatch"),
    *("batch/v1:Job", "batch/v1:CronJob", "jobset.x-k8s.io/v1alpha2:JobSet", "batch.volcano.sh/v1alpha1:Job"),
    *("helm.sh/v3:Release", "yaml/v2:ConfigGroup", "example.com/v1:Thing", "resource.k8s.io/v1:ResourceClaim"),
    *("autoscaling/v2:HorizontalPodAutoscaler", "keda.sh/v1alpha1:ScaledObject", "keda.sh/v1alpha1:ScaledJob"),
    *("sparkoperator.k8s.io/v1beta2:SparkApplication", "kubevirt.io/v1:VirtualMachine"),
    *("admissionregistration.k8s.io/v1:MutatingAdmissionPolicy", "kueue.x-k8s.io/v1beta2:ClusterQueue"),
    *("ray.io/v1:RayCluster", "leaderworkerset.x-k8s.io/v1:LeaderWorkerSet", "serving.knative.dev/v1:Service"),
    *("serving.kserve.io/v1beta1:InferenceService", "kubeflow.org/v1:PyTorchJob", "argoproj.io/v1alpha1:Rollout"),
    *("kyverno.io/v1:ClusterPolicy", "mutations.gatekeeper.sh/v1:Assign", "node.k8s.io/v1:RuntimeClass"),
    *("argoproj.io/v1alpha1:Application", "flagger.app/v1beta1:Canary", "datadoghq.com/v1alpha2:DatadogPodAutoscaler"),
]
_OPERATED = ("example", "jobset", "batch.volcano", "sparkop", "kubevirt", "ray", "leader", "serving", "kubeflow")
OPERATORS = [kind for kind in KINDS if kind.startswith(_OPERATED)]
WORDS = [
    *("spec", "template", "replicas", "parallelism", "completions", "containers", "initContainers", "resources"),
    *("limits", "requests", "nvidia.com/gpu", "example.com/x", "env", "name", "value", "deviceName", "quantity"),
    *(
        "resourceClaims",
        "metadata",
        "annotations",
        "data",
        "values",
        "chart",
        "scaleTargetRef",
        "maxReplicas",
        "default",
    ),
    *("workerGroupSpecs", "maxReplicas", "size", "strategy", "rollingUpdate", "maxSurge", "predictor", "Worker"),
    *("rules", "mutate", "patchStrategicMerge", "location", "parameters", "assign", "handler", "overhead", "targetRef"),
    *("executor", "dynamicAllocation", "sparkConf", "instances", "matchConstraints", "webhooks", "labels", "tasks"),
]
LEAVES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8)
SCALARS = LEAVES | st.sampled_from([UNKNOWN_NUMBER, 10**400, "1e400", "{{x}}", "NVIDIA_VISIBLE_DEVICES", *WORDS])
KEYS = st.sampled_from(WORDS) | st.text(max_size=4)
JUNK = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=5), max_leaves=30
)
STEPS = (
    st.none()
    | st.text("abcdefghij", min_size=1, max_size=6)
    | st.sampled_from(
        ["template", "spec", "jobTemplate", "worker", "containers", "initContainers", "resources", "data"]
    )
)
ASKING = [
    *(pod(1), pod("2"), pod(3.0, resource="vendor.example/new")),
    *({"resources": {"limits": {"vendor.example/new": 1}}}, {"limits": {"google.com/tpu": 1}}, {"nvidia.com/gpu": 1}),
    *({"deviceName": "nvidia.com/GA102GL_A10"}, {"name": "nvidia.com/gpu", "quantity": 1}),
    {"resourceClaims": [{"name": "gpu"}]},
]
SMALL = settings(
    max_examples=counts.of(quick=100, nightly=2000),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)


def _nested(steps: list[str | None], beside: Any, inner: Any) -> Any:
    """`inner` so deep: None is a step into a list. `beside` lies beside it at each step, as it does in a manifest."""
    for step in reversed(steps):
        inner = [beside, inner] if step is None else {**(beside if isinstance(beside, dict) else {}), step: inner}
    return inner


@SMALL
@given(st.sampled_from(OPERATORS), st.lists(STEPS, max_size=12), JUNK, st.sampled_from(ASKING))
def test_what_asks_for_gpus_is_seen_wherever_it_is(
    violations: Violations, kind: str, steps: list[str | None], beside: Any, asking: Any
) -> None:
    resource = flat(kind, "x", spec=_nested(steps, beside, asking))
    assert violations(resource) != []


@SMALL
@given(
    st.sampled_from(["apps/v1:Deployment", "apps/v1:StatefulSet", "batch/v1:Job", "core/v1:Pod"]),
    st.dictionaries(KEYS.filter(lambda key: key not in ("template", "replicas", "containers")), JUNK, max_size=5),
)
def test_fields_beside_a_pod_take_nothing_away(violations: Violations, kind: str, beside: Resource) -> None:
    spec = pod(1) if kind.endswith("Pod") else {"template": {**beside, "spec": pod(1)}}
    assert (
        violations(flat(kind, "x", spec={**beside, **spec}, **{f"x{key}": value for key, value in beside.items()}))
        != []
    )


@SMALL
@given(st.lists(st.tuples(st.sampled_from(KINDS), st.dictionaries(KEYS, JUNK, max_size=5)), max_size=4))
def test_no_manifest_crashes_the_pack(violations: Violations, stack: list[tuple[str, Resource]]) -> None:
    resources = [flat(kind, f"x{index}", **props) for index, (kind, props) in enumerate(stack)]
    reports = violations(*resources, flat("core/v1:Pod", "other", spec=pod(1)))
    assert any("other (Pod): 1" in report for report in reports), "one object hides no other"


@SMALL
@given(st.dictionaries(KEYS, JUNK, max_size=6), st.sampled_from(KINDS))
def test_what_a_rule_cannot_read_is_named(violations: Violations, props: Resource, kind: str) -> None:
    assert all("x (" in report or report.startswith("The workloads") for report in violations(flat(kind, "x", **props)))
