"""What no preview shows is refused by one message, which says how to state its number, or counts as that states."""

from __future__ import annotations

from typing import Any

import pytest

from tests.policies.conftest import Judge, Violations
from tests.policies.stacks import Resource, flat, pod, raw, scaler, template

APPLIES = "may start pods with GPUs that this preview does not show; declare its objects in the stack"


def other(token: str, **props: Any) -> Resource:
    return {"type": token, "name": "x", "parent": "", "props": props}


def thing(**spec: Any) -> Resource:
    return raw("example.com/v1:Thing", "x", spec)


def command(text: str, **more: Any) -> Resource:
    return other("command:local:Command", create=text, **more)


APPLICATION = raw(
    "argoproj.io/v1alpha1:Application", "x", {"source": {"chart": "web", "helm": {"values": "resources: {}"}}}
)
# What nobody can count, and what the advice must speak of.
UNSEEN: dict[str, tuple[list[Resource], str]] = {
    "an application of Argo CD": ([APPLICATION], f"Argo CD {APPLIES}"),
    "applications of Argo CD": ([raw("argoproj.io/v1alpha1:ApplicationSet", "x", {})], f"Argo CD {APPLIES}"),
    "a release of Flux": (
        [raw("helm.toolkit.fluxcd.io/v2:HelmRelease", "x", {"values": {"gpus": 4}})],
        '"charts": {"x (HelmRelease)": 0} next to maxGpus',
    ),
    "a folder of Flux": ([raw("kustomize.toolkit.fluxcd.io/v1:Kustomization", "x", {"path": "a"})], f"Flux {APPLIES}"),
    "a chart of k3s": ([raw("helm.cattle.io/v1:HelmChart", "x", {"valuesContent": "a: 1"})], f"k3s {APPLIES}"),
    "a release of Crossplane": ([raw("helm.crossplane.io/v1beta1:Release", "x", {})], f"Crossplane {APPLIES}"),
    "a stack of Pulumi's operator": ([raw("pulumi.com/v1:Stack", "x", {})], f"Pulumi's operator {APPLIES}"),
    "a model of KubeAI": (
        [raw("kubeai.org/v1:Model", "x", {"resourceProfile": "nvidia-gpu-l4:1"})],
        f"KubeAI {APPLIES}",
    ),
    "a manifest by another provider": (
        [other("kubectl:index/manifest:Manifest", yamlBody="kind: Pod")],
        f"the provider kubectl {APPLIES}",
    ),
    "a release by another provider": ([other("helm:index/release:Release")], f"the provider helm {APPLIES}"),
    "a pod by Terraform's provider": (
        [other("kubernetes:index/podV1:PodV1", spec={"containers": []})],
        f"the provider kubernetes {APPLIES}",
    ),
    "an application by Argo CD's provider": ([other("argocd:index/application:Application")], APPLIES),
    "a folder by Azure": (
        [other("azure-native:kubernetesconfiguration/v20230501:FluxConfiguration")],
        f"the provider azure-native {APPLIES}",
    ),
    "a command": ([command("kubectl apply -f pods.yaml")], f"the command kubectl {APPLIES}"),
    "a command of an update": (
        [command("true", update="/usr/bin/helm upgrade web ./web")],
        f"the command helm {APPLIES}",
    ),
    "a chart of a folder": (
        [flat("helm.sh/v3:Release", "x", chart="./charts/web")],
        "next to maxGpus, or make it a kubernetes.helm.v4.Chart, whose objects are counted",
    ),
    "a chart of a folder of a known name": (
        [flat("helm.sh/v3:Release", "x", chart="/srv/charts/keda")],
        "what the chart /srv/charts/keda requests cannot be seen",
    ),
    "an operator's limit of its own": (
        [thing(resources={"limits": {"gpu": "1"}})],
        "it requests GPUs (`spec.resources.limits`), and how many pods a Thing runs is not known here",
    ),
    "an operator's field": ([thing(worker={"gpusPerNode": 8})], '"charts": {"x (Thing)": 0} next to maxGpus'),
    "an operator's field of Run:ai": ([thing(gpuDevicesRequest={"value": "2"})], "how many pods a Thing runs"),
    "an operator's field that is filled in": ([thing(num_gpus="{{ gpus }}")], "how many pods a Thing runs"),
    "a folder of Config Sync": (
        [raw("configsync.gke.io/v1beta1:RootSync", "x", {"git": {}})],
        f"Config Sync {APPLIES}",
    ),
    "a folder of Config Sync by Google": (
        [other("gcp:gkehub/featureMembership:FeatureMembership", configmanagement={"configSync": {}})],
        f"Config Sync {APPLIES}",
    ),
    "a chart of Cluster API": (
        [raw("addons.cluster.x-k8s.io/v1alpha1:HelmChartProxy", "x", {"chartName": "web"})],
        f"Cluster API {APPLIES}",
    ),
    "a chart of Sveltos": ([raw("config.projectsveltos.io/v1beta1:ClusterProfile", "x", {})], f"Sveltos {APPLIES}"),
    "copies in other clusters": (
        [raw("policy.karmada.io/v1alpha1:PropagationPolicy", "x", {"placement": {}})],
        f"Karmada {APPLIES}",
    ),
    "an operator": ([raw("operators.coreos.com/v1alpha1:Subscription", "x", {})], f"Lifecycle Manager {APPLIES}"),
    "a job of a runtime of Kubeflow's trainer": (
        [raw("trainer.kubeflow.org/v1alpha1:TrainJob", "x", {"runtimeRef": {"name": "a"}, "trainer": {"numNodes": 4}})],
        f"Kubeflow Trainer {APPLIES}",
    ),
    "tasks from a repository": (
        [raw("tekton.dev/v1:PipelineRun", "x", {"pipelineRef": {"resolver": "git"}})],
        f"Tekton {APPLIES}",
    ),
    "objects from an address": (
        [raw("argoproj.io/v1alpha1:Sensor", "x", {"triggers": [{"template": {"k8s": {"source": {"url": {}}}}}]})],
        f"Argo {APPLIES}",
    ),
    "an add-on with GPUs": (
        [other("aws:eks/addon:Addon", configurationValues='{"resources": {"limits": {"nvidia.com/gpu": 8}}}')],
        f"the add-on {APPLIES}",
    ),
    "a script with a kubeconfig": (
        [command("./deploy.sh", environment={"KUBECONFIG": "/k"})],
        f"the command KUBECONFIG {APPLIES}",
    ),
    "a request to the API server": (
        [command("curl -d @pod.json https://$API/api/v1/namespaces/a/pods")],
        f"the command curl {APPLIES}",
    ),
    "an autoscaler with a maximum of its own": (
        [
            {**raw("apps/v1:Deployment", "web", template(pod(1)))},
            raw(
                "autoscaling.alibabacloud.com/v1beta1:CronHorizontalPodAutoscaler",
                "x",
                {"scaleTargetRef": {"kind": "Deployment", "name": "web"}, "jobs": [{"targetSize": 20}]},
            ),
        ],
        "it scales without a maximum; set `spec.maxReplicas`, or state its GPUs",
    ),
    "an autoscaler of a chart's pods": ([scaler(maxReplicas=3)], "with a plain name, or state its GPUs"),
    "a rollout of a chart's pods": (
        [raw("argoproj.io/v1alpha1:Rollout", "x", {"workloadRef": {"kind": "Deployment", "name": "web"}})],
        "with a plain name, or state its GPUs",
    ),
    "a manifest in a text": (
        [flat("core/v1:Secret", "x", stringData={"values.yaml": "extraResource: {limits: {nvidia.com/gpu: '1'}}"})],
        "`stringData.values.yaml` holds a manifest that requests GPUs",
    ),
    "a setting of a spawner in a text": (
        [flat("core/v1:Secret", "x", stringData={"values.yaml": "extra_resource_limits: {nvidia.com/gpu: '8'}"})],
        "`stringData.values.yaml` holds a manifest that requests GPUs",
    ),
    "settings of Spark in a text": (
        [flat("core/v1:ConfigMap", "x", data={"spark.conf": "spark.executor.resource.gpu.amount 2\n"})],
        "`data.spark.conf` holds a manifest that requests GPUs",
    ),
    "a template with a parameter": (
        [flat("template.openshift.io/v1:Template", "x", objects=[{"spec": pod("${GPUS}")}])],
        "is filled in later; write it as a plain number, or state its GPUs",
    ),
    "a template in a text": (
        [thing(template="spec:\n  containers:\n  - resources:\n      limits:\n        nvidia.com/gpu: {{ .gpus }}\n")],
        "is filled in later; write it as a plain number, or state its GPUs",
    ),
    "DaemonSets": ([raw("apps/v1:DaemonSet", "x", template(pod(1)))], '"charts": {"x (DaemonSet)": 0}'),
}


