"""The real engine previews programs of the clouds' SDKs through the stand-ins, and can do nothing else with them."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tensorplane.cli.commands.preview import render
from tensorplane.plugins.hosts import stand_ins
from tests.hosts.engine import Project
from tests.preview.conftest import PACKAGES, Previewed

TOLD = pytest.mark.nightly("told without an engine, or by another preview here: 6 s of engine each")
CLUSTER = """
    import pulumi
    import pulumi_aws as aws
    import pulumi_azure_native as azure
    import pulumi_gcp as gcp
    import pulumi_kubernetes as k8s

    network = {"subnet_ids": ["a", "b"], "endpoint_public_access": False}
    cluster = aws.eks.Cluster("cluster", role_arn=pulumi.Output.secret("s3cret-role"), vpc_config=network)
    group = aws.eks.NodeGroup(
        "gpu",
        cluster_name=cluster.name,
        node_role_arn="arn:aws:iam::1:role/node",
        subnet_ids=cluster.vpc_config.subnet_ids,
        scaling_config={"desired_size": 0, "min_size": 0, "max_size": 4},
        taints=[{"key": "nvidia.com/gpu", "value": "present", "effect": "NO_SCHEDULE"}],
    )
    aws.ec2.SecurityGroupRule(
        "nodes",
        security_group_id=cluster.vpc_config.cluster_security_group_id,
        type="ingress",
        protocol="tcp",
        from_port=443,
        to_port=443,
    )
    pool = gcp.container.NodePool("pool", cluster="c", node_config={"guest_accelerators": [{"type": "l4", "count": 1}]})
    agents = azure.containerservice.AgentPool("agents", resource_group_name="g", resource_name_="c", count=1)

    provider = k8s.Provider("cluster", kubeconfig=pulumi.Output.format("server: {0}", cluster.endpoint))
    inside = pulumi.ResourceOptions(provider=provider)
    k8s.core.v1.ConfigMap("settings", metadata={"name": "x"}, data={"a": "1"}, opts=inside)
    k8s.helm.v3.Release("chart", chart="oci://registry.k8s.io/kueue/charts/kueue", version="1.0.0", opts=inside)
    for name, value in {"endpoint": cluster.endpoint, "pool": pool.name, "agents": agents.name}.items():
        pulumi.export(name, value)
"""


def test_a_program_that_keeps_to_the_types_is_previewed_without_any_cloud(previewed: Previewed) -> None:
    found = previewed(CLUSTER)
    assert found.errors == (), "policies refuse this cluster, and nothing else does"
    assert {change.type for change in found.changes} >= {
        "aws:eks/cluster:Cluster",
        "gcp:container/nodePool:NodePool",
        "azure-native:containerservice:AgentPool",
        "core/v1:ConfigMap",
        "helm.sh/v3:Release",
    }
    assert found.count("create") == len(found.changes) == 8
    text = render.markdown(found)
    assert (
        "> Checked against the SDK's types, not by the cloud (aws: Pulumi's plugin is not installed; azure-native:"
        in text
    )
    assert "s3cret" not in text


FAULTY = """
    import pulumi

    class Raw(pulumi.CustomResource):
        def __init__(self, token, name, **inputs):
            super().__init__(token, name, inputs)

    Raw(
        "aws:eks/nodeGroup:NodeGroup",
        "gpu",
        clusterNam="c",
        nodeRoleArn=pulumi.Output.secret("s3cret"),
        subnetIds="a",
        scalingConfig={"desiredSize": 1, "min_sise": 1, "maxSize": pulumi.Output.secret("s3cret")},
        labels={"a.b/c": True},
        taints=[{"key": "x"}],
    )
