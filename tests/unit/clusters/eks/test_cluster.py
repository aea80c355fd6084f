"""What an EKS cluster is registered as: network, control plane, add-ons, their order, and what runs inside."""

from __future__ import annotations

import ipaddress
import json
from typing import Any

import pulumi
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tensorplane.components import versions
from tensorplane.components.clusters.eks import Eks
from tensorplane.components.clusters.eks.addresses import LARGEST, SMALLEST, ZONE_LETTERS, private_subnet, public_subnet
from tests.support import computed
from tests.support.rendered_files import rendered_anew, rendered_tree
from tests.support.rendering import GPU_IMAGE, Rendered

CPU = {"machine": "m7i.2xlarge", "min": 2, "max": 4}
GPU = {"accelerator": "t4", "max": 4}
INSIDE = {"deployFromInside": True}
OUTSIDE = {"public": True, "allowedCidrs": ["203.0.113.0/24"]}


def tree(groups: dict[str, Any], more: dict[str, Any] | None = None, **cluster: Any) -> dict[str, Any]:
    """Such a cluster, beside two CPU nodes for the cluster's own pods."""
    return {
        "cluster": {"kind": "eks", "region": "us-west-2", "endpoint": INSIDE, **cluster},
        "nodeGroups": {"cpu": CPU, **groups},
        **(more or {}),
    }


def rendered(groups: dict[str, Any], more: dict[str, Any] | None = None, **cluster: Any) -> Rendered:
    """What a stack with it registers."""
    return rendered_tree(tree(groups, more, **cluster))


@pytest.fixture(scope="module")
def plain() -> Rendered:
    """The least that can be said, and a GPU group."""
    return rendered({"gpu": GPU})


@pytest.fixture(scope="module")
def automatic() -> Rendered:
    """A group of Karpenter's beside it."""
    return rendered({"gpu": {**GPU, "provisioner": "automatic", "spot": True}})


def needed(made: Rendered, kind: str, name: str) -> set[str]:
    """What a resource comes after."""
    return set(made.one(kind, name).options["dependsOn"])


def policy(made: Rendered, name: str) -> list[dict[str, Any]]:
    """What a role of ours may do."""
    document = json.loads(made.one("iam/rolePolicy:RolePolicy", name).inputs["policy"])
    return list(document["Statement"])


def test_the_control_plane_is_private_encrypted_logged_and_protected(plain: Rendered) -> None:
    cluster = plain.one("eks/cluster:Cluster").inputs
    assert cluster["vpcConfig"]["endpointPrivateAccess"] is True
    assert cluster["vpcConfig"]["endpointPublicAccess"] is False
    assert cluster["encryptionConfig"]["resources"] == ["secrets"]
    assert cluster["enabledClusterLogTypes"] == ["api", "audit", "authenticator", "controllerManager", "scheduler"]
    assert cluster["accessConfig"]["authenticationMode"] == "API"
    assert cluster["bootstrapSelfManagedAddons"] is False
    assert cluster["deletionProtection"] is True
    assert cluster["upgradePolicy"] == {"supportType": "STANDARD"}
    assert plain.one("kms/key:Key").inputs["enableKeyRotation"] is True
    assert plain.one("cloudwatch/logGroup:LogGroup").inputs["name"] == "/aws/eks/tensorplane-dev/cluster"


def test_the_control_plane_comes_after_its_logs_and_its_rights(plain: Rendered) -> None:
    attachment = "RolePolicyAttachment cluster-control-plane-AmazonEKSClusterPolicy"
    assert {"LogGroup cluster", attachment, "Key cluster"} <= needed(plain, "eks/cluster:Cluster", "cluster")


def test_from_outside_only_the_allowed_come_in() -> None:
    reach = rendered({}, endpoint=OUTSIDE).one("eks/cluster:Cluster").inputs["vpcConfig"]
    assert (reach["endpointPublicAccess"], reach["publicAccessCidrs"]) == (True, ["203.0.113.0/24"])
    assert reach["endpointPrivateAccess"] is True


def test_an_admin_gets_all_rights_by_an_access_entry() -> None:
    role = "arn:aws-us-gov:iam::123456789012:role/platform"
    made = rendered({}, region="us-gov-west-1", admins={"platform": role})
    assert made.one("eks/accessEntry:AccessEntry").inputs["principalArn"] == role
    granted = made.one("eks/accessPolicyAssociation:AccessPolicyAssociation").inputs
    assert granted["policyArn"] == "arn:aws-us-gov:eks::aws:cluster-access-policy/AmazonEKSClusterAdminPolicy"


