"""Values against the models that the clouds publish: what every stack asks passes, and one wrong value is one line."""

from __future__ import annotations

import copy
import random
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
import regex

from tensorplane.plugins.cloud_models.pairs import Pair
from tensorplane.plugins.cloud_models.shape import Limits
from tensorplane.plugins.kubernetes import paths
from tensorplane.plugins.kubernetes.values import UNKNOWN, Secret
from tests.mutants.places import put
from tests.preview.cloud_values import STACKS, declared, find_problems, pairs
from tests.support import counts

_BREAKING = ("", " ", "§", "%", "a b", "-a-", "A_B!", "\x00")


@pytest.mark.parametrize("name", STACKS)
def test_what_a_stack_asks_keeps_to_the_models(name: str) -> None:
    assert [f"{kind}: {line}" for kind, inputs in declared(name) for line in find_problems(kind, inputs)] == []


GROUP, AKS = "aws:eks/nodeGroup:NodeGroup", "azure-native:containerservice:ManagedCluster"
TEMPLATE, POOL = "aws:ec2/launchTemplate:LaunchTemplate", "gcp:container/nodePool:NodePool"


@pytest.mark.parametrize(
    ("token", "inputs", "expected"),
    [
        (
            GROUP,
            {"amiType": "AL2023_x86_64_NVIDA"},
            "amiType: 'AL2023_x86_64_NVIDA' is none of AWS's values (botocore VERSION); use AL2023_x86_64_NVIDIA",
        ),
        (
            GROUP,
            {"taints": [{"key": "a", "effect": "NoSchedule"}]},
            "taints[0].effect: 'NoSchedule' is none of AWS's values (botocore VERSION); use NO_SCHEDULE",
        ),
        (
            GROUP,
            {"scalingConfig": {"maxSize": 0, "minSize": 0}},
            "scalingConfig.maxSize: 0 is less than AWS's minimum (botocore VERSION); use 1 or more",
        ),
        (
            GROUP,
            {"updateConfig": {"maxUnavailablePercentage": 133}},
            "updateConfig.maxUnavailablePercentage: 133 is more than AWS's maximum (botocore VERSION); use 100 or less",
        ),
        (
            GROUP,
            {"labels": {"a.b/c": "x" * 64}},
            'labels["a.b/c"]: has 64 characters, more than AWS\'s maximum (botocore VERSION); use 63 or fewer',
        ),
        (
            "aws:eks/cluster:Cluster",
            {"name": "my cluster"},
            "name: 'my cluster' does not match AWS's pattern ^[0-9A-Za-z][A-Za-z0-9\\-_]* (botocore VERSION); "
            "use my-cluster",
        ),
        (
            "aws:iam/role:Role",
            {"name": "node/role"},
            r"name: 'node/role' does not match AWS's pattern [\w+=,.@-]+ (botocore VERSION); use node-role",
        ),
        (
            TEMPLATE,
            {"blockDeviceMappings": [{"ebs": {"volumeType": "gp4"}}]},
            "blockDeviceMappings[0].ebs.volumeType: 'gp4' is none of AWS's values (botocore VERSION); use gp2 or gp3",
        ),
        (
            "aws:fsx/lustreFileSystem:LustreFileSystem",
            {"deploymentType": "PERSISTENT_3", "perUnitStorageThroughput": 250},
            "deploymentType: 'PERSISTENT_3' is none of AWS's values (botocore VERSION); "
            "use PERSISTENT_1 or PERSISTENT_2",
        ),
        (
            "aws:kms/key:Key",
            {"deletionWindowInDays": 0},
            "deletionWindowInDays: 0 is less than AWS's minimum (botocore VERSION); use 1 or more",
        ),
        (
            "aws:s3/bucketVersioning:BucketVersioning",
            {"versioningConfiguration": {"status": "enabled"}},
            "versioningConfiguration.status: 'enabled' is none of AWS's values (botocore VERSION); use Enabled",
        ),
        (
            POOL,
            {"nodeConfig": {"workloadMetadataConfig": {"mode": "GKE_METADATA_SERVER"}}},
            "nodeConfig.workloadMetadataConfig.mode: 'GKE_METADATA_SERVER' is none of Google Cloud's values "
            "(google-api-python-client VERSION); use GKE_METADATA",
        ),
        (
            "gcp:filestore/instance:Instance",
            {"tier": "REGIONALS"},
            "tier: 'REGIONALS' is none of Google Cloud's values (google-api-python-client VERSION); use REGIONAL",
        ),
        (
            "gcp:compute/network:Network",
            {"name": "My_Net"},
            "name: 'My_Net' does not match Google Cloud's pattern [a-z](?:[-a-z0-9]{0,61}[a-z0-9])? "
            "(google-api-python-client VERSION); use my-net",
        ),
        (
            AKS,
            {"networkProfile": {"networkPlugin": "azur"}},
            "networkProfile.networkPlugin: 'azur' is none of Azure's values (azure-mgmt-containerservice VERSION); "
            "use azure",
        ),
        (
            "azure-native:netapp:CapacityPool",
            {"serviceLevel": "Premum"},
            "serviceLevel: 'Premum' is none of Azure's values (azure-mgmt-netapp VERSION); use Premium",
        ),
        (GROUP, {"capacityType": Secret("s3cret")}, "capacityType: the secret is none of AWS's values"),
    ],
)  # fmt: skip
def test_a_wrong_value_is_named_with_the_nearest_valid_one(token: str, inputs: dict[str, Any], expected: str) -> None:
    (found,) = find_problems(token, inputs)
    assert regex.sub(r"(?<= )\d+\.[\d.]+(?=\))", "VERSION", found).startswith(expected)


