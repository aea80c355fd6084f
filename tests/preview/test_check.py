"""Inputs against the types of each cloud's SDK, without an engine: what is refused, in which words, and what passes."""

from __future__ import annotations

from typing import Any

import pytest

from tensorplane.core.errors import UserError
from tensorplane.plugins.kubernetes.values import UNKNOWN, Secret
from tensorplane.plugins.preview import check, diff, outputs
from tensorplane.plugins.preview.sdk import Sdk

ADDON, GROUP, CLUSTER = "aws:eks/addon:Addon", "aws:eks/nodeGroup:NodeGroup", "aws:eks/cluster:Cluster"
POOL = "gcp:container/nodePool:NodePool"
AKS, AGENTS = "azure-native:containerservice:ManagedCluster", "azure-native:containerservice:AgentPool"
LIFECYCLE, ROLE = "aws:s3/bucketLifecycleConfiguration:BucketLifecycleConfiguration", "aws:iam/role:Role"


def find_problems(token: str, **inputs: Any) -> list[str]:
    """What is wrong with inputs, as `place: reason`."""
    found = Sdk(token.partition(":")[0]).resource(token)
    return [f"{each.rendered_path}: {each.reason}" for each in check.check_inputs(inputs, found.arguments, found.name)]


GIVEN = {"clusterName": "c", "addonName": "a"}
SIZES = {"minSize": 0, "maxSize": 1, "desiredSize": 0}
IN_GROUP = {"clusterName": "c", "nodeRoleArn": "r", "subnetIds": ["a"], "scalingConfig": SIZES}
IN_AKS = {"resourceGroupName": "g"}