@pytest.mark.parametrize(
    ("admin", "makes_its_own"),
    [
        ("role/platform", True),
        ("role/deployer", False),
        ("role/aws-reserved/sso/deployer", False),
        ("user/deployer", True),
    ],
)
def test_a_creator_among_the_admins_gets_no_second_entry(admin: str, makes_its_own: bool) -> None:
    made = rendered({}, admins={"one": f"arn:aws:iam::123456789012:{admin}"})
    cluster = made.one("eks/cluster:Cluster")
    assert cluster.inputs["accessConfig"]["bootstrapClusterCreatorAdminPermissions"] is makes_its_own
    # Whoever deploys next did not create it, and a change would replace the cluster.
    assert "accessConfig.bootstrapClusterCreatorAdminPermissions" in cluster.options["ignoreChanges"]
    # Objects inside may be created by the rights that the entry gives, and are deleted by them.
    assert "AccessPolicyAssociation cluster-admin-one" in needed(made, "providers:kubernetes", "cluster")


def test_a_preview_asks_nobody_who_deploys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pulumi.runtime, "is_dry_run", lambda: True)
    monkeypatch.setattr(computed, "ANSWERED", {})
    made = rendered_anew(tree({}, admins={"one": "arn:aws:iam::123456789012:role/deployer"}))
    assert made.one("eks/cluster:Cluster").inputs["accessConfig"]["bootstrapClusterCreatorAdminPermissions"] is True


def test_a_zone_more_leaves_control_plane_and_groups_where_they_are() -> None:
    zones = ["us-west-2a", "us-west-2b", "us-west-2c", "us-west-2d"]
    made = rendered({"gpu": GPU, "there": {**GPU, "zones": ["us-west-2d"]}}, zones=zones)
    assert len(made.all("ec2/subnet:Subnet")) == 8
    # AWS refuses a control plane's subnet in another zone, and a group with other subnets is another group.
    assert "vpcConfig.subnetIds" in made.one("eks/cluster:Cluster").options["ignoreChanges"]
    assert "subnetIds" in made.one("eks/nodeGroup:NodeGroup", "gpu").options["ignoreChanges"]
    assert "subnetIds" not in made.one("eks/nodeGroup:NodeGroup", "there").options["ignoreChanges"]


def test_a_new_vpc_has_private_and_public_subnets_in_three_zones(plain: Rendered) -> None:
    subnets = plain.all("ec2/subnet:Subnet")
    assert [s.inputs["availabilityZone"] for s in subnets] == ["us-west-2a", "us-west-2b", "us-west-2c"] * 2
    networks = [ipaddress.ip_network(s.inputs["cidrBlock"]) for s in subnets]
    assert not any(one.overlaps(other) for i, one in enumerate(networks) for other in networks[:i])
    assert all("mapPublicIpOnLaunch" not in s.inputs for s in subnets)
    assert len(plain.all("ec2/natGateway:NatGateway")) == 3
    assert plain.one("ec2/vpcEndpoint:VpcEndpoint").inputs["serviceName"] == "com.amazonaws.us-west-2.s3"
    assert len(plain.one("eks/cluster:Cluster").inputs["vpcConfig"]["subnetIds"]) == 3


def test_one_nat_gateway_serves_all_zones_where_that_is_asked_for() -> None:
    made = rendered({}, network={"nat": "single"})
    (gateway,) = made.all("ec2/natGateway:NatGateway")
    ways_out = {route.inputs.get("natGatewayId") for route in made.all("ec2/route:Route")} - {None}
    assert ways_out == {f"{gateway.name}-id"}


def test_subnets_of_yours_are_used_as_they_are() -> None:
    made = rendered(
        {"gpu": {**GPU, "zones": ["us-west-2d"]}},
        network={"subnets": {"us-west-2a": "subnet-a", "us-west-2d": "subnet-d"}},
    )
    assert not made.all("ec2/vpc:Vpc")
    assert not made.all("ec2/subnet:Subnet")
    assert made.one("eks/cluster:Cluster").inputs["vpcConfig"]["subnetIds"] == ["subnet-a", "subnet-d"]
    assert made.one("eks/nodeGroup:NodeGroup", "gpu").inputs["subnetIds"] == ["subnet-d"]


@given(
    size=st.integers(LARGEST, SMALLEST),
    place=st.integers(0, 255),
    zones=st.sets(st.sampled_from(ZONE_LETTERS), min_size=2),
)
def test_subnets_lie_in_their_vpc_apart_and_large_enough(size: int, place: int, zones: set[str]) -> None:
    vpc = ipaddress.ip_network(f"10.{place}.0.0/{size}")
    parts = [ipaddress.ip_network(part(str(vpc), zone)) for zone in zones for part in (private_subnet, public_subnet)]
    assert all(part.subnet_of(vpc) and part.prefixlen <= 28 for part in parts)  # type: ignore[arg-type]
    assert not any(one.overlaps(other) for i, one in enumerate(parts) for other in parts[:i])