"""


def test_every_fault_of_a_resource_is_reported_at_once(previewed: Previewed) -> None:
    found = previewed(FAULTY)
    assert found.failed
    assert {fault.removeprefix("aws:eks/nodeGroup:NodeGroup gpu: ") for fault in found.errors} == {
        "clusterNam: NodeGroup has no such property (did you mean clusterName?)",
        "clusterName: missing; NodeGroup requires it",
        "subnetIds: must be a list, not the string 'a'",
        "scalingConfig.min_sise: NodeGroupScalingConfig has no such property (did you mean min_size?)",
        "scalingConfig.minSize: missing; NodeGroupScalingConfig requires it",
        "scalingConfig.maxSize: must be a whole number, not a secret",
        'labels["a.b/c"]: must be a string, not true',
        "taints[0].effect: missing; NodeGroupTaint requires it",
    }
    assert found.stand_ins


@TOLD
def test_a_value_that_only_the_sdk_does_not_know_is_a_warning(previewed: Previewed) -> None:
    """Azure's enumerations are open, and none of its own clients is installed for this service."""
    found = previewed("""
        import pulumi_azure_native as azure
        azure.authorization.RoleAssignment(
            "a", scope="s", principal_id="p", role_definition_id="r", principal_type="Grup"
        )
    """)
    assert not found.failed, (found.errors, found.policy_results)
    (warning,) = found.warnings
    assert warning.startswith("azure-native:authorization:RoleAssignment a: principalType: must be one of ")
    assert warning.endswith(", not the string 'Grup' (did you mean Group?)")


# One resource each: the engine ends with the first that fails.
@pytest.mark.parametrize(
    ("program", "fault"),
    [
        pytest.param(
            """
            import pulumi_aws as aws
            disk = {"device_name": "/dev/xvda", "ebs": {"volume_type": "gp5"}}
            aws.ec2.LaunchTemplate("nodes", block_device_mappings=[disk], instance_type="m99.large")
            """,
            "aws:ec2/launchTemplate:LaunchTemplate nodes: blockDeviceMappings[0].ebs.volumeType: "
            "'gp5' is none of AWS's values (botocore); use gp2 or gp3",
            id="aws",
        ),
        pytest.param(
            """
            import pulumi
            import pulumi_aws as aws
            aws.iam.Role("nodes", name=pulumi.Output.secret("s3cret role"), assume_role_policy="{}")
            """,
            "aws:iam/role:Role nodes: name: the secret does not match AWS's pattern [\\w+=,.@-]+ (botocore); change it",
            id="secret",
            marks=TOLD,
        ),
        pytest.param(
            """
            import pulumi_gcp as gcp
            gcp.kms.CryptoKey("key", key_ring="r", purpose="ENCRYPT")
            """,
            "gcp:kms/cryptoKey:CryptoKey key: purpose: 'ENCRYPT' is none of Google Cloud's values "
            "(google-api-python-client); use ENCRYPT_DECRYPT",
            id="gcp",
            marks=TOLD,
        ),
        pytest.param(
            """
            import pulumi_azure_native as azure
            azure.containerservice.AgentPool("a", resource_group_name="g", resource_name_="c", os_type="Linus")
            """,
            "azure-native:containerservice:AgentPool a: osType: 'Linus' is none of Azure's values "
            "(azure-mgmt-containerservice); use Linux",
            id="azure",
            marks=TOLD,
        ),
    ],
)
def test_a_value_that_the_clouds_model_refuses_is_a_fault(previewed: Previewed, program: str, fault: str) -> None:
    found = previewed(program)
    assert found.failed
    assert [re.sub(r" \d+(\.\d+)+\)", ")", each) for each in found.errors] == [fault]
    token = fault.partition(" ")[0].removesuffix(":")
    assert {each.token for each in found.values} == {token}
    if "m99.large" in program:
        (warning,) = found.warnings
        assert "instanceType: 'm99.large' is " in warning
    text = render.markdown(found)
    assert re.search(r"Values of \d+ of \d+ inputs are checked too", text)
    assert "tensorplane-values" not in text, "what the provider tells is for the report alone"
    assert "s3cret" not in text