@pytest.mark.parametrize(("stack", "advice"), UNSEEN.values(), ids=UNSEEN.keys())
def test_it_is_refused_with_how_to_state_it(violations: Violations, stack: list[Resource], advice: str) -> None:
    (message,) = violations(*stack, maxGpus=64)
    assert advice in message
    assert 'in policies/config.dev.json, for example "charts": {' in message


@pytest.mark.parametrize(
    "name",
    [
        *("an application of Argo CD", "a command", "an operator's field", "DaemonSets", "a manifest in a text"),
        *("an autoscaler of a chart's pods", "a rollout of a chart's pods", "a template with a parameter"),
    ],
)
def test_it_counts_as_stated(violations: Violations, name: str) -> None:
    (resource,), _ = UNSEEN[name]
    who = f"x ({resource['type'].rpartition(':')[2]})"
    assert violations(resource, charts={who: 3}, maxGpus=3) == []
    (message,) = violations(resource, charts={who: 3}, maxGpus=2)
    assert f"request 3 GPUs; the quota is 2. {who}: 3." in message
    assert violations(resource, charts={f"y{who[1:]}": 0}, maxGpus=2) != []


def test_a_stated_chart_may_have_queues_of_gpus_in_its_values(violations: Violations) -> None:
    values = {"yunikornDefaults": {"queues.yaml": "queues: [{resources: {max: {nvidia.com/gpu: 8}}}]"}}
    release = flat("helm.sh/v3:Release", "x", chart="oci://ghcr.io/acme/yunikorn", values=values)
    assert violations(release, charts={"oci://ghcr.io/acme/yunikorn": 0}) == []