def test_add_ons_and_nodes_come_in_the_order_in_which_they_work(plain: Rendered) -> None:
    first = {f"Addon cluster-{name}" for name in ("vpc-cni", "kube-proxy", "eks-pod-identity-agent")}
    then = {
        f"Addon cluster-{name}"
        for name in ("coredns", "aws-ebs-csi-driver", "snapshot-controller", "eks-node-monitoring-agent")
    }
    cpu, gpu = (needed(plain, "eks/nodeGroup:NodeGroup", name) for name in ("cpu", "gpu"))
    assert first <= cpu
    assert not then & cpu
    assert all("NodeGroup cpu" in needed(plain, "eks/addon:Addon", name.split()[1]) for name in then)
    assert first | then <= gpu
    assert {"NodeGroup cpu", "NodeGroup gpu", *then} <= needed(plain, "providers:kubernetes", "cluster")


def test_nodes_come_after_their_rights_and_their_way_out(plain: Rendered) -> None:
    wanted = {
        "RolePolicyAttachment cluster-node-AmazonEKSWorkerNodePolicy",
        "Route cluster-private-us-west-2a",
        "RouteTableAssociation cluster-private-us-west-2a",
    }
    assert wanted <= needed(plain, "eks/nodeGroup:NodeGroup", "cpu")


def test_add_ons_have_roles_of_their_own_by_pod_identity(plain: Rendered) -> None:
    for addon, account in (("vpc-cni", "aws-node"), ("aws-ebs-csi-driver", "ebs-csi-controller-sa")):
        (association,) = plain.one("eks/addon:Addon", f"cluster-{addon}").inputs["podIdentityAssociations"]
        assert association["serviceAccount"] == account
        trust = json.loads(plain.one("iam/role:Role", f"cluster-{addon}").inputs["assumeRolePolicy"])["Statement"][0]
        assert trust["Principal"] == {"Service": "pods.eks.amazonaws.com"}
        assert trust["Action"] == ["sts:AssumeRole", "sts:TagSession"]
    policies = [r.inputs["policyArn"] for r in plain.all("iam/rolePolicyAttachment:RolePolicyAttachment")]
    assert "arn:aws:iam::aws:policy/service-role/AmazonEBSCSIDriverPolicyV2" in policies


def test_every_add_on_of_the_default_version_is_pinned(plain: Rendered) -> None:
    found = {r.inputs["addonName"]: r.inputs["addonVersion"] for r in plain.all("eks/addon:Addon")}
    assert found == versions.EKS_ADDONS[Eks.model_fields["version"].default]


def test_the_settings_pin_an_add_on_or_leave_it_to_eks() -> None:
    made = rendered({}, addons={"coredns": "v1.13.2-eksbuild.11", "vpc-cni": "default"})
    assert made.one("eks/addon:Addon", "cluster-coredns").inputs["addonVersion"] == "v1.13.2-eksbuild.11"
    assert "addonVersion" not in made.one("eks/addon:Addon", "cluster-vpc-cni").inputs


def test_add_ons_of_a_version_without_pins_are_left_to_eks() -> None:
    assert not [r for r in rendered({}, version="1.36").all("eks/addon:Addon") if "addonVersion" in r.inputs]


def test_the_monitoring_agent_reaches_every_gpu_whatever_its_taints() -> None:
    taints = [{"key": "team", "value": "a"}]
    made = rendered({"gpu": {**GPU, "taints": taints, "spot": True}, "other": {**CPU, "taints": [{"key": "slow"}]}})
    values = json.loads(made.one("eks/addon:Addon", "cluster-eks-node-monitoring-agent").inputs["configurationValues"])
    assert values == {
        "dcgmAgent": {
            "tolerations": [
                {"key": key, "operator": "Exists", "effect": "NoSchedule"}
                for key in ("nvidia.com/gpu", "team", "tensorplane.dev/spot")
            ]
        }
    }
    without = rendered({}).one("eks/addon:Addon", "cluster-eks-node-monitoring-agent").inputs
    assert "configurationValues" not in without


def test_network_policies_are_enforced(plain: Rendered) -> None:
    values = plain.one("eks/addon:Addon", "cluster-vpc-cni").inputs["configurationValues"]
    assert json.loads(values) == {"enableNetworkPolicy": "true"}