@TOLD
def test_policies_see_what_runs_in_a_cluster_that_is_not_there_yet(previewed: Previewed) -> None:
    found = previewed("""
        import pulumi
        import pulumi_aws as aws
        import pulumi_kubernetes as k8s

        cluster = aws.eks.Cluster("cluster", role_arn="r", vpc_config={"subnet_ids": ["a"]})
        inside = pulumi.ResourceOptions(provider=k8s.Provider("cluster", kubeconfig=cluster.endpoint))
        container = {"name": "main", "resources": {"limits": {"nvidia.com/gpu": "2"}}}
        k8s.core.v1.Pod("greedy", metadata={"name": "x"}, spec={"containers": [container]}, opts=inside)
    """)
    assert found.violates_policy
    (quota,) = [verdict for verdict in found.policy_results if verdict.policy == "gpu-quota"]
    assert "greedy (Pod): 2" in quota.messages[0]


TRICKS = """
    import asyncio

    import pulumi
    import pulumi_kubernetes as k8s

    unset = asyncio.Future()
    unset.set_result(None)
    no = asyncio.Future()
    no.set_result(False)
    later = pulumi.Output(set(), unset, no)

    inside = pulumi.ResourceOptions(provider=k8s.Provider("cluster", kubeconfig=later))
    template = {"spec": {"containers": [{"name": "main", "resources": {"limits": {"nvidia.com/gpu": "2"}}}]}}
    Custom = k8s.apiextensions.CustomResource

    tasks = {"tasks": [{"replicas": 2, "template": template}]}
    Custom("volcano", api_version="batch.volcano.sh/v1alpha1", kind="Job", spec=tasks, opts=inside)

    class TrainingJob(pulumi.ComponentResource):
        def __init__(self):
            super().__init__("tensorplane:index:TrainingJob", "modest")
            below = pulumi.ResourceOptions(parent=self, provider=inside.provider)
            k8s.core.v1.Pod("greedy", spec=template["spec"], opts=below)
            self.register_outputs({"gpus": 0})

    TrainingJob()
    labels = {"app": "web"}
    at_rest = {"replicas": 0, "selector": {"match_labels": labels}, "template": template}
    k8s.apps.v1.Deployment("web", metadata={"name": "web"}, spec=at_rest, opts=inside)
    target = {"api_version": "apps/v1", "kind": "Deployment", "name": "web"}
    scaling = {"scale_target_ref": target, "max_replicas": 5}
    k8s.autoscaling.v2.HorizontalPodAutoscaler("scaler", spec=scaling, opts=inside)
    Custom("ray", api_version="ray.io/v1", kind="RayCluster", spec={"headGroupSpec": {"template": later}}, opts=inside)
    every_minute = {"schedule": "* * * * *", "job_template": {"spec": {"template": template}}}
    k8s.batch.v1.CronJob("piling", spec=every_minute, opts=inside)
    k8s.core.v1.ConfigMap("config", data={"pod": "limits: {nvidia.com/gpu: 1}"}, opts=inside)
    k8s.helm.v3.Release("chart", chart="oci://nowhere.invalid/chart", version="1.0.0", opts=inside)
    defaults = [{"type": "Container", "default": {"nvidia.com/gpu": "1"}}]
    k8s.core.v1.LimitRange("defaults", spec={"limits": defaults}, opts=inside)
"""


def test_the_quota_cannot_be_walked_around(previewed: Previewed) -> None:
    found = previewed(TRICKS)
    assert found.violates_policy
    told = "\n".join(message for verdict in found.policy_results for message in verdict.messages)
    assert "request 16 GPUs; the quota is 0. web (Deployment): 10, volcano (Job): 4, greedy (Pod): 2." in told
    assert "ray (RayCluster): `spec.headGroupSpec.template` is not known before the update" in told
    assert "piling (CronJob): its runs may overlap without bound" in told
    assert "config (ConfigMap): `data.pod` holds a manifest that requests GPUs" in told
    assert "chart (Release): what the chart oci://nowhere.invalid/chart requests cannot be seen" in told
    assert "defaults (LimitRange): it gives nvidia.com/gpu to every container" in told


