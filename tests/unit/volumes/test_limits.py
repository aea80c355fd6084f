"""What volumes of one kind share: limits that none of them meets alone, and that one goes without another."""

from __future__ import annotations

from typing import Any

import pytest

from tensorplane import stack
from tensorplane.components.base.settings import Settings
from tensorplane.components.volumes.backends.s3 import S3
from tests.support import rendering
from tests.support.rendered_files import rendered_tree
from tests.support.rendering import Rendered
from tests.support.volume_problems import lines

AKS = {"kind": "aks", "region": "westeurope", "inheritedAdmins": True, "endpoint": {"deployFromInside": True}}
EKS = {"kind": "eks", "region": "us-west-2", "endpoint": {"deployFromInside": True}}


def netapp(size: float = 700, retain: bool = True, **settings: Any) -> dict[str, Any]:
    return {"sizeGib": size, "retain": retain, "backend": {"kind": "netappFiles", **settings}}


def about(cluster: dict[str, Any], volumes: dict[str, Any]) -> list[str]:
    return [line for line in lines(cluster=cluster, **volumes) if line.split(".")[0] in volumes]


def of(**volumes: Any) -> Rendered:
    groups = {"cpu": {"machine": "Standard_D8s_v5", "min": 2, "max": 4}}
    tree = {"cluster": AKS, "nodeGroups": groups, "volumes": volumes}
    return rendered_tree(tree)


def test_one_of_several_volumes_goes_without_making_their_pool_smaller_while_it_is_there() -> None:
    both = {"models": netapp(poolTib=2), "copy": netapp(poolTib=2, retain=False)}
    before, after = of(**both), of(models=both["models"])
    assert before.one("netapp:CapacityPool").inputs["size"] == after.one("netapp:CapacityPool").inputs["size"]
    assert (
        "CapacityPool cluster-netapp-premium"
        in before.one("netapp:CapacityPoolVolume", "tensorplane-dev-copy").options["dependsOn"]
    )


def test_a_pool_goes_with_its_last_volume_whatever_another_pool_has() -> None:
    found = of(models=netapp(), scratch=netapp(retain=False, serviceLevel="standard"))
    kept = {one.inputs["serviceLevel"]: one.options.get("protect") for one in found.all("netapp:CapacityPool")}
    assert kept == {"Premium": True, "Standard": None}
    assert found.one("netapp:Account").options["protect"] is True


@pytest.mark.parametrize(
    ("volumes", "expected"),
    [
        ({"a": netapp(), "b": netapp(serviceLevel="ultra")}, []),
        ({"a": netapp(poolTib=2), "b": netapp(poolTib=2)}, []),
        (
            {"a": netapp(), "b": netapp(poolTib=4)},
            ["a.backend.poolTib: missing, but 2 volumes share pool premium; set 4 in each"],
        ),
        (
            {"a": netapp(poolTib=1), "b": netapp(poolTib=2)},
            ["a.backend.poolTib: is 1, but 2 volumes share pool premium; set 2 in each"],
        ),
        ({"a": netapp(3000, poolTib=2)}, ["a.backend.poolTib: is 2, but the volume takes 3 TiB; set 3"]),
    ],
)
def test_volumes_that_share_a_pool_say_its_size(volumes: dict[str, Any], expected: list[str]) -> None:
    assert about(AKS, volumes) == expected


def buckets(count: int, **backend: Any) -> list[str]:
    volume = {"sizeGib": 1, "backend": {"kind": "s3", **backend}}
    return about(EKS, {f"v{number}": volume for number in range(count)})


def test_the_rights_on_all_buckets_fit_into_the_role_of_their_driver() -> None:
    assert buckets(20) == []
    (line,) = buckets(40)
    assert line.startswith("v39.backend: the IAM policy for the buckets of 40 volumes has 13,520 characters, but")
    assert line.endswith("but AWS allows 10,240; declare fewer s3 volumes")
    key = "arn:aws:kms:us-west-2:123456789012:key/1234abcd"
    assert len(buckets(25, kmsKey=key)) == 1


def test_rights_are_counted_as_they_are_given() -> None:
    groups = {"cpu": {"machine": "m7i.2xlarge", "min": 2, "max": 2}}
    args = {"sizeGib": 1, "backend": {"kind": "s3", "bucket": "example", "prefix": "train"}}
    resolved = stack.load(Settings({"cluster": EKS, "nodeGroups": groups, "volumes": {"images": args}}))
    found = rendering.run(lambda: stack.build(resolved))
    policy = found.one("iam/rolePolicy:RolePolicy", "tensorplane-dev-images").inputs["policy"]
    volume = resolved.config.volumes["images"]
    assert isinstance(volume.backend, S3)
    assert volume.backend._characters(volume) == len("".join(policy.split()))