@pytest.mark.parametrize(
    ("token", "inputs"),
    [
        pytest.param(GROUP, {"amiType": UNKNOWN, "scalingConfig": UNKNOWN, "capacityType": None}, id="unknown"),
        pytest.param(GROUP, {"amiType": Secret("CUSTOM")}, id="a secret"),
        pytest.param(TEMPLATE, {"metadataOptions": {"httpTokens": "required"}, "x": {"y": ["z"]}}, id="unmapped"),
        pytest.param("aws:lambda/function:Function", {"runtime": "python3.12"}, id="a service that no table names"),
        pytest.param("aws:nowhere/thing:Thing", {"a": "b"}, id="a service that AWS does not have"),
    ],
)  # fmt: skip
def test_what_the_model_does_not_refuse_passes(token: str, inputs: dict[str, Any]) -> None:
    from tensorplane.plugins.cloud_models import check

    assert check.check_inputs(token, inputs, dict).problems == []


def test_an_instance_type_that_is_younger_than_the_model_is_a_warning() -> None:
    from tensorplane.plugins.cloud_models import check

    (found,) = check.check_inputs(TEMPLATE, {"instanceType": "m99.large"}, dict).problems
    assert not found.certain


@pytest.mark.nightly("mutants of each value with limits, by the seed: 20 s")
@pytest.mark.parametrize("name", STACKS)
def test_every_mutant_of_a_limited_value_is_one_line(name: str) -> None:
    """Wrong words, lengths, patterns and numbers, one at a time, wherever the model has limits."""
    chosen = random.Random(f"{counts.seed()} {name}")
    tried = 0
    for token, inputs in declared(name):
        for pair in pairs(token, inputs):
            for mutant in _mutants(pair, chosen):
                tried += 1
                found = find_problems(token, _changed(inputs, pair.path, mutant))
                assert len(found) == 1, f"{token} {pair.input}: {mutant!r}: {found}"
                assert found[0].startswith(f"{paths.render(pair.path)}: ")
    assert tried > 5


def _mutants(pair: Pair, chosen: random.Random) -> Iterator[Any]:
    limits = pair.shape.limits if pair.shape else Limits()
    if isinstance(pair.value, bool | dict) or pair.member.endswith(".key"):
        return
    if isinstance(pair.value, int | float):
        yield from (limit for limit in (_below(limits), _above(limits)) if limit is not None)
    elif isinstance(pair.value, list):
        yield from [pair.value * (limits.longest + 1)] if limits.longest and pair.value else []
    elif limits.allowed:
        at = chosen.randrange(len(pair.value))
        typos = (pair.value[:at] + pair.value[at + 1 :], pair.value + chosen.choice("xZ9-"), "")
        yield from (typo for typo in typos if typo not in limits.allowed)
    else:
        yield from _texts(pair.value, limits)


def _texts(value: str, limits: Limits) -> Iterator[str]:
    if limits.longest is not None:
        yield value[:1] * (limits.longest + 1)
    if limits.shortest:
        yield value[: limits.shortest - 1]
    broken = [text for text in _BREAKING if limits.pattern and not regex.fullmatch(limits.pattern, text)]
    yield from broken[:3]


def _below(limits: Limits) -> float | None:
    return None if limits.least is None else limits.least - 1


def _above(limits: Limits) -> float | None:
    return None if limits.most is None else limits.most + 1


def _changed(inputs: Mapping[str, Any], at: tuple[Any, ...], mutant: Any) -> Mapping[str, Any]:
    changed = copy.deepcopy(inputs)
    put(changed, at, mutant)
    return changed