def test_a_statement_of_none_is_refused_where_gpus_are_shown(violations: Violations) -> None:
    assert violations(APPLICATION, charts={"x (Application)": 0}) == []
    with_gpus = raw("helm.toolkit.fluxcd.io/v2:HelmRelease", "x", {"values": {"limits": {"nvidia.com/gpu": 1}}})
    (message,) = violations(with_gpus, charts={"x (HelmRelease)": 0}, maxGpus=64)
    assert "`spec.values` requests GPUs, and the policy's configuration states 0" in message


def test_an_autoscaler_of_what_is_stated_passes(violations: Violations) -> None:
    scaled = [{**thing(worker=template(pod(1))), "name": "web"}, scaler("Thing", maxReplicas=4)]
    scaled[0]["props"] = {**scaled[0]["props"], "metadata": {"name": "web"}}
    assert violations(*scaled, charts={"web (Thing)": 4}, maxGpus=4) == []
    (message,) = violations(*scaled, maxGpus=4)
    assert message.startswith("web (Thing): it requests GPUs")


def test_a_statement_hides_no_pods_that_an_autoscaler_adds(violations: Violations) -> None:
    scaled = [raw("apps/v1:Deployment", "web", template(pod(1))), scaler(maxReplicas=8)]
    (message,) = violations(*scaled, charts={"x (HorizontalPodAutoscaler)": 0})
    assert "request 8 GPUs; the quota is 0" in message