def test_there_is_a_default_storage_class(plain: Rendered) -> None:
    made = plain.one("StorageClass", "cluster-gp3").inputs
    assert made["metadata"]["annotations"] == {"storageclass.kubernetes.io/is-default-class": "true"}
    assert made["parameters"] == {"type": "gp3", "encrypted": "true"}


def test_the_kubeconfig_asks_aws_for_a_token(plain: Rendered) -> None:
    provider = plain.one("providers:kubernetes", "cluster").inputs
    config = json.loads(provider["kubeconfig"]["value"])
    command = config["users"][0]["user"]["exec"]
    assert command["args"][:5] == ["--region", "us-west-2", "eks", "get-token", "--cluster-name"]
    assert config["clusters"][0]["cluster"]["server"] == "https://eks.example"
    assert provider["clusterIdentifier"] == "arn:aws:eks:us-west-2:123456789012:cluster/tensorplane-dev"


def test_everything_in_aws_goes_through_the_clusters_own_provider(plain: Rendered) -> None:
    in_aws = [r for r in plain.resources if r.type.startswith("aws:")]
    assert in_aws
    assert {r.options.get("provider") for r in in_aws} == {"cluster"}
    provider = plain.one("providers:aws", "cluster").inputs
    assert provider["region"] == "us-west-2"
    assert json.loads(provider["defaultTags"]) == {"tags": {"tensorplane.dev/stack": "dev"}}


def test_groups_that_grow_have_an_autoscaler_for_them_alone(plain: Rendered) -> None:
    values = plain.one("Release", "cluster-cluster-autoscaler").inputs["values"]
    assert values["autoDiscovery"] == {"clusterName": "tensorplane-dev"}
    assert values["image"]["tag"] == "v1.35.0"
    changes = policy(plain, "cluster-cluster-autoscaler")[1]
    assert changes["Condition"] == {
        "StringEquals": {"aws:ResourceTag/k8s.io/cluster-autoscaler/tensorplane-dev": "owned"}
    }


def test_the_autoscaler_takes_no_node_away_whose_gpus_are_in_use(plain: Rendered) -> None:
    arguments = plain.one("Release", "cluster-cluster-autoscaler").inputs["values"]["extraArgs"]
    least_use = 1 / (8 * 64)
    assert 0 < float(arguments["scale-down-gpu-utilization-threshold"]) < least_use


def test_groups_of_a_fixed_size_have_none() -> None:
    fixed = {"machine": "m7i.2xlarge", "min": 2, "max": 2}
    tree = {"cluster": {"kind": "eks", "region": "us-west-2", "endpoint": INSIDE}, "nodeGroups": {"cpu": fixed}}
    made = rendered_tree(tree)
    assert not [r for r in made.all("Release") if "autoscaler" in r.name]
    assert "scalingConfig.desiredSize" not in made.one("eks/nodeGroup:NodeGroup", "cpu").options["ignoreChanges"]


def test_an_automatic_group_is_a_node_pool(automatic: Rendered) -> None:
    assert [group.name for group in automatic.all("eks/nodeGroup:NodeGroup")] == ["cpu"]
    pool = automatic.one("NodePool", "gpu").inputs["spec"]
    requirements = {one["key"]: one["values"] for one in pool["template"]["spec"]["requirements"]}
    assert "g4dn.xlarge" in requirements["node.kubernetes.io/instance-type"]
    assert requirements["karpenter.sh/capacity-type"] == ["spot"]
    assert requirements["topology.kubernetes.io/zone"] == ["us-west-2a", "us-west-2b", "us-west-2c"]
    assert pool["limits"] == {"nodes": 4}
    assert {taint["key"] for taint in pool["template"]["spec"]["taints"]} == {"nvidia.com/gpu", "tensorplane.dev/spot"}
    assert pool["template"]["metadata"]["labels"]["tensorplane.dev/accelerator"] == "t4"


def test_its_machines_are_set_up_as_those_of_other_groups(automatic: Rendered) -> None:
    spec = automatic.one("EC2NodeClass", "gpu").inputs["spec"]
    assert spec["metadataOptions"]["httpTokens"] == "required"
    assert spec["metadataOptions"]["httpPutResponseHopLimit"] == 1
    assert spec["blockDeviceMappings"][0]["ebs"]["encrypted"] is True
    assert spec["role"] == "cluster-karpenter-node"