@pytest.mark.parametrize(
    ("token", "inputs", "expected"),
    [
        (ADDON, {"clusterName": "c"}, "addonName: missing; Addon requires it"),
        (ADDON, {**GIVEN, "addonName": None}, "addonName: missing; Addon requires it"),
        (ADDON, {**GIVEN, "adonVersion": "v"}, "adonVersion: Addon has no such property (did you mean addonVersion?)"),
        (ADDON, {**GIVEN, "addon_nam": "v"}, "addon_nam: Addon has no such property (did you mean addon_name?)"),
        (ADDON, {**GIVEN, "addonVersion": 1.3}, "addonVersion: must be a string, not the number 1.3"),
        (ADDON, {**GIVEN, "preserve": "true"}, "preserve: must be true or false, not the string 'true'"),
        (ADDON, {**GIVEN, "tags": ["a"]}, "tags: must be a map, not a list"),
        (ADDON, {**GIVEN, "tags": {"a.b": 1}}, 'tags["a.b"]: must be a string, not the number 1'),
        (GROUP, {**IN_GROUP, "diskSize": 1.5}, "diskSize: must be a whole number, not the number 1.5"),
        (GROUP, {**IN_GROUP, "diskSize": True}, "diskSize: must be a whole number, not true"),
        (GROUP, {**IN_GROUP, "subnetIds": ["a", {}]}, "subnetIds[1]: must be a string, not a map"),
        (GROUP, {**IN_GROUP, "taints": ["a"]}, "taints[0]: must be a map of NodeGroupTaint, not the string 'a'"),
        (
            POOL,
            {"cluster": "c", "nodeConfig": {"guestAccelerators": [{"type": "l4", "count": 1, "gpuSharing": {}}]}},
            "nodeConfig.guestAccelerators[0].gpuSharing: NodePoolNodeConfigGuestAccelerator has no such property "
            "(did you mean gpuSharingConfig?)",
        ),
        (
            AKS,
            {**IN_AKS, "identity": {"type": "SystemAsigned"}},
            "identity.type: must be one of SystemAssigned, UserAssigned, None, not the string 'SystemAsigned' "
            "(did you mean SystemAssigned?)",
        ),
        (AKS, {**IN_AKS, "identity": Secret({"type": "s3cret"})}, "identity.type: must be one of"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_named(token: str, inputs: dict[str, Any], expected: str) -> None:
    (found,) = find_problems(token, **inputs)
    assert found.startswith(expected)


@pytest.mark.parametrize(
    ("token", "inputs"),
    [
        pytest.param(GROUP, {**IN_GROUP, "diskSize": 20, "taints": []}, id="plain values"),
        pytest.param(GROUP, {**IN_GROUP, "scalingConfig": UNKNOWN, "subnetIds": [UNKNOWN]}, id="unknown values"),
        pytest.param(GROUP, {**IN_GROUP, "nodeRoleArn": Secret("r"), "labels": Secret({"a": "b"})}, id="secrets"),
        pytest.param(GROUP, {**IN_GROUP, "version": None, "__defaults": []}, id="null, and what the bridge adds"),
        pytest.param(ROLE, {"assumeRolePolicy": "{}"}, id="text or object: text"),
        pytest.param(
            ROLE, {"assumeRolePolicy": {"Version": "2012-10-17", "Statement": []}}, id="text or object: object"
        ),
        pytest.param(AGENTS, {**IN_AKS, "resourceName": "c", "spotMaxPrice": -1, "mode": "System"}, id="Azure's"),
    ],
)
def test_what_fits_passes(token: str, inputs: dict[str, Any]) -> None:
    assert find_problems(token, **inputs) == []


def test_a_token_that_the_sdk_does_not_have_is_a_fault() -> None:
    with pytest.raises(UserError, match=r"aws:eks/addn:Addn: pulumi_aws \S+ has no such resource"):
        Sdk("aws").resource("aws:eks/addn:Addn")


def test_a_providers_own_settings_are_checked_by_name() -> None:
    """Their values come as JSON in strings."""
    found = check.check_names(
        {"regoin": "r", "defaultTags": '{"tags": {}}'}, Sdk("aws").provider, "the provider of aws"
    )
    assert [f"{each.rendered_path}: {each.reason}" for each in found] == [
        "regoin: the provider of aws has no such property (did you mean region?)"
    ]


def test_what_only_the_cloud_can_tell_is_unknown() -> None:
    resource = Sdk("aws").resource(CLUSTER).resource
    state = outputs.of_new({"roleArn": Secret("r"), "vpcConfig": {"subnetIds": ["a"]}}, resource)
    assert state["roleArn"] == Secret("r")
    assert state["endpoint"] is UNKNOWN
    assert state["vpcConfig"]["subnetIds"] == ["a"]
    assert state["vpcConfig"]["clusterSecurityGroupId"] is UNKNOWN, "None would be taken for `there is none`"
    assert "forceUpdateVersion" not in state, "an option that nobody gave is not there"


def test_an_input_that_comes_back_as_something_else_is_unknown() -> None:
    """The SDK would fail on a list where its outputs have a map."""
    identity = {"type": "UserAssigned", "userAssignedIdentities": ["/subscriptions/s/i"]}
    state = outputs.of_new({"identity": identity}, Sdk("azure-native").resource(AKS).resource)
    assert state["identity"]["userAssignedIdentities"] is UNKNOWN
    assert state["identity"]["type"] == "UserAssigned"


def test_a_changed_resource_keeps_what_the_cloud_had_set() -> None:
    found = Sdk("aws").resource(ADDON)
    olds = {**GIVEN, "arn": "arn:1", "region": "r", "preserve": True}
    state = outputs.of_changed({**GIVEN, "addonVersion": "v2"}, olds, found.arguments, found.resource)
    assert (state["arn"], state["region"], state["addonVersion"]) == ("arn:1", "r", "v2")
    assert "preserve" not in state, "what the program no longer gives is gone"


def test_differences_are_listed_by_path_without_generated_names() -> None:
    olds = {"name": "gpu-1a2b", "__defaults": ["name"], "tags": {"a.b": "1"}, "sizes": [1, 2]}
    news = diff.with_defaults({"tags": {"a.b": "2", "c": "3"}, "sizes": [1], "role": UNKNOWN}, olds)
    assert diff.changes(olds, news) == {'tags["a.b"]': "UPDATE", "tags.c": "ADD", "sizes[1]": "DELETE", "role": "ADD"}