def test_a_statement_hides_nothing_that_can_be_counted(violations: Violations) -> None:
    (message,) = violations(raw("core/v1:Pod", "x", pod(1)), charts={"x (Pod)": 0})
    assert "request 1 GPUs; the quota is 0" in message


HARMLESS = {
    "a command": command("echo kubectlish && date"),
    "a command that builds": command("docker build -t web . && docker push web && git describe"),
    "another feature of Google's": other("gcp:gkehub/feature:Feature", spec={"multiclusteringress": {}}),
    "an add-on": other("aws:eks/addon:Addon", configurationValues='{"resources": {"limits": {"cpu": "100m"}}}'),
    "tasks of the cluster": raw("tekton.dev/v1:PipelineRun", "x", {"pipelineRef": {"resolver": "cluster"}}),
    "a workflow with a repository": raw(
        "argoproj.io/v1alpha1:Workflow", "x", {"templates": [{"inputs": {"artifacts": [{"git": {"repo": "a"}}]}}]}
    ),
    "a bucket": other("aws:s3/bucket:Bucket", bucket="helm"),
    "a provider": other("pulumi:providers:helm"),
    "a project of Argo CD": raw("argoproj.io/v1alpha1:AppProject", "x", {"sourceRepos": ["*"]}),
    "a repository of Flux": raw("source.toolkit.fluxcd.io/v1:GitRepository", "x", {"url": "https://git.example/a"}),
    "k3s's own chart": raw("helm.cattle.io/v1:HelmChartConfig", "x", {"valuesContent": "ports: {web: {port: 80}}"}),
}


@pytest.mark.parametrize("resource", HARMLESS.values(), ids=HARMLESS.keys())
def test_what_starts_nothing_passes(violations: Violations, resource: Resource) -> None:
    assert violations(resource) == []


CLUSTER = {"type": "tensorplane:index:Cluster", "name": "cluster", "parent": "", "props": {"kind": "embedded"}}


def embedded(home: str = "/home", **provider: Any) -> list[Resource]:
    """The embedded cluster as tensorplane registers it, and what else its provider has."""
    props = {"clusterIdentifier": "embedded-tensorplane", "kubeconfig": f"{home}/kubeconfig", **provider}
    return [
        CLUSTER,
        {"type": "pulumi:providers:kubernetes", "name": "cluster", "parent": "cluster", "props": props},
    ]


POD = raw("core/v1:Pod", "x", pod(9))


def test_on_the_embedded_cluster_any_number_is_allowed(judge: Judge) -> None:
    assert judge("gpu-quota", [*embedded(), POD], {})["gpu-quota"] == []


@pytest.mark.parametrize(
    "stack",
    [
        pytest.param([CLUSTER], id="a component without a provider"),
        pytest.param(embedded(clusterIdentifier="prod"), id="a component with another cluster's provider"),
        pytest.param(embedded(kubeconfig=None), id="a component with kubectl's cluster"),
        pytest.param([*embedded(), other("pulumi:providers:kubernetes", context="prod")], id="another provider"),
        pytest.param([*embedded(), other("pulumi:providers:kubernetes")], id="the default provider"),
    ],
)
def test_a_component_that_says_it_is_embedded_lifts_no_quota(judge: Judge, stack: list[Resource]) -> None:
    (message,) = judge("gpu-quota", [*stack, POD], {})["gpu-quota"]
    assert "request 9 GPUs; the quota is 0" in message


def test_charts_of_the_embedded_clusters_instance_are_known_there_alone(violations: Violations) -> None:
    keda = flat("helm.sh/v3:Release", "x", chart="/home/charts/keda")
    assert violations(*embedded(), keda) == []
    assert violations(*embedded("/elsewhere"), keda) != []
    assert violations(*embedded(), flat("helm.sh/v3:Release", "x", chart="/home/charts/web")) != []