def test_karpenter_is_there_before_its_pools_and_hears_of_interruptions(automatic: Rendered) -> None:
    assert "Release cluster-karpenter" in needed(automatic, "EC2NodeClass", "gpu")
    assert "EC2NodeClass gpu" in needed(automatic, "NodePool", "gpu")
    settings = automatic.one("Release", "cluster-karpenter").inputs["values"]["settings"]
    assert settings["clusterName"] == "tensorplane-dev"
    assert settings["interruptionQueue"] == "cluster-karpenter"
    rules, targets = (automatic.all(f"cloudwatch/event{kind}:Event{kind}") for kind in ("Rule", "Target"))
    assert [rule.name for rule in rules] == [target.inputs["rule"] for target in targets]
    assert len(rules) == 5
    assert automatic.one("eks/accessEntry:AccessEntry").inputs["type"] == "EC2_LINUX"


def test_karpenters_kinds_follow_its_version(automatic: Rendered) -> None:
    kinds, controller = (automatic.one("Release", f"cluster-karpenter{part}") for part in ("-crd", ""))
    assert kinds.inputs["version"] == controller.inputs["version"]
    assert kinds.inputs["chart"] == "oci://public.ecr.aws/karpenter/karpenter-crd"
    assert controller.inputs["skipCrds"] is True
    assert "Release cluster-karpenter-crd" in controller.options["dependsOn"]


def test_karpenter_repairs_nodes_and_leaves_those_with_accelerators_to_their_work(automatic: Rendered) -> None:
    settings = automatic.one("Release", "cluster-karpenter").inputs["values"]["settings"]
    assert settings["featureGates"] == {"nodeRepair": True}
    disruption = automatic.one("NodePool", "gpu").inputs["spec"]["disruption"]
    assert disruption["consolidationPolicy"] == "WhenEmpty"
    assert {"nodes": "0", "reasons": ["Drifted"]} in disruption["budgets"]


AUTOMATIC = {**GPU, "provisioner": "automatic"}


@pytest.mark.parametrize(
    ("group", "age"),
    [({}, "Never"), ({"maxAgeDays": 14}, "336h"), ({"accelerator": None, "machine": "m7i.large"}, "720h")],
)
def test_karpenter_replaces_nodes_of_an_age(group: dict[str, Any], age: str) -> None:
    wanted = {key: value for key, value in {**AUTOMATIC, **group}.items() if value is not None}
    spec = rendered({"new": wanted}).one("NodePool", "new").inputs["spec"]["template"]["spec"]
    assert spec["expireAfter"] == age
    # Such a limit would end jobs that cannot save.
    assert "terminationGracePeriod" not in spec


@pytest.mark.parametrize("saves", [False, True])
@pytest.mark.parametrize("days", [None, 14])
def test_a_job_that_cannot_save_keeps_its_node_until_it_has_finished(saves: bool, days: int | None) -> None:
    job: dict[str, Any] = {"kind": "trainingJob", "strategy": {"kind": "single"}, "command": ["python3", "train.py"]}
    job |= {"image": GPU_IMAGE, "resources": {"gpus": 1}}
    if saves:
        job |= {"volumes": {"data": "/data"}, "checkpoints": {"volume": "data"}}
    group = AUTOMATIC if days is None else {**AUTOMATIC, "maxAgeDays": days}
    made = rendered({"gpu": group}, more={"workloads": {"job": job}, "volumes": {"data": {"sizeGib": 10}}})
    (replicated,) = made.one("JobSet", "job").inputs["spec"]["replicatedJobs"]
    annotations = replicated["template"]["spec"]["template"]["metadata"].get("annotations", {})
    assert ("karpenter.sh/do-not-disrupt" in annotations) is (days is not None and not saves)


def test_an_administrator_may_have_any_name() -> None:
    role = "arn:aws:iam::123456789012:role/platform"
    made = rendered({"gpu": {**GPU, "provisioner": "automatic"}}, admins={"karpenter-node": role})
    names = [entry.name for entry in made.all("eks/accessEntry:AccessEntry")]
    assert len(set(names)) == len(names) == 2


def test_karpenter_ends_only_machines_of_this_cluster(automatic: Rendered) -> None:
    dangerous = ("ec2:TerminateInstances", "ec2:DeleteLaunchTemplate", "iam:DeleteInstanceProfile")
    found = [s for s in policy(automatic, "cluster-karpenter") if set(dangerous) & set(s["Action"])]
    assert found
    tag = "aws:ResourceTag/kubernetes.io/cluster/tensorplane-dev"
    assert [statement["Condition"]["StringEquals"][tag] for statement in found] == ["owned"] * len(found)


def test_nothing_of_karpenter_is_there_without_an_automatic_group(plain: Rendered) -> None:
    assert not [r for r in plain.resources if "karpenter" in f"{r.type} {r.name}"]