ADDON = """
    import pulumi_aws as aws
    aws.eks.Addon("dns", cluster_name="c", addon_name="coredns", addon_version="{version}")
"""


def _import_addon(project: Project, tmp_path: Path) -> None:
    """Puts an add-on into the state as the real provider would have left it."""
    urn = "urn:pulumi:dev::tiny::"
    provider = f"{urn}pulumi:providers:aws::default_7_51_1"
    inputs = {"clusterName": "c", "addonName": "coredns", "addonVersion": "v1", "region": "r", "__defaults": ["region"]}
    resources: list[dict[str, Any]] = [
        {"urn": f"{urn}pulumi:pulumi:Stack::tiny-dev", "type": "pulumi:pulumi:Stack"},
        {"urn": provider, "type": "pulumi:providers:aws", "custom": True, "id": "p", "inputs": {"version": "7.51.1"}},
        {
            "urn": f"{urn}aws:eks/addon:Addon::dns",
            "type": "aws:eks/addon:Addon",
            "custom": True,
            "id": "c:coredns",
            "parent": f"{urn}pulumi:pulumi:Stack::tiny-dev",
            "provider": f"{provider}::p",
            "inputs": inputs,
            "outputs": {**inputs, "arn": "arn:aws:eks:::addon/c/coredns", "tagsAll": {}},
        },
    ]
    state = json.loads(project.run("stack", "export"))
    state["deployment"]["resources"] = resources
    (tmp_path / "state.json").write_text(json.dumps(state))
    project.run("stack", "import", "--file", str(tmp_path / "state.json"))


def test_a_stack_that_is_deployed_shows_what_changes(project: Project, previewed: Previewed, tmp_path: Path) -> None:
    _import_addon(project, tmp_path)
    same = previewed(ADDON.format(version="v1"))
    assert (same.changes, same.unchanged, same.errors) == ((), 1, ())
    (change,) = previewed(ADDON.format(version="v2")).changes
    assert change.operation == "update"
    assert [(each.path, each.old, each.new) for each in change.properties] == [("addonVersion", '"v1"', '"v2"')]


@TOLD
def test_nothing_but_a_preview_is_served(project: Project, tmp_path: Path) -> None:
    with stand_ins.on_path(PACKAGES, project.environment["PATH"]) as path:
        behind = Project(project.folder, {**project.environment, "PATH": path}).having(ADDON.format(version="v1"))
        said = behind.run("up", "--yes", "--skip-preview", fails=True)
        assert "cannot create aws:eks/addon:Addon dns: this stand-in for the aws provider only previews" in said
        _import_addon(project, tmp_path)
        changed = behind.having(ADDON.format(version="v2"))
        assert "cannot update aws:eks/addon:Addon dns" in changed.run("up", "--yes", "--skip-preview", fails=True)
        assert "cannot read aws:eks/addon:Addon dns" in changed.run("refresh", "--yes", "--skip-preview", fails=True)
        assert "cannot delete aws:eks/addon:Addon dns" in changed.run("destroy", "--yes", "--skip-preview", fails=True)
        asking = behind.having("import pulumi_aws as aws\naws.get_caller_identity()")
        assert "cannot call aws:index/getCallerIdentity:getCallerIdentity" in asking.run("preview", fails=True)
    kept = json.loads(project.run("stack", "export"))["deployment"]["resources"]
    assert [each["inputs"]["addonVersion"] for each in kept if each["type"] == "aws:eks/addon:Addon"] == ["v1"]


@TOLD
def test_a_plain_update_finds_no_stand_in(project: Project, previewed: Previewed) -> None:
    """They lie in a folder that only a preview has on its PATH, and that is gone after it."""
    previewed(ADDON.format(version="v1"))
    said = project.run("up", "--yes", "--skip-preview", fails=True)
    assert "only previews" not in said
    assert "no resource plugin 'pulumi-resource-aws' found" in said
